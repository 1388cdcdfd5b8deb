"""Telemetry fields of the CPU: clock of a core and energy of the packages, where the system lets us read them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sprintprof.environment.host import CPU, attempt, text
from sprintprof.records import Missing

RAPL = Path("/sys/class/powercap")


def cpu_readers() -> dict[str, Callable[[], Any]]:
    """`cpu_clock_Hz` of the first core this process may use, `cpu_energy_J` of all packages."""
    core = min(os.sched_getaffinity(0))
    clock = CPU / f"cpu{core}/cpufreq/scaling_cur_freq"
    return {
        "cpu_clock_Hz": lambda: attempt(lambda: 1e3 * int(text(clock)), "no cpufreq here"),
        "cpu_energy_J": RaplEnergy(RAPL),
    }


class RaplEnergy:
    """Energy of all CPU packages since the first reading, in J; the counters' wrap is made good.

    A counter that wraps twice between two readings is not noticed (hours apart at least).
    """

    def __init__(self, root: Path) -> None:
        self._packages = sorted(root.glob("intel-rapl:[0-9]*")) if root.is_dir() else []
        self._packages = [p for p in self._packages if p.name.count(":") == 1]
        self._last: dict[Path, int] = {}
        self._total_uJ = 0

    def __call__(self) -> float | Missing:
        """The reading, or why there is none."""
        if not self._packages:
            return Missing("no RAPL counters here")
        for package in self._packages:
            now = attempt(lambda file=package / "energy_uj": int(text(file)))  # type: ignore[misc]
            if isinstance(now, Missing):
                return Missing(f"RAPL counter cannot be read ({now.reason})")
            before = self._last.get(package, now)
            if now < before:
                wrap = attempt(lambda file=package / "max_energy_range_uj": int(text(file)))  # type: ignore[misc]
                if isinstance(wrap, Missing):
                    return wrap
                before -= wrap
            self._total_uJ += now - before
            self._last[package] = now
        return self._total_uJ * 1e-6
