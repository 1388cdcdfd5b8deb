"""How long fits and predictions take: 10 fits of 2,500 timings, a million predictions by either level."""

from __future__ import annotations

import sys
import time

import numpy as np
from _fit_figures import figure

from sprintprof.fit.generic import fit_generic
from sprintprof.networks.kernels import KERNELS, KernelCall
from sprintprof.profile import Estimator, Fit, FitError, Profile
from sprintprof.records import Measurement, Point, Value

POINTS = 2500
FITS = 10
TIMED = 3
"""Fits that are run; the time is scaled to ten, so that the script stays short."""
ASKED = 1_000_000


def convolution(rng: np.random.Generator) -> dict[str, Value]:
    """A random 3 x 3 convolution."""
    side = int(rng.integers(5, 64))
    sizes = {"batch": int(rng.integers(1, 65)), "channels": int(rng.integers(3, 1024)), "height": side, "width": side}
    same = {"kernel_h": 3, "kernel_w": 3, "stride_h": 1, "stride_w": 1, "pad_h": 1, "pad_w": 1}
    rest = {"filters": int(rng.integers(3, 1024)), **same, "dilation": 1, "groups": 1}
    return {**sizes, **rest, "precision": "fp32", "layout": "NCHW"}


def timings(seed: int) -> list[Measurement]:
    """Times of a made-up device with habits and noise."""
    rng = np.random.default_rng(seed)
    spec, out = KERNELS["conv_forward"], []
    for _ in range(POINTS):
        p = convolution(rng)
        habit = 1.3 if int(p["channels"]) % 8 else 1.0
        busy = max(spec.flop(p) / 5e12, spec.bytes(p) / 3e11)
        time_s = (2e-5 + busy * habit) * float(np.exp(0.1 * rng.standard_normal()))
        out.append(Measurement(Point("conv_forward", "gpu", p), "ok", median_s=time_s))
    return out


def layer_fit(call: KernelCall) -> Fit:
    """A fit of one measured layer."""
    fixed = {k: v for k, v in call.parameters.items() if k != "batch"}
    error = FitError(0.01, 0.02, 0.03, "leave-one-batch-out", 6)
    features, coefficients = ["1", "batch", "ceil(batch/8)"], [1e-5, 1e-6, 2e-6]
    zeros = [[0.0] * 3] * 3
    return Fit(
        call.kernel, "gpu", "layer", fixed, "linear", features, coefficients, zeros, {}, error, 0.02, 6, "", "batch"
    )


def main() -> int:
    """Print the figures; 1 if one misses its goal."""
    data = [timings(seed) for seed in range(TIMED)]
    began = time.perf_counter()
    fits = [fit_generic(points, processors=40).fit for points in data]
    took = (time.perf_counter() - began) * FITS / TIMED
    good = [figure(f"{FITS} fits of {POINTS} timings", took, 60.0, scale=1, unit="s")]

    call = KernelCall("conv_forward", data[0][0].point.parameters)
    estimator = Estimator(Profile("made up", "", "", {}, [], [layer_fit(call), fits[0]], []))
    rng = np.random.default_rng(0)
    batches = rng.integers(1, 1024, ASKED).astype(np.float64)
    began = time.perf_counter()
    estimator.batch_times(call, batches)
    took = time.perf_counter() - began
    good.append(figure("1,000,000 predictions of a measured layer", took, 2.0, scale=1, unit="s"))

    names = [k for k, v in call.parameters.items() if not isinstance(v, str)]
    table = {k: np.array([float(m.point.parameters[k]) for m in data[0]]) for k in names}
    picked = rng.integers(0, POINTS, ASKED)
    asked = {k: v[picked] for k, v in table.items()} | {"batch": rng.integers(1, 65, ASKED).astype(np.float64)}
    macs = asked["batch"] * asked["height"] * asked["width"] * asked["filters"] * asked["channels"] * 9
    asked |= {"flop": 2 * macs, "bytes": macs / 100}
    began = time.perf_counter()
    estimator.generic_times("conv_forward", asked, {"precision": "fp32", "layout": "NCHW"})
    took = time.perf_counter() - began
    good.append(figure("1,000,000 predictions of unseen layers", took, 60.0, scale=1, unit="s"))
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
