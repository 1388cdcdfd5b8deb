"""Strategies of distributed SGD behind one small interface, one file each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sprintprof.model.strategies.base import Outcome, Strategy
from sprintprof.model.strategies.sprint import Sprint

STRATEGIES: dict[str, Callable[..., Any]] = {"sprint": Sprint}
"""Every strategy by its name on the command line."""

__all__ = ["STRATEGIES", "Outcome", "Sprint", "Strategy"]
