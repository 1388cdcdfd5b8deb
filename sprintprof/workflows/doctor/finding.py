"""What a check of the doctor says."""

from __future__ import annotations

from typing import Literal

import msgspec

Level = Literal["blocker", "warning", "note", "ok"]
"""A blocker stops a run or makes its numbers worthless; a warning spoils some of them; a note is good to know."""


class Finding(msgspec.Struct, frozen=True):
    """One line: what was looked at, how it is, what to do."""

    level: Level
    subject: str
    what: str
    remedy: str = ""
