"""SIGKILL at random moments of a real writer; the machinery is that of the benchmark script with its 200 kills."""

from __future__ import annotations

import runpy
from pathlib import Path

SCRIPT = Path(__file__).parent.parent / "benchmarks" / "store_kills.py"


def test_forty_kills_lose_nothing(tmp_path: Path) -> None:
    tally = runpy.run_path(str(SCRIPT))["campaign"](40, tmp_path, seed=11)
    assert tally.kills == 40
    assert (tally.lost, tally.unreadable, tally.wrong, tally.failed, tally.notes) == (0, 0, 0, 0, [])
