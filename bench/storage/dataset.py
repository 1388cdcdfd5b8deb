"""A data set on disk, in the two layouts data sets come in: one HDF5 file, or one small file a sample."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sprintprof.bench.case import Skip
from sprintprof.bench.storage.decode import CHANNELS
from sprintprof.records import InputError

Array = npt.NDArray[Any]

LAYOUTS = ("hdf5", "files")
HDF5_NAME = "samples.h5"
DATASET = "samples"


def sample_path(folder: Path, index: int) -> Path:
    """The file of one sample in layout "files"."""
    return folder / f"{index:06d}.bin"


def sample(index: int, sample_bytes: int, seed: int, fill: str) -> Array:
    """Stored bytes (sample_bytes,) uint8 of one sample: random by seed and index, or constant."""
    if fill == "random":
        return np.random.default_rng((seed, index)).integers(0, 256, sample_bytes, dtype=np.uint8)
    return np.full(sample_bytes, 1 if fill == "ones" else 0, np.uint8)


def check(layout: str, sample_bytes: int, samples: int) -> None:
    """Raises InputError where such a data set cannot be."""
    if layout not in LAYOUTS:
        raise InputError("axis layout", f"'{layout}' is unknown", f"one of {', '.join(LAYOUTS)}")
    if sample_bytes < 1 or sample_bytes % CHANNELS:
        what = f"{sample_bytes} bytes are no whole pixels"
        raise InputError("axis sample_bytes", what, f"a positive multiple of {CHANNELS}, e.g. 150528")
    if samples < 1:
        raise InputError("axis samples", f"{samples} is not positive", "at least one sample")


def write(folder: Path, layout: str, sample_bytes: int, samples: int, seed: int, fill: str) -> list[Path]:
    """Write the data set into an existing folder and return its files, all of it on disk (fsync).

    Raises Skip where the file system has no room for it.
    """
    wanted, free = samples * sample_bytes, shutil.disk_usage(folder).free
    if wanted * 1.1 > free:
        raise Skip(f"{wanted} bytes of samples do not fit into {folder}, which has {free} free")
    if layout == "hdf5":
        import h5py

        path = folder / HDF5_NAME
        with h5py.File(path, "w") as file:
            stored = file.create_dataset(DATASET, (samples, sample_bytes), np.uint8)
            for index in range(samples):
                stored[index] = sample(index, sample_bytes, seed, fill)
        paths = [path]
    else:
        paths = [sample_path(folder, index) for index in range(samples)]
        for index, path in enumerate(paths):
            path.write_bytes(sample(index, sample_bytes, seed, fill).tobytes())
    for path in paths:
        descriptor = os.open(path, os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    return paths
