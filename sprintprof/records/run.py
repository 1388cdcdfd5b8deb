"""What a results file says about itself, beside the points."""

from __future__ import annotations

from typing import Any

import msgspec

from sprintprof.records.point import Point


class RunHeader(msgspec.Struct, frozen=True):
    """Written first into a journal and as attributes of a results file.

    `plan` is every point that was asked for, so that `--resume` and completeness lines know what is missing.
    `environments` are the distinct environment records (plain JSON objects); `rank_environment[r]` is the index of
    rank r's. `settings` are the harness settings of the run (target_ci, seed, fill, cache ...).
    """

    run_id: str
    created_utc: str
    machine: str
    command: list[str]
    tool_version: str
    plan: list[Point]
    settings: dict[str, Any]
    environments: list[dict[str, Any]]
    rank_environment: list[int]
