"""A point: one thing to measure, with the key by which it is resumed, merged and compared."""

from __future__ import annotations

import hashlib
import json
from functools import cached_property

import msgspec

Value = bool | int | float | str
"""A typed parameter. An axis declares the type; 1 and 1.0 are different points."""


_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode  # one encoder: making it costs half a key


def point_key(benchmark: str, engine: str, parameters: dict[str, Value], ranks: int, launch: int) -> str:
    """Return the 16 hex digits that identify a point: SHA-256 over its canonical JSON, cut."""
    body = _encode([benchmark, engine, parameters, ranks, launch])
    return hashlib.sha256(body.encode()).hexdigest()[:16]


class Point(msgspec.Struct, frozen=True, dict=True):
    """What is measured: benchmark, engine, typed parameters, ranks taking part, launch number.

    `ranks` is 1 for everything that runs on one process. Each message size is a point of its own.
    """

    benchmark: str
    engine: str
    parameters: dict[str, Value]
    ranks: int = 1
    launch: int = 0

    @cached_property
    def key(self) -> str:
        """16 hex digits, the same on every machine and in every version."""
        return point_key(self.benchmark, self.engine, self.parameters, self.ranks, self.launch)

    def without(self, *names: str) -> dict[str, Value]:
        """The parameters less the named ones, e.g. the shape of a layer without its batch."""
        return {k: v for k, v in self.parameters.items() if k not in names}

    def label(self) -> str:
        """`benchmark[a=1,b=2]`, for tables and messages."""
        inner = ",".join(f"{k}={v}" for k, v in self.parameters.items())
        ranks = f" p={self.ranks}" if self.ranks > 1 else ""
        return f"{self.benchmark}[{inner}]{ranks}"
