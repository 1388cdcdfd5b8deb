"""The main job's fits on this machine: layers of a small network by the CPU engine, at batch sizes left out.

Every layer of the network is measured by `sprintprof run` in four launches. The error of single layers is what the
profile itself states (one batch size left out at a time). The network's time is the sum over its kernels, forward and
backward, at a batch size that the fits did not see: each but the least and the greatest in turn. Other load on the machine shows in both.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from _fit_figures import figure

from sprintprof.fit.build import fit_profile
from sprintprof.fit.layers import fit_layer, layer_groups
from sprintprof.fit.points import over_launches
from sprintprof.fit.sources import read_dataset
from sprintprof.networks.kernels import KernelCall
from sprintprof.profile import Estimator, Profile
from sprintprof.records import Measurement

NETWORK = """
title = "a small network with layers of some ms"
source = "made for this figure"
input = [3, 32, 32]
layers = [
  { kind = "conv", filters = 32, kernel = 3, pad = 1 },
  { kind = "relu" },
  { kind = "pool", kernel = 2 },
  { kind = "conv", filters = 64, kernel = 3, pad = 1 },
  { kind = "relu" },
  { kind = "linear", features = 10 },
]
"""
BATCHES = (4, 8, 12, 16, 24, 32)
LEFT_OUT = BATCHES[1:-1]
SUITE = """
description = "layers over the batch"
[settings]
timeout_s = 0.07
warmup_timeout_s = 0.03
launches = 4
[[network]]
name = "{network}"
batch = {batches}
"""


def measure(folder: Path) -> Path:
    """Run the suite; the results file."""
    network, suite, out = folder / "network.toml", folder / "suite.toml", folder / "r.h5"
    network.write_text(NETWORK)
    suite.write_text(SUITE.format(network=network, batches=list(BATCHES)))
    command = [sys.executable, "-m", "sprintprof", "run", "--suite", str(suite), "--engine", "numpy", "-o", str(out)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return out


def network_error(points: list[Measurement], batch: int) -> float:
    """Relative error of the network's time at `batch`, from fits to the other batch sizes."""
    left_out = [m for m in over_launches(points) if m.point.parameters.get("batch") == batch]
    seen = [m for m in points if m.point.parameters.get("batch") != batch]
    fits = [fitted.fit for group in layer_groups(seen).values() if (fitted := fit_layer(group))]
    estimator = Estimator(Profile("here", "", "", {}, [], fits, []))
    predicted = estimator.layer_times(KernelCall(m.point.benchmark, m.point.parameters) for m in left_out).sum()
    return float(predicted / sum(m.median_s for m in left_out) - 1)


def main() -> int:
    """Print the figures; 1 if one misses its goal."""
    with tempfile.TemporaryDirectory() as folder:
        data = read_dataset(measure(Path(folder)))
        points = list(data.measurements)
    stated = {(q.level, q.benchmark): q.error for q in fit_profile([data]).quality}["layer", "*"]
    good = [figure("layers of the CPU engine, batch sizes left out, median error", stated.median, 0.10)]
    errors = [network_error(points, batch) for batch in LEFT_OUT]
    print(", ".join(f"batch {b}: {100 * e:+.1f} %" for b, e in zip(LEFT_OUT, errors, strict=True)))
    mean = sum(map(abs, errors)) / len(errors)
    good.append(figure("whole network at batch sizes left out, mean error of the time", mean, 0.03))
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
