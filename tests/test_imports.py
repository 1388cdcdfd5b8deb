"""The import table of the house: data flows one way. Also: what must stay light stays light."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "sprintprof"

BASE = {"units", "records"}
NOUNS = BASE | {"store", "stats", "environment", "machine"}
MODEL_INPUT = NOUNS | {"profile", "networks"}
ALL = MODEL_INPUT | {
    "model",
    "bench",
    "fit",
    "slurm",
    "importers",
    "exporters",
    "compare",
    "report",
    "workflows",
    "cli",
}
ALLOWED: dict[str, set[str]] = {
    "records": set(),
    "units": {"records"},
    **dict.fromkeys(("store", "stats", "environment", "machine"), BASE),
    **dict.fromkeys(("profile", "networks"), NOUNS),
    "model": MODEL_INPUT,
    "bench": MODEL_INPUT,
    "fit": MODEL_INPUT,
    **{
        room: ALL - {"bench", "fit", "slurm", "workflows", "cli"}
        for room in ("importers", "exporters", "compare", "report")
    },
    "slurm": ALL - {"workflows", "cli"},
    "workflows": ALL - {"cli"},
    "cli": ALL,
}
"""Who may import whom. Within one tier (say store and stats) rooms do not know each other."""


def room_of(module: str) -> str | None:
    """`sprintprof.store.journal` → `store`; None for the package itself and for foreign modules."""
    parts = module.split(".")
    return parts[1] if parts[0] == "sprintprof" and len(parts) > 1 else None


def modules() -> list[tuple[str, Path]]:
    """(room, file) of every module of ours, the linked folders included."""
    found = []
    for entry in sorted(PACKAGE.iterdir()):
        files = sorted(entry.rglob("*.py")) if entry.is_dir() else [entry] if entry.suffix == ".py" else []
        found += [(entry.stem, file) for file in files]
    return found


def imports_of(file: Path) -> set[str]:
    """Names of the modules of ours that a file imports, anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names.add(node.module)
            if node.module == "sprintprof":
                names |= {f"sprintprof.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level:
            pytest.fail(f"{file}: relative import; write sprintprof.…")
    return {n for n in names if n.startswith("sprintprof")}


def test_rooms_import_only_what_the_table_allows() -> None:
    broken = []
    for room, file in modules():
        if room in ("__init__", "__main__", "reference"):
            continue
        assert room in ALLOWED, f"{file}: the room '{room}' is not in the table"
        for name in imports_of(file):
            target = room_of(name)
            if target and target != room and target not in ALLOWED[room] and not target.startswith("__"):
                broken.append(f"{file.relative_to(ROOT)} imports {name}")
    assert not broken, "\n".join(broken)


def test_nothing_is_imported_under_a_bare_name() -> None:
    for folder in ("bench", "fit", "slurm"):
        done = subprocess.run([sys.executable, "-c", f"import {folder}"], cwd=ROOT, capture_output=True, text=True)
        assert done.returncode != 0
        assert f"import sprintprof.{folder}" in done.stderr


def test_links_are_links_to_the_folders_at_the_top() -> None:
    for name, target in {"bench": "bench", "fit": "fit", "slurm": "slurm", "reference": "results/reference"}.items():
        link = PACKAGE / name
        assert link.is_symlink(), f"sprintprof/{name} is not a link: this checkout lost its symbolic links"
        assert link.resolve() == ROOT / target


def test_help_is_light() -> None:
    code = (
        "import sys; from sprintprof.cli.app import run; run(['--help']); print(sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0].strip("'[], ") for name in done.stderr.split(",")}
    assert not loaded & {"cupy", "mpi4py", "h5py", "sklearn", "scipy", "altair", "numpy", "pynvml"}
    assert "predict" in done.stdout


@pytest.mark.parametrize("file", [f for _, f in modules()], ids=lambda f: str(f.relative_to(PACKAGE)))
def test_rooms_are_small(file: Path) -> None:
    assert len(file.read_text().splitlines()) <= 500
