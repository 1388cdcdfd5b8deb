"""Moments of every configuration, vectorised: epoch time, mini-batch, staleness, cost."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sprintprof.model.jitter import jitter
from sprintprof.model.orderstats import kth_mean_s, skew_s
from sprintprof.model.renewal import surplus_sum
from sprintprof.model.search.space import Space
from sprintprof.model.search.times import GridTimes
from sprintprof.model.special import Floats
from sprintprof.model.strategies import Bsp, Softsync, Strategy

COLUMNS = (
    "epoch_time_s", "throughput_samples_per_s", "updates_per_s", "gpu_hours", "minibatch_mean", "minibatch_std",
    "staleness_mean", "staleness_std", "gpu_cycle_s", "update_cycle_s",
)  # fmt: skip


@dataclass(frozen=True)
class Grid:
    """All configurations as columns of one length (n,): where they are in the space, and what they give.

    `machine` and `strategy` are indices; the columns of COLUMNS are in `values`.
    """

    machine: npt.NDArray[np.int64]
    strategy: npt.NDArray[np.int64]
    nodes: npt.NDArray[np.int64]
    gpus_per_node: npt.NDArray[np.int64]
    sub_batch: npt.NDArray[np.int64]
    values: dict[str, Floats]

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def gpus(self) -> npt.NDArray[np.int64]:
        """N of each configuration."""
        return self.nodes * self.gpus_per_node


def joined(parts: list[Grid]) -> Grid:
    """Several grids as one."""
    names = ("machine", "strategy", "nodes", "gpus_per_node", "sub_batch")
    columns = [np.concatenate([getattr(p, name) for p in parts]) for name in names]
    values = {c: np.concatenate([p.values[c] for p in parts]) for c in COLUMNS}
    return Grid(columns[0], columns[1], columns[2], columns[3], columns[4], values)


def grid_of(machine: int, number: int, strategy: Strategy, space: Space, times: GridTimes, dataset_size: int) -> Grid:
    """One strategy on one machine. Moments as the strategy has them in closed form; of SSP and DSSP, which have none,
    those of ASP: a bound on their speed, which the finalists' simulation replaces."""
    shape = (len(space.nodes), len(space.gpus_per_node), len(space.sub_batch))
    axes = np.meshgrid(space.nodes, space.gpus_per_node, space.sub_batch, indexing="ij")
    nodes, gpus_per_node, sub_batch = (a.ravel() for a in axes)
    n = (nodes * gpus_per_node).astype(np.float64)
    cycles = (times.gpu_s, times.gpu_std_s, times.update_s, times.update_std_s)
    x, sx, y, sy = (np.broadcast_to(a, shape).ravel().astype(np.float64) for a in cycles)
    moments = {"sprint": _sprint, "bsp": _bsp}.get(strategy.name, _server)(strategy, n, sub_batch * 1.0, x, sx, y, sy)
    rate, updates, batch, batch_std, stale, stale_std = moments
    epoch = dataset_size / rate
    columns = (epoch, rate, updates, epoch * n / 3600, batch, batch_std, stale, stale_std, x, y)
    values = dict(zip(COLUMNS, columns, strict=True))
    return Grid(np.full(len(n), machine), np.full(len(n), number), nodes, gpus_per_node, sub_batch, values)


Moments = tuple[Floats, Floats, Floats, Floats, Floats, Floats]
"""Samples/s, updates/s, mean and std of the mini-batch (samples), mean and std of staleness (versions)."""


def _sprint(strategy: Strategy, n: Floats, b: Floats, x: Floats, sx: Floats, y: Floats, sy: Floats) -> Moments:
    rho, ratio = y / x, x / y
    one = rho + 2 * surplus_sum(y, sy, x, sx) / x - rho**2  # variance of one GPU's count, T_u's jitter included
    shared = (sy / x) ** 2
    variance = n * np.maximum(one - shared, 0.0) + n**2 * shared
    versions = ratio + 2 * surplus_sum(x, sx, y, sy) / y - ratio**2
    return n * b / x, 1 / y, n * b * rho, b * np.sqrt(variance), 1 + ratio, np.sqrt(np.maximum(versions, 0.0))


def _bsp(strategy: Strategy, n: Floats, b: Floats, x: Floats, sx: Floats, y: Floats, sy: Floats) -> Moments:
    assert isinstance(strategy, Bsp)
    kept = n - strategy.backup_workers
    iteration = x + sx * _slowest(n, strategy.backup_workers) + y * (1 - strategy.hidden_fraction)
    none = np.zeros_like(n)
    rate = np.where(kept >= 1, kept * b / iteration, np.nan)
    return rate, 1 / iteration, kept * b, none, none, none


def _slowest(n: Floats, backups: int) -> Floats:
    """E[K-th of N] in standard deviations over the mean, normal cycles."""
    small = jitter(1.0, 0.02)
    found = {}
    for count in np.unique(n):
        if backups and count > backups:
            found[count] = (kth_mean_s([(int(count), small)], int(count) - backups) - 1) / 0.02
        else:
            found[count] = skew_s(small, int(count)) / 0.02 if count > 1 else 0.0
    return np.array([found[count] for count in n])


def _server(strategy: Strategy, n: Floats, b: Floats, x: Floats, sx: Floats, y: Floats, sy: Floats) -> Moments:
    c = np.floor(n / strategy.groups) if isinstance(strategy, Softsync) else np.ones_like(n)
    with np.errstate(divide="ignore"):
        pushes = np.minimum(n / (x + y), 1 / y)
    pushes = np.where(c >= 1, pushes, np.nan)
    c = np.maximum(c, 1.0)
    # pushes of the others in a cycle: n − 1 counts that share the cycle's length
    spread = np.sqrt(np.maximum(n - 1, 0) * 2 * (sx / x) ** 2 + 1 / 6) / c
    return pushes * b, pushes / c, c * b, np.zeros_like(n), (n - 1) / c, spread


def quantile_of(mean: Floats, std: Floats, u: float) -> Floats:
    """A quantile of staleness by the normal distribution: enough to sort out what is far off."""
    from sprintprof.model.special import ndtri

    return mean + std * float(ndtri(np.array(u)))


def pareto(first: Floats, second: Floats) -> npt.NDArray[np.int64]:
    """Indices of what nothing beats in both (less is better), by `first`; NaN never is."""
    order = np.lexsort((second, first))
    best, front = math.inf, []
    for i in order:
        if second[i] < best and np.isfinite(first[i]):
            best = float(second[i])
            front.append(int(i))
    return np.array(front, np.int64)
