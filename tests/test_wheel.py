"""The wheel holds the package and nothing else, and works without the repository."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCES = (
    "sprintprof",
    "bench",
    "fit",
    "slurm",
    "results/reference",
    "pyproject.toml",
    "setup.py",
    "README.md",
    "LICENSE",
)


def copy_of_the_checkout(folder: Path) -> Path:
    """What the build needs, links kept as links."""
    for name in SOURCES:
        source, target = ROOT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)
    return folder


def build(source: Path, target: Path) -> subprocess.CompletedProcess[str]:
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(target), str(source)]
    return subprocess.run(pip, capture_output=True, text=True, timeout=240)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("wheel")
    done = build(copy_of_the_checkout(place / "source"), place / "dist")
    assert done.returncode == 0, done.stderr
    (file,) = (place / "dist").glob("*.whl")
    return file


@pytest.mark.slow
def test_the_wheel_has_every_file_of_the_package_and_nothing_else(wheel: Path) -> None:
    inside = {n for n in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in n}
    wanted = {
        f"sprintprof/{room}/{file.relative_to(folder)}"
        for room, folder in (
            ("", ROOT / "sprintprof"),
            ("bench", ROOT / "bench"),
            ("fit", ROOT / "fit"),
            ("slurm", ROOT / "slurm"),
            ("reference", ROOT / "results/reference"),
        )
        for file in folder.rglob("*")
        if file.is_file()
        and "__pycache__" not in file.parts
        and not (room == "" and (folder / file.relative_to(folder).parts[0]).is_symlink())
    }
    assert inside == {name.replace("//", "/") for name in wanted}


@pytest.mark.slow
def test_it_works_without_the_repository(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    environ = {**os.environ, "PYTHONPATH": str(site)}

    def run(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, *words], cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert run("-c", "import sprintprof; print(sprintprof.__file__)").startswith(str(site))
    sprintprof = ("-m", "sprintprof")
    assert '"parameters": 25557032' in run(*sprintprof, "networks", "show", "resnet50", "--json", "-")
    run(*sprintprof, "run", "relu_forward", "momentum_update", "--suite", "quick", "--timeout", "20ms", "-o", "r.h5")
    run(*sprintprof, "fit", "r.h5", "-o", "p.json")
    assert "relu_forward" in run(*sprintprof, "show", "p.json")
    fast = ["tests/records", "tests/test_units.py", "tests/networks/test_published_counts.py", "tests/profile"]
    run(
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-c",
        str(ROOT / "pyproject.toml"),
        "--rootdir",
        str(ROOT),
        *(str(ROOT / f) for f in fast),
    )


@pytest.mark.slow
def test_a_checkout_whose_links_became_text_fails_loudly(tmp_path: Path) -> None:
    source = copy_of_the_checkout(tmp_path / "source")
    link = source / "sprintprof/bench"
    link.unlink()
    link.write_text("../bench")  # what a checkout without links has
    done = build(source, tmp_path / "dist")
    assert done.returncode != 0
    assert "lost its symbolic links" in done.stdout + done.stderr
