"""Version and history of the results format, and the fixed names in it. docs/formats-results.md tells it in full."""

from __future__ import annotations

SCHEMA_VERSION = 2

HISTORY: dict[int, str] = {
    1: "draft before the first release: one header for the whole file, no sessions",
    2: "sessions: every launch that wrote into the file keeps its own header, and each point names its session",
}
"""Every version of the format and what it brought. Versions 1 to SCHEMA_VERSION are read, SCHEMA_VERSION is written."""

MISSING_INT = -(2**63)
"""Fill of an integer column where a point has no such parameter (text: empty, float: NaN, bool: MISSING = -1)."""

BOOL_MEMBERS = {"FALSE": 0, "TRUE": 1, "MISSING": -1}

SUMMARY_FIELDS = ("flop", "bytes", "median_s", "low_s", "high_s", "min_s")
"""Float64 columns of `points` that mirror Measurement; `first_s` follows later in the row."""

FIXED_COLUMNS = (
    "engine", "ranks", "launch", *SUMMARY_FIELDS, "status", "reason", "flags", "sample_offset", "sample_count",
    "first_s", "stop_reason", "rank_offset", "rank_count", "key", "origin", "session", "row_layout", "row_more",
)  # fmt: skip
"""Columns of `points` between the parameters (before them) and what a benchmark adds (behind them), in order."""

_UNIT_BY_SUFFIX = {
    "s": "s", "bytes": "B", "Bps": "B/s", "flop": "FLOP", "FLOPps": "FLOP/s", "Hz": "Hz", "W": "W", "J": "J", "C": "°C",
}  # fmt: skip


def unit_of(column: str) -> str:
    """The unit a column name ends in (`median_s` → s, `bandwidth_Bps` → B/s); 1 where it names none."""
    if column in ("flop", "bytes"):
        return {"flop": "FLOP", "bytes": "B"}[column]
    return _UNIT_BY_SUFFIX.get(column.rpartition("_")[2], "1") if "_" in column else "1"
