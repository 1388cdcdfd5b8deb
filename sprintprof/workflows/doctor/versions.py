"""Versions of what the tool stands on."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from importlib import metadata

from sprintprof.workflows.doctor.finding import Finding

NEEDED = ("numpy", "scipy", "scikit-learn", "h5py", "msgspec", "typer", "rich")


def version_findings() -> Iterator[Finding]:
    """Python and the packages that must be there; serial HDF5 is what is wanted."""
    found, missing = [f"Python {platform.python_version()}"], []
    for name in NEEDED:
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            missing.append(name)
    if missing:
        yield Finding("blocker", "packages", f"{', '.join(missing)} missing", "pip install sprintprof")
    yield Finding("ok", "packages", ", ".join(found))
    try:
        import h5py
    except (ImportError, OSError) as error:
        yield Finding("blocker", "HDF5", f"h5py cannot be loaded ({error})", "pip install --force-reinstall h5py")
        return
    kind = "parallel" if h5py.get_config().mpi else "serial"
    yield Finding("ok", "HDF5", f"{h5py.version.hdf5_version}, {kind}")
