"""Refuse to build from a checkout that lost its symbolic links; everything else is in pyproject.toml."""

import sys
from pathlib import Path

from setuptools import setup

for name in ("bench", "fit", "slurm", "reference"):
    if not (Path(__file__).parent / "sprintprof" / name).is_dir():
        sys.exit(
            f"sprintprof/{name} is not a folder: this checkout lost its symbolic links. "
            "Clone again with git config core.symlinks true, on a file system that has links."
        )
setup()
