"""Network files written: one line a layer, as one would by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sprintprof.records import InputError


def network_toml(tables: dict[str, Any]) -> str:
    """The text of a network file: its keys, then its layers, one inline table a line."""
    head = [f"{key} = {_value(value)}" for key, value in tables.items() if key != "layers"]
    lines = ["  { " + ", ".join(f"{k} = {_value(v)}" for k, v in layer.items()) + " }," for layer in tables["layers"]]
    return "\n".join([*head, "", "layers = [", *lines, "]", ""])


def save_network(tables: dict[str, Any], path: str | Path) -> None:
    """Write a network file. Raises InputError where the path exists or cannot be written."""
    try:
        with Path(path).open("x", encoding="utf-8") as stream:
            stream.write(network_toml(tables))
    except FileExistsError:
        raise InputError(str(path), "exists", "choose another name or remove it") from None
    except OSError as error:
        raise InputError(str(path), f"cannot be written ({error.strerror})", "choose another place") from None


def _value(value: object) -> str:
    """A number, truth value, text or list of them as TOML (which JSON's notation of these is)."""
    return json.dumps(value, ensure_ascii=True)
