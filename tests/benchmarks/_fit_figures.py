"""What the figures of the fits share: public timings as measurements, splits, figure lines."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from sprintprof import importers
from sprintprof.importers.table import load_map, read_table
from sprintprof.records import Measurement

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("SPRINTPROF_DATA", ROOT.parent / "shared" / "data"))
MAPS = Path(importers.__file__).parent / "maps"
SPLITS = 5

PROCESSORS = {
    "Tesla T4": 40, "Tesla V100-PCIE-32GB": 80, "TITAN X": 24, "NV_T4": 40, "NV_V100": 80, "NV_1080Ti": 28,
    "NV_M40": 24, "NV_TitanX": 24, "NV_TitanX_Pascal": 28, "AMD_MI25": 64,
}  # fmt: skip
"""Multiprocessors (compute units) of the devices, from the vendors' data sheets."""


def table(csv: str, column_map: str, **where: str) -> dict[str, list[Measurement]] | None:
    """Measurements by device of a public table; None where it is not there."""
    path = DATA / csv
    if not path.exists():
        return None
    chosen = load_map(MAPS / column_map)
    imported = read_table(path, msgspec.structs.replace(chosen, where={**chosen.where, **where}))
    if imported.troubles:
        raise RuntimeError(f"{csv}: {imported.troubles[0]}")
    return imported.devices


def split(count: int, train: int, seed: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Indices to fit and to predict, the same each time."""
    order = np.random.default_rng(seed).permutation(count)
    return order[:train], order[train:]


def figure(
    name: str, value: float, goal: float, *, scale: float = 100, unit: str = "%", least: float | None = None
) -> bool:
    """Print one figure line; whether |value| ≤ goal (and ≥ least where given)."""
    good = abs(value) <= goal and (least is None or value >= least)
    bound = f"<= {goal * scale:g} {unit}" if least is None else f"{least * scale:g}..{goal * scale:g} {unit}"
    print(f"FIGURE {name}: {value * scale:.3g} {unit} (goal {bound}) {'PASS' if good else 'FAIL'}", flush=True)
    return good


def skipped(name: str, goal: str) -> int:
    """Print that the public data are not here; 0."""
    print(f"FIGURE {name}: - (goal {goal}) SKIP no {DATA}")
    return 0
