"""The whole grid as CSV or HDF5, for plots and spreadsheets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from sprintprof.model.search.grid import COLUMNS, Grid
from sprintprof.model.search.limits import Flags
from sprintprof.records import InputError

UNITS = {
    "epoch_time_s": "s", "throughput_samples_per_s": "samples/s", "updates_per_s": "1/s", "gpu_hours": "h",
    "minibatch_mean": "samples", "minibatch_std": "samples", "staleness_mean": "versions", "staleness_std": "versions",
    "gpu_cycle_s": "s", "update_cycle_s": "s",
}  # fmt: skip
PLACE = ("machine", "strategy", "nodes", "gpus_per_node", "sub_batch")


def check_free(path: str) -> None:
    """Raise InputError where the file exists or its name says no known format: asked before any work is done."""
    if Path(path).suffix not in (".csv", ".h5", ".hdf5"):
        raise InputError(path, "is neither .csv nor .h5", "name the file so")
    if Path(path).exists():
        raise InputError(path, "exists already and is not overwritten", "choose another name")


def write_sweep(path: str, grid: Grid, machines: list[str], strategies: list[str], allowed: Flags) -> None:
    """Write every configuration; the name's ending (.csv, .h5) decides the format. Raises InputError as check_free."""
    check_free(path)
    target = Path(path)
    names = {"machine": machines, "strategy": strategies}
    place = {name: getattr(grid, name) for name in PLACE}
    try:
        if target.suffix == ".csv":
            _write_csv(target, grid, place, names, allowed)
        else:
            _write_hdf5(target, grid, place, names, allowed)
    except OSError as error:
        raise InputError(path, f"cannot be written ({error})", "choose another place") from None


def _write_csv(
    target: Path, grid: Grid, place: dict[str, npt.NDArray[np.int64]], names: dict[str, list[str]], allowed: Flags
) -> None:
    columns = [np.array(names[k])[v] if k in names else v.astype(str) for k, v in place.items()]
    columns += [np.char.mod("%.9g", grid.values[c]) for c in COLUMNS]
    columns.append(allowed.astype(int).astype(str))
    with open(target, "x", encoding="utf-8") as out:
        out.write(",".join([*PLACE, *COLUMNS, "allowed"]) + "\n")
        out.writelines(",".join(row) + "\n" for row in zip(*columns, strict=True))


def _write_hdf5(
    target: Path, grid: Grid, place: dict[str, npt.NDArray[np.int64]], names: dict[str, list[str]], allowed: Flags
) -> None:
    import h5py

    kinds = [(k, h5py.string_dtype() if k in names else "i8") for k in place]
    table = np.zeros(len(grid), [*kinds, *((c, "f8") for c in COLUMNS), ("allowed", "i1")])
    for k, v in place.items():
        table[k] = np.array(names[k], object)[v] if k in names else v
    for c in COLUMNS:
        table[c] = grid.values[c]
    table["allowed"] = allowed
    with h5py.File(target, "x") as file:
        dataset = file.create_dataset("configurations", data=table, compression="gzip")
        for c, unit in UNITS.items():
            dataset.attrs[f"unit_{c}"] = unit
