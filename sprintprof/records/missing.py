"""A field that could not be read: it has a reason and is never 0."""

from __future__ import annotations

import msgspec


class Missing(msgspec.Struct, frozen=True, tag="missing", tag_field="status"):
    """Stands in the place of a value that could not be read. In JSON: {"status": "missing", "reason": "..."}."""

    reason: str

    def __str__(self) -> str:
        return f"missing({self.reason})"

    def __bool__(self) -> bool:
        return False
