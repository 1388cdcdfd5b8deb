"""Logs on disk and what was read from them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sprintprof.importers.collect import Import, import_logs
from sprintprof.importers.options import Options

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Import]:
    """Import the text of one log."""

    def reading(text: str | bytes, kind: str = "auto", name: str = "made.log", **options: object) -> Import:
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return import_logs(kind, [path], Options(**options))  # type: ignore[arg-type]

    return reading
