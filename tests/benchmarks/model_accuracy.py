"""Mini-batch and staleness of `predict` against reference values and against ensembles of the own simulation."""

from __future__ import annotations

import math
import sys

import numpy as np

from sprintprof.model.discrete import Discrete
from sprintprof.model.jitter import jitter
from sprintprof.model.setting import Setting
from sprintprof.model.simulate.run import Plan
from sprintprof.model.simulate.sprint import simulate_sprint
from sprintprof.model.sprint import SprintDistributions, distributions

REFERENCE = [
    # N, b, T_u, cv T_g, cv T_u, E[B], Var(B)/b², E[S]: long runs of an independent event simulation
    (24, 8, 0.37, 0.03, 0.03, 71.04, 5.67, 3.703),
    (24, 8, 0.37, 0.10, 0.20, 71.04, 8.61, 3.703),
    (96, 4, 0.11, 0.03, 0.10, 42.24, 10.6, 10.091),
    (48, 16, 1.60, 0.03, 0.10, 1228.8, 69.2, 1.625),
    (256, 1, 0.05, 0.05, 0.30, 12.80, 26.8, 21.00),
]
SETTINGS = 200
LEAST_REPLICAS, MOST_REPLICAS = 2500, 6000
GRADIENTS = 2e6
"""Gradients simulated for one setting, about."""
COUNTED = 1e5
"""Gradients inside measured windows, at least: the mean of B has then a standard error of at most 0.3 %."""


def figure(name: str, value: float, unit: str, goal: str, reached: bool) -> bool:
    print(f"FIGURE {name}: {value:.4g} {unit} (goal {goal}) {'PASS' if reached else 'FAIL'}")
    return reached


def references() -> bool:
    means, variances = [], []
    for n, b, update, cv_g, cv_u, batch, variance, stale in REFERENCE:
        found = distributions([(n, jitter(1.0, cv_g))], jitter(update, cv_u), b)
        means += [abs(found.minibatch.mean / batch - 1), abs(found.staleness.mean / stale - 1)]
        variances.append(abs((found.minibatch.std / b) ** 2 / variance - 1))
    first = distributions([(24, jitter(1.0, 0.03))], jitter(0.37, 0.03), 8).staleness
    known = Discrete.of(3, np.array([0.297, 0.703]))
    return all(
        [
            figure("reference rows, worst E[B] and E[S]", 100 * max(means), "%", "≤ 0.5", max(means) <= 0.005),
            figure("reference rows, worst Var(B)", 100 * max(variances), "%", "≤ 4", max(variances) <= 0.04),
            figure("reference staleness, total variation", first.distance(known), "1", "≤ 0.03", first.distance(known) <= 0.03),
        ]
    )  # fmt: skip


def ensemble(setting: Setting, seed: int) -> SprintDistributions:
    """At least one GPU cycle and three windows in each of many restarts with fresh phases."""
    rho = setting.update_cycle.mean_s / setting.gpu_cycle.mean_s
    updates = math.ceil(min(max(3, 0.5 / rho, COUNTED / (LEAST_REPLICAS * setting.gpus * rho)), 400))
    each = setting.gpus * (updates * rho + 1.5 + 3 * rho)
    replicas = int(min(max(GRADIENTS / each, LEAST_REPLICAS), MOST_REPLICAS))
    run = simulate_sprint(setting, Plan(updates, replicas, seed))
    return SprintDistributions(run.minibatch, run.staleness)


def random_settings() -> bool:
    rng = np.random.default_rng(2018)
    worst = {"E": 0.0, "Var": 0.0, "TV": 0.0}
    missed = 0
    for number in range(SETTINGS):
        n = round(math.exp(rng.uniform(math.log(2), math.log(512))))
        rho = math.exp(rng.uniform(math.log(0.02), math.log(5)))
        cv_g, cv_u = np.exp(rng.uniform(math.log(0.005), math.log(0.3), 2))
        setting = Setting(1, n, 4, jitter(1.0, float(cv_g)), jitter(rho, float(cv_u)))
        known = distributions(setting.groups, setting.update_cycle, 4)
        seen = ensemble(setting, number)
        errors = {
            "E": max(
                abs(seen.minibatch.mean / known.minibatch.mean - 1), abs(seen.staleness.mean / known.staleness.mean - 1)
            ),
            "Var": abs(seen.minibatch.std**2 / known.minibatch.std**2 - 1),
            "TV": seen.staleness.distance(known.staleness),
        }
        wrong = errors["E"] > 0.01 or errors["Var"] > 0.1 or errors["TV"] > 0.05
        if wrong:
            print(f"N={n} rho={rho:.4f} cv={cv_g:.4f},{cv_u:.4f}: {errors}", file=sys.stderr)
        missed += wrong
        worst = {k: max(worst[k], v) for k, v in errors.items()}
    return all(
        [
            figure("random settings, worst E[B] and E[S]", 100 * worst["E"], "%", "≤ 1", worst["E"] <= 0.01),
            figure("random settings, worst Var(B)", 100 * worst["Var"], "%", "≤ 10", worst["Var"] <= 0.1),
            figure("random settings, worst total variation of S", worst["TV"], "1", "≤ 0.05", worst["TV"] <= 0.05),
            figure("random settings outside a bound", missed, f"of {SETTINGS}", "0", missed == 0),
        ]
    )


def main() -> int:
    return 0 if all([references(), random_settings()]) else 1


if __name__ == "__main__":
    sys.exit(main())
