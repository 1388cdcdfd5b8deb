"""Text that HDF5 strings cannot hold is escaped (NUL would end them, lone surrogates are no UTF-8); the rest stays."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

ESCAPE = "\u241b"
"""SYMBOL FOR ESCAPE; ESCAPE + 4 hex digits stands for the character of that number."""

_UNSAFE = re.compile(f"[\x00{ESCAPE}\ud800-\udfff]")
_ESCAPED = re.compile(f"{ESCAPE}([0-9a-f]{{4}})")


def escape(text: str) -> str:
    """`text` as valid UTF-8 without NUL; `unescape` gives it back."""
    return text if _UNSAFE.search(text) is None else _UNSAFE.sub(lambda m: f"{ESCAPE}{ord(m[0]):04x}", text)


def unescape(text: str) -> str:
    """The text that `escape` was given."""
    return _ESCAPED.sub(lambda m: chr(int(m[1], 16)), text) if ESCAPE in text else text


def group_name(benchmark: str) -> str:
    """The name of a benchmark's group in HDF5, where `/` separates groups and `.` is the group itself."""
    safe = escape(benchmark).replace("/", f"{ESCAPE}002f")
    return {"": ESCAPE, ".": f"{ESCAPE}002e"}.get(safe, safe)


def _plain(value: Any) -> Any:
    """What json does not know: NumPy scalars and our structs (Missing among them)."""
    if hasattr(value, "item"):
        return value.item()
    return msgspec.to_builtins(value)


_encode = json.JSONEncoder(separators=(",", ":"), default=_plain).encode


def to_json(value: Any) -> str:
    """Compact ASCII JSON. NaN, infinities, integers of any size and lone surrogates survive `from_json`."""
    return _encode(value)


def from_json(text: str | bytes) -> Any:
    """The value. Raises ValueError on anything that is not JSON, however deeply it nests."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
