"""Errors on what was left out: folds over whole groups, error figures, intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sprintprof.profile import FitError, Spread

Array = npt.NDArray[np.float64]
Predictor = Callable[[npt.NDArray[np.intp], npt.NDArray[np.intp]], Array]

UNKNOWN_SPREAD = Spread(0.5, 2.0)
"""The interval where the data say nothing about the error: a factor of two either way."""
_TAIL = 0.05


class LeftOut(NamedTuple):
    """Predictions (n,) of points by fits that did not see them, beside what was measured; labels of the points."""

    predicted_s: Array
    measured_s: Array
    labels: list[str]
    method: str

    def error(self) -> FitError:
        """Median, 90th percentile and worst relative error, and the bias of the sum."""
        return summary([self])

    def spread(self) -> Spread:
        """The 90 % interval as factors on the prediction, from the ratios measured/predicted.

        Order statistics from 40 points on (split-conformal: ranks of n+1); below, a log-normal with Student's t.
        """
        n = len(self.measured_s)
        if self.method == "in-sample" or n < 3:
            return UNKNOWN_SPREAD
        ratio = np.sort(self.measured_s / self.predicted_s)
        if n >= 40:
            low = ratio[int(np.floor(_TAIL * (n + 1))) - 1]
            high = ratio[int(np.ceil((1 - _TAIL) * (n + 1))) - 1]
        else:
            from scipy.stats import t

            width = float(t.ppf(1 - _TAIL, n - 1)) * float(np.sqrt(np.mean(np.log(ratio) ** 2) * (n + 1) / (n - 1)))
            low, high = np.exp(-width), np.exp(width)
        return Spread(float(min(max(low, 1e-3), 1.0)), float(max(min(high, 1e3), 1.0)))


def summary(parts: Sequence[LeftOut]) -> FitError:
    """One error over several sets of left-out points (all layers of a kernel, say)."""
    predicted = np.concatenate([p.predicted_s for p in parts])
    measured = np.concatenate([p.measured_s for p in parts])
    labels = [label for p in parts for label in p.labels]
    methods = {p.method for p in parts if len(p.measured_s)}
    error = np.abs(predicted / measured - 1.0)
    worst = int(np.argmax(error))
    return FitError(
        median=float(np.median(error)),
        p90=float(np.quantile(error, 0.9)),
        worst=float(error[worst]),
        method=" and ".join(sorted(methods)),
        points=len(error),
        worst_point=labels[worst],
        bias=float(predicted.sum() / measured.sum() - 1.0),
    )


def folds(groups: Sequence[object], count: int = 10) -> list[npt.NDArray[np.intp]]:
    """Index sets to leave out: whole groups, one each while there are at most `count`, else `count` even shares.

    The shares are drawn by a fixed seed, so that a fit gives the same profile each time.
    """
    names = list(dict.fromkeys(groups))
    order = {name: place for place, name in enumerate(names)}
    membership = np.array([order[g] for g in groups])
    share = np.arange(len(names))
    if len(names) > count:
        share = np.random.default_rng(0).permutation(len(names)) % count
    return [np.flatnonzero(share[membership] == k) for k in range(min(len(names), count))]


def cross_validate(
    predict: Predictor, measured_s: Array, groups: Sequence[object], labels: list[str], method: str, count: int = 10
) -> LeftOut:
    """Predict each fold from the rest: `predict(train, test)` fits on indices `train` and gives times of `test`.

    With fewer than 3 groups nothing can be left out: the result is that of a fit to all points, method "in-sample".
    """
    everything = np.arange(len(measured_s))
    out = np.empty(len(measured_s))
    if len(set(groups)) < 3:
        return LeftOut(predict(everything, everything), measured_s, labels, "in-sample")
    for test in folds(groups, count):
        out[test] = predict(np.setdiff1d(everything, test), test)
    return LeftOut(out, measured_s, labels, method)
