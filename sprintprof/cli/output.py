"""What a verb prints: tables and text on stdout, notes on stderr, JSON on request."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sprintprof.records.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

JSON_OPTION = typer.Option(None, "--json", metavar="FILE|-", help="Write the result as JSON; - is stdout, then alone.")
"""The --json option every printing verb has: `json_to: str | None = JSON_OPTION`."""


def emit_json(result: Any, target: str) -> None:
    """Write `result` (plain data or msgspec structs) as indented JSON to a file or, for `-`, to stdout."""
    import msgspec

    text = msgspec.json.format(msgspec.json.encode(result, order="deterministic"), indent=2).decode() + "\n"
    if target == "-":
        sys.stdout.write(text)
        return
    try:
        Path(target).write_text(text)
    except OSError as error:
        raise InputError(target, f"cannot be written ({error.strerror})", "choose another place") from None


def stdout_console() -> Console:
    """A rich console on stdout; 100 columns where it is not a terminal."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else 100, highlight=False)


def note(text: str) -> None:
    """A line for the user on stderr."""
    print(text, file=sys.stderr)  # noqa: T201
