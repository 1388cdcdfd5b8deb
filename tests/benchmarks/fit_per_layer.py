"""Sums over the convolutions of one network from the fits of the other, Caffe on a Titan X.

Both backward passes are one time in the data. AlexNet has five convolutions only: its fits extrapolate to the 57 of
GoogLeNet. Data: soumith/convnet-benchmarks (MIT).
"""

from __future__ import annotations

import sys

from _fit_figures import PROCESSORS, figure, skipped, table

from sprintprof.fit.generic import fit_generic
from sprintprof.fit.points import columns, times
from sprintprof.profile.families import evaluate
from sprintprof.records import Measurement

GOALS = {"conv_forward": ("forward", 0.15), "conv_backward_filter": ("backward", 0.30)}
NETWORKS = ("alexnet", "googlenet")


def network(name: str) -> list[Measurement] | None:
    """The convolutions of a network; None without the data."""
    found = table("per_layer/caffe_titanx.csv", "caffe_titanx.toml", model=name)
    return None if found is None else found["TITAN X"]


def main() -> int:
    """Print the figures; 1 if one misses its goal."""
    points = {name: network(name) for name in NETWORKS}
    good = []
    for kernel, (direction, goal) in GOALS.items():
        for source, target in (NETWORKS, NETWORKS[::-1]):
            known, asked = points[source], points[target]
            if known is None or asked is None:
                return skipped("sums over another network's layers", "<= 15 %, <= 30 %")
            fit = fit_generic([m for m in known if m.point.benchmark == kernel], processors=PROCESSORS["TITAN X"]).fit
            rest = [m for m in asked if m.point.benchmark == kernel]
            error = float(evaluate(fit, columns(rest)).sum() / times(rest).sum() - 1)
            good.append(figure(f"{target} from {source}, {direction}, error of the sum", error, goal))
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
