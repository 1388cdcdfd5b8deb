"""One reader: a process that reads and decodes its share of a data set whenever it is told to.

A process, not a thread, because HDF5 has one lock per process. It is started as a program of its own, so that neither
MPI nor a GPU context is forked. Lines of JSON on stdin and stdout: a first line says what to read and is answered
"ready"; then each "read" is answered "done", each "last" with elements of the sample it decoded last. It ends with its
stdin.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sprintprof.bench.storage.dataset import DATASET, HDF5_NAME, sample_path
from sprintprof.bench.storage.decode import CHANNELS, decode

Read = Callable[[int, npt.NDArray[np.uint8]], None]


def _hdf5(folder: Path) -> Read:
    """Reads samples of the HDF5 file, which stays open. Nobody writes it any more, so it is not locked."""
    import h5py

    stored = h5py.File(folder / HDF5_NAME, "r", locking=False)[DATASET]
    return lambda index, into: stored.read_direct(into, np.s_[index])


def _files(folder: Path) -> Read:
    """Reads one file a sample: open, read, close."""

    def read(index: int, into: npt.NDArray[np.uint8]) -> None:
        with sample_path(folder, index).open("rb", buffering=0) as file:
            got = file.readinto(into.data)
        if got != into.size:
            raise OSError(f"{sample_path(folder, index)}: {got} bytes read, {into.size} expected")

    return read


def main() -> None:
    """Serve commands until stdin ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's, which then closes stdin
    task: dict[str, Any] = json.loads(sys.stdin.readline())
    folder, order = Path(task["folder"]), [int(i) for i in task["order"]]
    read = (_hdf5 if task["layout"] == "hdf5" else _files)(folder)
    stored = np.empty(int(task["sample_bytes"]), np.uint8)
    decoded = np.empty((CHANNELS, stored.size // CHANNELS), np.float32)
    _say("ready")
    for line in sys.stdin:
        if line.strip() == "read":
            for index in order:
                read(index, stored)
                decode(stored, decoded)
            _say("done")
        else:
            places = sorted({0, decoded.size // 3, decoded.size // 2, decoded.size - 1})
            _say({"index": order[-1], "places": places, "values": [float(decoded.flat[p]) for p in places]})


def _say(what: object) -> None:
    os.write(1, json.dumps(what).encode() + b"\n")


if __name__ == "__main__":
    main()
