"""The formats: one file each, with `sniff(text)` and `parse(log)`. docs/importing.md tells how to add one."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Protocol, cast

from sprintprof.importers.log import Log
from sprintprof.importers.rows import Row, Trouble
from sprintprof.records import InputError


class Format(Protocol):
    """What a format's file defines. `WHAT` is its line in the help."""

    WHAT: str

    def sniff(self, text: str) -> bool:
        """Whether a stretch of a log (256 KiB and less) has something of this format."""
        ...

    def parse(self, log: Log) -> Iterator[Row | Trouble]:
        """The rows of a log, in order. Never raises on what a log may hold."""
        ...


def names() -> list[str]:
    """The formats' names as the command line takes them: file names, with dashes. Imports none of them."""
    files = (module.name for module in pkgutil.iter_modules(__path__))
    return sorted(name.replace("_", "-") for name in files if not name.startswith("_"))


def load(name: str) -> Format:
    """The format of that name. Raises InputError naming the others."""
    if name not in names():
        raise InputError("import", f"there is no format '{name}'", f"formats are {', '.join(names())}, or auto")
    return cast("Format", importlib.import_module(f"{__name__}.{name.replace('-', '_')}"))


def load_all() -> dict[str, Format]:
    """Every format by name."""
    return {name: load(name) for name in names()}
