"""Reading a data set: one HDF5 file or many small files, cold or warm, by one or more readers, decode included."""

from __future__ import annotations

import contextlib
import json
import math
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from sprintprof.bench.case import Case, Skip, Work
from sprintprof.bench.registry import Axis, benchmark
from sprintprof.bench.storage import dataset
from sprintprof.bench.storage.decode import CHANNELS, MEAN, STD
from sprintprof.bench.storage.page_cache import drop_everything, drop_files, resident_share
from sprintprof.records import InputError, Missing

CACHES = ("cold", "warm", "cold-system")
_STILL_CACHED = 0.05
"""Share of pages that may stay in the page cache for a reading to be called cold."""


class Readers:
    """Reader processes that wait for the next round; each has its share of the samples, in shuffled order."""

    def __init__(self, folder: Path, layout: str, sample_bytes: int, order: list[int], readers: int) -> None:
        command = [sys.executable, "-m", "sprintprof.bench.storage.reader"]
        self._processes: list[subprocess.Popen[bytes]] = []
        try:
            for number in range(readers):
                process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
                self._processes.append(process)
                own = order[number::readers]
                task = {"folder": str(folder), "layout": layout, "sample_bytes": sample_bytes, "order": own}
                self._tell(process, json.dumps(task))
            for process in self._processes:
                self._answer(process)
        except BaseException:
            self.close()
            raise

    @staticmethod
    def _tell(process: subprocess.Popen[bytes], line: str) -> None:
        assert process.stdin is not None
        process.stdin.write(line.encode() + b"\n")

    @staticmethod
    def _answer(process: subprocess.Popen[bytes]) -> Any:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise OSError(f"a reader of the data set ended with exit status {process.wait()}")
        return json.loads(line)

    def read(self) -> None:
        """Every reader reads its share once; returns when the last is done."""
        for process in self._processes:
            self._tell(process, "read")
        for process in self._processes:
            self._answer(process)

    def last(self) -> list[dict[str, Any]]:
        """Of each reader: index of the sample it decoded last, and elements of it by flat place."""
        for process in self._processes:
            self._tell(process, "last")
        return [self._answer(process) for process in self._processes]

    def close(self) -> None:
        """End the processes; their stdin ends, and so do they."""
        for process in self._processes:
            with contextlib.suppress(OSError):
                process.stdin.close()  # type: ignore[union-attr]
        for process in self._processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            process.stdout.close()  # type: ignore[union-attr]
        self._processes = []


def _drop(paths: list[Path], cache: str) -> None:
    if cache == "cold-system":
        drop_everything()
    else:
        drop_files(paths)


def _cool(paths: list[Path], cache: str) -> tuple[float, str]:
    """Put the files out of the page cache; share that stayed (NaN if unknown) and a note. Raises Skip if it cannot."""
    try:
        _drop(paths, cache)
    except (OSError, AttributeError) as error:
        raise Skip(f"the page cache cannot be dropped here: {error}") from None
    share = resident_share(paths)
    if isinstance(share, Missing):
        return math.nan, f"dropped, but whether it worked is {share}"
    if share > _STILL_CACHED:
        raise Skip(f"{share:.0%} of the pages stay in the page cache of {paths[0].parent} (a file system in memory?)")
    return share, "dropped"


def _wrong(last: dict[str, Any], sample_bytes: int, seed: int, fill: str) -> str:
    """ "" or what is wrong with elements of a decoded sample, computed again from what was stored."""
    stored = dataset.sample(last["index"], sample_bytes, seed, fill)
    for place, value in zip(last["places"], last["values"], strict=True):
        channel, pixel = divmod(place, sample_bytes // CHANNELS)
        expected = (float(stored[pixel * CHANNELS + channel]) / 255 - MEAN[channel]) / STD[channel]
        if not abs(value - expected) <= 1e-5:
            return f"sample {last['index']}, element {place} is {value:.7g}, expected {expected:.7g}"
    return ""


@benchmark(
    "storage_read",
    group="storage",
    axes=(
        Axis("layout", str, "hdf5", "hdf5: one file; files: one raw file a sample"),
        Axis("sample_bytes", int, 150528, "stored bytes of a sample (uint8 pixels, 3 channels); 224·224·3"),
        Axis("samples", int, 64, "samples of a call"),
        Axis("readers", int, 1, "processes that read at once"),
        Axis("cache", str, "warm", "warm; cold: files out of the page cache; cold-system: all of it (root)"),
    ),
    summary="reading and decoding samples of a data set",
    window="running readers read and decode their shares, in shuffled order; files are opened and closed, too",
    formula="bandwidth = sample_bytes / time, time = that of the call / samples",
    columns={"resident_share": float, "cache_note": str},
)
def storage_read(case: Case) -> Work:
    """Time per sample, with `readers` at work."""
    layout, cache, readers = case.str("layout"), case.str("cache"), case.int("readers")
    sample_bytes, samples = case.int("sample_bytes"), case.int("samples")
    dataset.check(layout, sample_bytes, samples)
    if cache not in CACHES:
        raise InputError("axis cache", f"'{cache}' is unknown", f"one of {', '.join(CACHES)}")
    if not 1 <= readers <= samples:
        raise InputError("axis readers", f"{readers} readers for {samples} samples", "from 1 to the samples")
    folder = Path(tempfile.mkdtemp(prefix="sprintprof-storage-", dir=case.scratch))
    try:
        paths = dataset.write(folder, layout, sample_bytes, samples, case.seed, case.fill)
        share, note = (math.nan, "in the page cache") if cache == "warm" else _cool(paths, cache)
        order = [int(i) for i in np.random.default_rng(case.seed).permutation(samples)]
        running = Readers(folder, layout, sample_bytes, order, readers)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise

    def verify() -> str:
        found = (_wrong(last, sample_bytes, case.seed, case.fill) for last in running.last())
        return next((wrong for wrong in found if wrong), "")

    def close() -> None:
        running.close()
        shutil.rmtree(folder, ignore_errors=True)

    return Work(
        call=running.read,
        bytes=float(sample_bytes),
        operations=samples,
        working_set_bytes=samples * sample_bytes,
        cache="untouched",
        path="none",
        before_sample=None if cache == "warm" else lambda: _drop(paths, cache),
        verify=verify,
        close=close,
        extra={"resident_share": share, "cache_note": note},
    )
