"""Times out of a profile: one call, many calls, messages; each with its interval and what it extrapolates."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Literal, Protocol

import msgspec
import numpy as np

from sprintprof.profile.derived import derive
from sprintprof.profile.families import evaluate
from sprintprof.profile.features import Array, Columns, feature_matrix
from sprintprof.profile.message_families import crossings, interval_factors, quantiles_s, segment_at
from sprintprof.profile.schema import Fit, Profile
from sprintprof.records import InputError, Value

Origin = Literal["layer", "generic", "message"]

_NORMAL_90 = 1.6449
"""Half width of a 90 % interval in standard deviations."""

WIDEN_PER_DOUBLING = 0.25
"""An interval without covariance grows, in logarithms, by this share for each doubling beyond what was measured."""


class NoFit(KeyError):  # noqa: N818  (it is an outcome: predict warns and goes on)
    """The profile has no fit that could answer; `kernel` is what was asked for."""

    def __init__(self, kernel: str, why: str) -> None:
        self.kernel = kernel
        self.why = why
        super().__init__(f"{kernel}: {why}")

    def __str__(self) -> str:
        return f"{self.kernel}: {self.why}"


class Call(Protocol):
    """What is asked: `sprintprof.networks.kernels.KernelCall` is one."""

    @property
    def kernel(self) -> str: ...
    @property
    def parameters(self) -> dict[str, Value]: ...
    @property
    def flop(self) -> float: ...
    @property
    def bytes(self) -> float: ...


class Estimate(msgspec.Struct, frozen=True):
    """A predicted time in s with its 90 % interval `low_s`..`high_s`, always > 0.

    `jitter_cv` is the coefficient of variation of single calls (NaN where it was not measured). `source` says whether
    the layer itself was measured. `extrapolated` has a line for each quantity outside what was measured. `quantiles_s`
    are of single operations ("0.05" … "0.95"), empty where they were not fitted.
    """

    time_s: float
    low_s: float
    high_s: float
    jitter_cv: float
    source: Origin
    extrapolated: list[str]
    quantiles_s: dict[str, float] = {}


class Estimator:
    """Answers from one profile. `engine` picks among several engines; by default the one with most fits.

    Raises InputError for an engine that the profile does not have.
    """

    def __init__(self, profile: Profile, engine: str | None = None) -> None:
        self.profile = profile
        kernels = [f for f in profile.fits if f.level != "message"]
        engines = [f.engine for f in kernels]
        if engine is not None and engine not in engines:
            remedy = f"engines in it: {', '.join(sorted(set(engines))) or 'none'}"
            raise InputError("profile", f"has no fits of engine '{engine}'", remedy)
        self.engine = engine or (max(sorted(set(engines)), key=engines.count) if engines else "")
        kernels = [f for f in kernels if f.engine == self.engine]
        self._layers: dict[tuple[str, str, frozenset[tuple[str, Value]]], Fit] = {
            (f.benchmark, f.scale, frozenset(f.fixed.items())): f for f in kernels if f.level == "layer"
        }
        self._scales: dict[str, set[str]] = {}
        for benchmark, scale, _ in self._layers:
            self._scales.setdefault(benchmark, set()).add(scale)
        self._generic = _by_benchmark(f for f in kernels if f.level == "generic")
        self._messages = _by_benchmark(f for f in profile.fits if f.level == "message")

    def has(self, benchmark: str) -> bool:
        """Whether any fit of that kernel or message benchmark is there."""
        return benchmark in self._scales or benchmark in self._generic or benchmark in self._messages

    def find(self, call: Call) -> Fit:
        """The fit that answers for a call: of its own layer, else the generic one. Raises NoFit."""
        for scale in sorted(self._scales.get(call.kernel, ())):
            shape = frozenset((k, v) for k, v in call.parameters.items() if k != scale)
            if fit := self._layers.get((call.kernel, scale, shape)):
                return fit
        return self._matching(self._generic, call.kernel, call.parameters)

    def layer_time(self, call: Call) -> Estimate:
        """The time of one kernel call. Raises NoFit where the profile has no fit of that kernel."""
        fit = self.find(call)
        columns = {k: np.array([float(v)]) for k, v in call.parameters.items() if not isinstance(v, str)}
        columns |= {"flop": np.array([call.flop]), "bytes": np.array([call.bytes])}
        return _estimate(fit, columns)

    def layer_times(self, calls: Iterable[Call]) -> Array:
        """Times in s of many calls, shape (n,). Raises NoFit for the first call without a fit."""
        groups: dict[int, tuple[Fit, list[int], list[Call]]] = {}
        count = 0
        for call in calls:
            fit = self.find(call)
            _, places, members = groups.setdefault(id(fit), (fit, [], []))
            places.append(count)
            members.append(call)
            count += 1
        out = np.empty(count)
        for fit, places, members in groups.values():
            names = [k for k, v in members[0].parameters.items() if not isinstance(v, str)]
            columns = {k: np.array([float(c.parameters[k]) for c in members]) for k in names}
            columns["flop"] = np.array([c.flop for c in members])
            columns["bytes"] = np.array([c.bytes for c in members])
            out[places] = times_s(fit, columns)
        return out

    def batch_times(self, call: Call, scale_values: Array) -> Array:
        """Times in s of one measured layer over many values of its scale axis, shape of `scale_values`.

        Raises NoFit where the layer has no fit of its own.
        """
        fit = self.find(call)
        if fit.level != "layer":
            raise NoFit(call.kernel, "this layer was not measured; only generic fits are there")
        return times_s(fit, {fit.scale: np.asarray(scale_values, np.float64)})

    def generic_times(self, kernel: str, columns: Columns, fixed: Mapping[str, Value]) -> Array:
        """Times in s by the generic fit for a table of columns (numeric parameters, flop, bytes), shape (n,).

        `fixed` holds the other parameters (precision, layout …). Raises NoFit.
        """
        return times_s(self._matching(self._generic, kernel, fixed), columns)

    def message_time(self, benchmark: str, size_bytes: float, ranks: int, **fixed: Value) -> Estimate:
        """The time of one message, collective or read of `size_bytes` among `ranks` ranks. Raises NoFit.

        Fits of exactly that number of ranks come first, then forms over ranks. `fixed` are choices such as
        algorithm or placement; where the profile has several and none is given, the one with most points answers
        and `extrapolated` says so.
        """
        wanted: dict[str, Value] = {**fixed, "ranks": ranks}
        candidates = self._messages.get(benchmark, [])
        fits = [f for f in candidates if all(wanted.get(k, v) == v for k, v in f.fixed.items())]
        if not fits:
            self._matching(self._messages, benchmark, wanted)
        fit = max(fits, key=lambda f: ("ranks" in f.fixed, sum(k in wanted for k in f.fixed), f.points))
        columns = {k: np.array([float(v)]) for k, v in wanted.items() if not isinstance(v, str)}
        table = {**columns, "size_bytes": np.array([float(size_bytes)])}
        estimate = _by_map(fit, table) if fit.segments else _estimate(fit, table)
        taken = [f"{k}={v}" for k, v in fit.fixed.items() if k not in wanted and _several(fits, k)]
        lines = [f"several were measured, {', '.join(taken)} was taken"] if taken else []
        return msgspec.structs.replace(estimate, extrapolated=[*estimate.extrapolated, *lines])

    @staticmethod
    def _matching(fits: dict[str, list[Fit]], benchmark: str, given: Mapping[str, Value]) -> Fit:
        candidates = fits.get(benchmark)
        if not candidates:
            raise NoFit(benchmark, "the profile has no fit of it")
        matching = [f for f in candidates if all(k in given and given[k] == v for k, v in f.fixed.items())]
        if not matching:
            have = sorted({", ".join(f"{k}={v}" for k, v in f.fixed.items()) for f in candidates})
            raise NoFit(benchmark, f"the profile has fits only for {'; '.join(have)[:200]}")
        return max(matching, key=lambda f: len(f.fixed))


def _several(fits: Iterable[Fit], choice: str) -> bool:
    return len({fit.fixed[choice] for fit in fits if choice in fit.fixed}) > 1


def _by_benchmark(fits: Iterable[Fit]) -> dict[str, list[Fit]]:
    out: dict[str, list[Fit]] = {}
    for fit in fits:
        out.setdefault(fit.benchmark, []).append(fit)
    return out


def times_s(fit: Fit, columns: Columns) -> Array:
    """Times in s of one fit, shape (n,), each > 0: where a form gives nothing, the least time that was measured.

    Raises NoFit where a column that the fit needs is missing.
    """
    try:
        times = evaluate(fit, columns)
    except KeyError as missing:
        raise NoFit(fit.benchmark, f"its fit needs {missing}") from None
    floor = fit.range.get("time_s", (1e-9, 1e-9))[0]
    return np.where(np.isfinite(times) & (times > 0), times, floor)


def _estimate(fit: Fit, columns: Columns) -> Estimate:
    time = float(times_s(fit, columns)[0])
    growth = _NORMAL_90 * math.sqrt(_variance(fit, columns)) / time
    wider = 1.0 if fit.covariance else 1.0 + WIDEN_PER_DOUBLING * _doublings_outside(fit, columns)
    low = time / (1 + math.hypot(fit.spread.low**-wider - 1, growth))
    high = time * (1 + math.hypot(fit.spread.high**wider - 1, growth))
    jitter = math.nan if fit.jitter_cv is None else fit.jitter_cv
    return Estimate(time, low, high, jitter, fit.level, _outside(fit, columns))


def _by_map(fit: Fit, columns: Columns) -> Estimate:
    """From a fit with a switch map: each of its cells has an interval, a jitter and quantiles of its own."""
    time, size, ranks = float(times_s(fit, columns)[0]), float(columns["size_bytes"][0]), float(columns["ranks"][0])
    low, high = interval_factors(fit, size, ranks)
    cell_cv = segment_at(fit, size, ranks).jitter_cv
    jitter = fit.jitter_cv if cell_cv is None else cell_cv
    lines = _outside(fit, columns) + crossings(fit, size, ranks, time)
    spread = quantiles_s(fit, size, ranks, time)
    return Estimate(time, time * low, time * high, math.nan if jitter is None else jitter, fit.level, lines, spread)


def _variance(fit: Fit, columns: Columns) -> float:
    """Variance in s² of a linear prediction from its coefficients' covariance: it grows away from the data."""
    if not fit.covariance:
        return 0.0
    x = feature_matrix(fit.features, derive(fit.benchmark, columns))[0]
    return max(0.0, float(x @ np.array(fit.covariance) @ x))


def _doublings_outside(fit: Fit, columns: Columns) -> float:
    """How often the worst quantity must be doubled or halved to come inside what was measured."""
    far = 0.0
    for name, (low, high) in fit.range.items():
        value = float(columns[name][0]) if name in columns else low
        if value > high > 0:
            far = max(far, math.log2(value / high))
        elif 0 < value < low:
            far = max(far, math.log2(low / value))
    return far


def _outside(fit: Fit, columns: Columns) -> list[str]:
    lines = []
    for name, (low, high) in fit.range.items():
        value = float(columns[name][0]) if name in columns else math.nan
        if value < low or value > high:
            lines.append(f"{name} {value:g} is outside {low:g}..{high:g}")
    if lines and fit.shapes and all(axis in columns for axis in fit.shape_axes):
        lines.append(f"nearest measured shape: {_nearest(fit, columns)}")
    return lines


def _nearest(fit: Fit, columns: Columns) -> str:
    """The measured shape at the least distance in logarithms of (1 + value)."""
    shapes = np.array(fit.shapes)
    asked = np.array([float(columns[axis][0]) for axis in fit.shape_axes])
    distance = np.sum((np.log1p(np.abs(shapes)) - np.log1p(np.abs(asked))) ** 2, axis=1)
    nearest = shapes[int(np.argmin(distance))]
    return ", ".join(f"{axis}={value:g}" for axis, value in zip(fit.shape_axes, nearest, strict=True))
