"""Lets the tests of this folder import `fake_nvml` of the environment's tests under pytest's importlib mode."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "environment"))
