"""Telemetry beside the samples: a thread reads the fields, and each sample gets the readings nearest to it.

The thread never calls MPI. Its own cost is measured; where it would disturb, it reads less often.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sprintprof.environment.cpu_fields import cpu_readers
from sprintprof.environment.gpu import handle_of, own_device
from sprintprof.environment.gpu_fields import GPU_FIELDS, SLOWED, THROTTLE_REASONS, gpu_readers
from sprintprof.environment.nvml import Nvml, open_nvml
from sprintprof.records import Missing

Floats = npt.NDArray[np.float64]
Reader = Callable[[], Any]
"""Reads one field: a number or Missing."""

INTERVAL_S = 0.02
MOST_SHARE = 0.01
"""Share of the time the thread may spend reading: above it the interval is raised."""
THROTTLED = "throttled"
COUNTERS = ("energy_J", "cpu_energy_J")


class Telemetry:
    """Reads fields until closed; implements the harness's TelemetrySource.

    `now_s` is the clock of the run (seconds since its start), the one the samples' `started_s` are in. `missing` are
    fields that cannot be read here, with their reasons. Without a field that answers no thread is started.
    """

    def __init__(self, now_s: Callable[[], float], readers: dict[str, Reader], missing: dict[str, str]) -> None:
        self._now_s = now_s
        self._readers = dict(readers)
        self._missing = dict(missing)
        self._times: list[float] = []
        self._rows: list[list[float]] = []
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="telemetry", daemon=True)
        self.interval_s = INTERVAL_S
        self.cost_s = 0.0

    def __enter__(self) -> Self:
        self._probe()
        if self._readers:
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout=5.0)

    def _probe(self) -> None:
        """Drop the fields that do not answer, keep their reasons, and learn what one reading costs."""
        for name, reader in list(self._readers.items()):
            value = reader()
            if isinstance(value, Missing):
                self._missing[name] = value.reason
                del self._readers[name]
        began = time.perf_counter()
        self._read()
        self.cost_s = time.perf_counter() - began
        self.interval_s = max(INTERVAL_S, self.cost_s / MOST_SHARE)

    def _read(self) -> None:
        row = []
        for name, reader in self._readers.items():
            value = reader()
            if isinstance(value, Missing):  # answered before, does not now (a lost GPU): a gap with its reason
                self._missing.setdefault(name, value.reason)
                value = np.nan
            row.append(float(value))
        with self._lock:
            self._times.append(self._now_s())
            self._rows.append(row)

    def _watch(self) -> None:
        while not self._stop.wait(self.interval_s):
            self._read()

    def energy_readings(self, started_s: float, ended_s: float) -> tuple[Floats, Floats, Floats]:
        """Times, energy counter in J and power in W inside a window: the GPU's where it is read, else the CPU's.

        NaN where there is no reading.
        """
        with self._lock:
            times = np.array(self._times)
            rows = np.array(self._rows).reshape(len(times), len(self._readers))
        inside = (times >= started_s) & (times <= ended_s)
        by_name = dict(zip(self._readers, rows[inside].T, strict=True))
        nothing = np.full(int(inside.sum()), np.nan)
        names = COUNTERS if any(name in by_name for name in ("energy_J", "power_W")) else COUNTERS[::-1]
        counter = next((by_name[name] for name in names if name in by_name), nothing)
        return times[inside], counter, by_name.get("power_W", nothing)

    def columns(self, started_s: Floats, ended_s: Floats) -> tuple[dict[str, Floats], dict[str, str]]:
        """Per sample and field: the mean of the readings inside the sample, else the nearest one.

        Throttle reasons are or-ed instead and give the column `throttled` (1 = slowed down); of counters the last
        reading counts. A sample further than two intervals from any reading has NaN.
        """
        with self._lock:
            times = np.array(self._times)
            rows = np.array(self._rows).reshape(len(times), len(self._readers))
        missing = dict(self._missing)
        if not self._readers:
            return {}, missing
        first, last = np.searchsorted(times, started_s), np.searchsorted(times, ended_s, side="right")
        middle = (started_s + ended_s) / 2
        near = _nearest(times, middle)
        reach = np.abs(times[near] - middle) - (ended_s - started_s) / 2 <= 2 * self.interval_s
        columns: dict[str, Floats] = {}
        for name, values in zip(self._readers, rows.T, strict=True):
            column = np.where(reach, values[near], np.nan)
            for i in np.flatnonzero(last - first > 1):
                inside = values[first[i] : last[i]]
                inside = inside[np.isfinite(inside)]
                if len(inside):
                    column[i] = _together(name, inside)
            columns[name] = column
        if THROTTLE_REASONS in columns:
            bits = columns[THROTTLE_REASONS]
            slowed = (np.nan_to_num(bits).astype(np.int64) & SLOWED) != 0
            columns[THROTTLED] = np.where(np.isfinite(bits), slowed.astype(float), np.nan)
        return columns, missing


def _together(name: str, values: Floats) -> float:
    if name == THROTTLE_REASONS:
        return float(np.bitwise_or.reduce(values.astype(np.int64)))
    return float(values[-1]) if name in COUNTERS else float(values.mean())


def _nearest(times: Floats, wanted: Floats) -> npt.NDArray[np.intp]:
    right = np.minimum(np.searchsorted(times, wanted), len(times) - 1)
    left = np.maximum(right - 1, 0)
    return np.where(np.abs(times[left] - wanted) <= np.abs(times[right] - wanted), left, right)


def open_telemetry(
    now_s: Callable[[], float], *, gpu: bool, local_rank: int = 0, nvml: Nvml | Missing | None = None
) -> Telemetry:
    """Telemetry of this rank: the CPU's fields, and those of its GPU where the engine uses one.

    Whatever cannot be read has its reason (no driver, no counters); the run goes on without it.
    """
    nvml = open_nvml() if nvml is None else nvml
    device = own_device(nvml, local_rank) if isinstance(nvml, Nvml) and gpu else None
    handle = handle_of(nvml, device) if isinstance(nvml, Nvml) and device and not isinstance(device, Missing) else None
    readers = cpu_readers()
    if isinstance(nvml, Nvml) and handle is not None and not isinstance(handle, Missing):
        return Telemetry(now_s, readers | gpu_readers(nvml, handle), {})
    absent = (m for m in (nvml, device, handle) if isinstance(m, Missing))
    reason = next(absent, Missing("the engine uses no GPU")).reason
    return Telemetry(now_s, readers, dict.fromkeys(GPU_FIELDS, reason))
