"""DeepBench's training kernels on eight devices: errors on whole shapes left out.

A shape is all parameters but the batch (convolutions) or m (matrix products): a stricter leaving out than that of
single rows. One fit for each device, precision and direction (or transposition). Data: baidu-research/DeepBench
(Apache-2.0).
"""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from _fit_figures import PROCESSORS, figure, skipped, table

from sprintprof.fit.generic import fit_generic, generic_groups
from sprintprof.records import Measurement


def fitted(job: tuple[str, list[Measurement]]) -> tuple[str, float]:
    """A line for one group, and its median error."""
    device, group = job
    fit = fit_generic(group, processors=PROCESSORS.get(device)).fit
    shares = f"median {100 * fit.error.median:.1f} %, bias of the sum {100 * fit.error.bias:+.1f} %"
    return f"{device} {fit.benchmark} {fit.fixed}: {shares}", fit.error.median


def errors(csv: str, column_map: str) -> list[float] | None:
    """Median errors of all groups; None without the data."""
    found = table(csv, column_map)
    if found is None:
        return None
    jobs = [(device, group) for device, points in found.items() for group in generic_groups(points).values()]
    with ProcessPoolExecutor(2) as pool:
        done = list(pool.map(fitted, jobs))
    print("\n".join(line for line, _ in done))
    return [median for _, median in done]


def main() -> int:
    """Print the figures; 1 if one misses its goal."""
    convolutions, products = (
        errors("deepbench/conv.csv", "deepbench_conv.toml"),
        errors("deepbench/gemm.csv", "deepbench_gemm.toml"),
    )
    if convolutions is None or products is None:
        return skipped("DeepBench, shapes left out", "<= 11.5 %")
    good = [
        figure("DeepBench convolutions, mean of the medians", float(np.mean(convolutions)), 0.115),
        figure("DeepBench convolutions, greatest median", max(convolutions), 0.18),
        figure("DeepBench matrix products, mean of the medians", float(np.mean(products)), 0.045),
    ]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
