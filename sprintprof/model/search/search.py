"""The search itself: a grid over all machines, the finalists by their own distributions, a report."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sprintprof.model.exchange import family_of
from sprintprof.model.inputs import Request, Resolved, from_estimator, workload
from sprintprof.model.intervals import cycle_draws
from sprintprof.model.memory import training_bytes
from sprintprof.model.search.choose import Goal, keep_current, near_best, surely_better
from sprintprof.model.search.grid import Grid, grid_of, joined, pareto
from sprintprof.model.search.limits import Flags, Limits, broken_limits
from sprintprof.model.search.space import Space
from sprintprof.model.search.times import grid_times
from sprintprof.model.special import Floats
from sprintprof.model.strategies import Outcome, Strategy
from sprintprof.profile import Estimator

Ints = npt.NDArray[np.int64]
FINALISTS = 6
"""Configurations whose distributions are predicted."""
TRIED = 40
"""So many are tried where their own distributions break a limit that their moments met."""
SHOWN_FRONT = 30


@dataclass(frozen=True)
class Candidate:
    """A configuration that was looked at closely."""

    machine: str
    strategy: str
    resolved: Resolved
    outcome: Outcome
    objective: float


@dataclass(frozen=True)
class Found:
    """All of a search: the grid with what is allowed, the finalists best first, the Pareto front (indices)."""

    grid: Grid
    allowed: Flags
    ruled_out: dict[str, int]
    finalists: list[Candidate]
    front: Ints
    sure: float
    warnings: list[str]


def search(machines: list[tuple[str, Estimator]], base: Request, space: Space, limits: Limits, goal: Goal) -> Found:
    """Look at every configuration of `space` on every machine (name, estimator) for the workload of `base`."""
    work = workload(base)
    axes = (space.nodes, space.gpus_per_node, space.sub_batch)
    warnings: dict[str, None] = {}
    parts = []
    for m, (name, estimator) in enumerate(machines):
        for family in dict.fromkeys(family_of(s.name) for s in space.strategies):
            times = grid_times(family, estimator, work, axes, base.fusion_bytes, base.interference)
            warnings |= dict.fromkeys(f"{name}: {w}" for w in times.warnings)
            parts += [
                grid_of(m, k, strategy, space, times, base.dataset_size)
                for k, strategy in enumerate(space.strategies)
                if family_of(strategy.name) == family
            ]
    grid = joined(parts)
    needed = {b: float(training_bytes(work.network, b, work.precision)) for b in space.sub_batch}
    memory = np.array([needed[b] for b in grid.sub_batch.tolist()])
    broken = broken_limits(grid, limits, memory)
    allowed = ~np.any(list(broken.values()), axis=0)
    objective = goal.of(grid)
    order = np.flatnonzero(allowed)[np.argsort(objective[allowed], kind="stable")]
    finalists = _finalists(order, grid, machines, base, space, limits, goal)
    inside = np.flatnonzero(allowed)
    front = inside[pareto(grid.values["epoch_time_s"][inside], grid.values["gpu_hours"][inside])]
    sure = _sure(finalists, goal) if len(finalists) > 1 else 1.0
    ruled_out = {name: int(flags.sum()) for name, flags in broken.items() if flags.any()}
    return Found(grid, allowed, ruled_out, finalists, front, sure, list(warnings))


def _finalists(
    order: Ints,
    grid: Grid,
    machines: list[tuple[str, Estimator]],
    base: Request,
    space: Space,
    limits: Limits,
    goal: Goal,
) -> list[Candidate]:
    """The first of every strategy and machine and the next best, by their own predictions; best first."""
    kinds = grid.machine[order] * len(space.strategies) + grid.strategy[order]
    _, firsts = np.unique(kinds, return_index=True)
    wanted = dict.fromkeys([*order[np.sort(firsts)][:FINALISTS].tolist(), *order[:TRIED].tolist()])
    found: list[Candidate] = []
    for index in list(wanted)[:TRIED]:
        candidate = candidate_at(index, grid, machines, base, space, goal)
        if limits.staleness_quantile is not None:
            u, most = limits.staleness_quantile
            if candidate.outcome.staleness.quantile(u) > most:
                continue
        found.append(candidate)
        if len(found) >= FINALISTS:
            break
    return sorted(found, key=lambda c: c.objective)


def candidate_at(
    index: int, grid: Grid, machines: list[tuple[str, Estimator]], base: Request, space: Space, goal: Goal
) -> Candidate:
    """One configuration of the grid, predicted in full."""
    place = (int(grid.nodes[index]), int(grid.gpus_per_node[index]), int(grid.sub_batch[index]))
    strategy = space.strategies[int(grid.strategy[index])]
    return _predicted(place, machines[int(grid.machine[index])], strategy, base, goal)


def candidate_for(
    place: tuple[int, int, int], machines: list[tuple[str, Estimator]], base: Request, space: Space, goal: Goal
) -> Candidate:
    """What runs now: (nodes, GPUs per node, sub-batch) on the first machine with the first strategy."""
    return _predicted(place, machines[0], space.strategies[0], base, goal)


def _predicted(
    place: tuple[int, int, int], machine: tuple[str, Estimator], strategy: Strategy, base: Request, goal: Goal
) -> Candidate:
    nodes, gpus, batch = place
    request = replace(base, strategy=strategy.name, nodes=nodes, gpus_per_node=gpus, sub_batch=batch)
    resolved = from_estimator(request, machine[1])
    outcome = strategy.predict(resolved.setting)
    objective = float(goal.of(_as_grid(resolved, outcome))[0])
    return Candidate(machine[0], strategy.name, resolved, outcome, objective)


def _as_grid(resolved: Resolved, outcome: Outcome) -> Grid:
    """One outcome as a grid of length 1, to take the goal from."""
    setting = resolved.setting
    epoch_s = setting.dataset_size / outcome.samples_per_s
    values = {
        "epoch_time_s": epoch_s,
        "gpu_hours": epoch_s * setting.gpus / 3600,
        "updates_per_s": outcome.updates_per_s,
    }
    one = np.zeros(1, np.int64)
    return Grid(one, one, one, one, one, {k: np.array([v]) for k, v in values.items()})


def _sure(finalists: list[Candidate], goal: Goal) -> float:
    """Probability that the best stays ahead of the runner-up under the coefficients' uncertainty.

    A term errs alike in both on one machine, independently on two.
    """
    best, second = finalists[:2]
    return surely_better(_draws(best, goal, 0), _draws(second, goal, 0 if best.machine == second.machine else 1))


def _draws(candidate: Candidate, goal: Goal, seed: int) -> Floats:
    """The objective with drawn coefficients: compute and skew go with T_g, the rest with T_u."""
    found = candidate.resolved.cycles
    assert found is not None
    gpu, update = cycle_draws(found, seed=seed)
    by_gpu = gpu / found.gpu_cycle_s
    by_update = update / found.update_cycle_s if found.update_cycle_s > 0 else np.ones_like(gpu)
    if candidate.strategy == "sprint":
        factor = by_update if goal.objective == "updates" else by_gpu
    else:
        share = min(candidate.outcome.efficiency + candidate.outcome.losses["skew"], 1.0)
        factor = share * by_gpu + (1 - share) * by_update
    return np.asarray(candidate.objective * factor, np.float64)


def described(candidate: Candidate) -> dict[str, Any]:
    """A candidate as plain data."""
    setting, outcome = candidate.resolved.setting, candidate.outcome
    return {
        "machine": candidate.machine,
        "strategy": candidate.strategy,
        "nodes": setting.nodes,
        "gpus_per_node": setting.gpus_per_node,
        "sub_batch": setting.sub_batch,
        "objective": candidate.objective,
        "epoch_time_s": setting.dataset_size / outcome.samples_per_s,
        "gpu_hours": setting.dataset_size / outcome.samples_per_s * setting.gpus / 3600,
        "throughput_samples_per_s": outcome.samples_per_s,
        "scaling_efficiency": outcome.efficiency,
        "minibatch": outcome.minibatch.report(),
        "staleness": outcome.staleness.report(),
    }


def report(found: Found, space: Space, machines: list[str], current: Candidate | None) -> dict[str, Any]:
    """Best, runner-up, Pareto front, certainty and what was ruled out, as plain data."""
    grid = found.grid
    stay = bool(found.finalists) and keep_current(current.objective if current else None, found.finalists[0].objective)
    near = near_best(np.array([c.objective for c in found.finalists]), range(len(found.finalists)))
    rows = [
        {
            "machine": machines[int(grid.machine[i])],
            "strategy": space.strategies[int(grid.strategy[i])].name,
            **{k: int(getattr(grid, k)[i]) for k in ("nodes", "gpus_per_node", "sub_batch")},
            **{k: float(grid.values[k][i]) for k in ("epoch_time_s", "gpu_hours", "minibatch_mean", "staleness_mean")},
        }
        for i in found.front[:SHOWN_FRONT]
    ]
    choice = current if stay else found.finalists[0] if found.finalists else None
    return {
        "configurations": len(grid),
        "allowed": int(found.allowed.sum()),
        "ruled_out": found.ruled_out,
        "choice": described(choice) if choice else None,
        "kept_current": stay,
        "best": described(found.finalists[0]) if found.finalists else None,
        "runner_up": described(found.finalists[1]) if len(found.finalists) > 1 else None,
        "order_is_sure": found.sure,
        "within_5_percent": max(len(near) - 1, 0),
        "pareto": rows,
        "warnings": found.warnings,
    }
