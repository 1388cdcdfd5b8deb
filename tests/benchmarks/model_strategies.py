"""Waiting strategies against published findings: two workers of unequal speed, DSSP's Table I, n-softsync, the server."""

from __future__ import annotations

import math
import sys

import numpy as np

from sprintprof.model.jitter import Constant, jitter
from sprintprof.model.server_costs import server_costs
from sprintprof.model.setting import Setting
from sprintprof.model.simulate.dssp import Lending
from sprintprof.model.simulate.rounds import simulate_barrier, simulate_rounds
from sprintprof.model.simulate.run import Plan, Run
from sprintprof.model.simulate.server import Bound, simulate_server
from sprintprof.model.strategies import Asp, Bsp, Dssp, Softsync, Ssp
from sprintprof.networks import load_network

TABLE_ONE = {"BSP": 6159, "ASP": 2993, "SSP 3": 5678, "SSP 6": 5704, "SSP 15": 5565, "DSSP": 3016}
"""Seconds to 67 %: ResNet-110 on one GTX1060 and one GTX1080Ti (Zhao et al. 2019)."""
PLAN = Plan(1500, 16, 1)


def figure(name: str, value: float, unit: str, goal: str, reached: bool) -> bool:
    print(f"FIGURE {name}: {value:.4g} {unit} (goal {goal}) {'PASS' if reached else 'FAIL'}")
    return reached


def rate(run: Run) -> float:
    return run.gradients / run.duration_s


def two_workers(ratio: float, cv: float) -> dict[str, float]:
    """Gradients a second by strategy."""
    setting = Setting(1, 2, 1, jitter(1.0, cv), Constant(0.0), slow_gpus=((1, ratio),))
    found = {
        "ASP": rate(simulate_server(setting, PLAN, Bound(math.inf), None)),
        "DSSP": rate(simulate_server(setting, PLAN, Lending(3, 15), None)),
        "DSSP capped": rate(simulate_server(setting, PLAN, Lending(3, 15, "capped"), None)),
        "BSP": rate(simulate_barrier(setting, PLAN, 2, np.zeros((PLAN.replicas, PLAN.updates)))),
    }
    return found | {f"SSP {s}": rate(simulate_rounds(setting, PLAN, s)) for s in (3, 6, 15)}


def unequal() -> bool:
    reached = []
    for ratio in (2.4, 3.1):
        for cv in (0.0, 0.005, 0.01):
            r = two_workers(ratio, cv)
            times = f"ratio {ratio}, cv {cv}"
            dssp, ssp, bsp = r["ASP"] / r["DSSP"], r["BSP"] / r["SSP 3"], r["ASP"] / r["BSP"]
            expected = (ratio + 1) / 2
            reached += [
                figure(f"DSSP/ASP, {times}", dssp, "", "≤ 1.05", dssp <= 1.05),
                figure(f"SSP/BSP, {times}", ssp, "", "0.95..1.05", 0.95 <= ssp <= 1.05),
                figure(f"BSP/ASP over (ratio + 1)/2, {times}", bsp / expected, "", "0.99..1.01", abs(bsp / expected - 1) <= 0.01),
            ]  # fmt: skip
        moved = {cv: round(r["ASP"] / r["DSSP"], 3) for cv in (0.02, 0.03, 0.05, 0.1) for r in [two_workers(ratio, cv)]}
        print(f"finding: DSSP/ASP at ratio {ratio} by cv: {moved}", file=sys.stderr)
    return all(reached)


def table_one() -> bool:
    """Times over ASP's. The paper's server takes time too: 5 % of the fast worker's cycle a push, BSP waits for both."""
    service = 0.05
    setting = Setting(
        1, 2, 1, jitter(1.0, 0.005), jitter(service, 0.02), slow_gpus=((1, 3.1),), barrier_s=2 * service
    )  # fmt: skip
    strategies = {"BSP": Bsp(), "ASP": Asp(), "SSP 3": Ssp(3), "SSP 6": Ssp(6), "SSP 15": Ssp(15), "DSSP": Dssp(3, 15)}
    rates = {name: rate(strategy.simulate(setting, PLAN)) for name, strategy in strategies.items()}
    times = {name: rates["ASP"] / r for name, r in rates.items()}
    known = {name: s / TABLE_ONE["ASP"] for name, s in TABLE_ONE.items()}
    worst = max(abs(times[name] / known[name] - 1) for name in TABLE_ONE)
    slowest_ssp, fastest_ssp = (pick(times[f"SSP {s}"] for s in (3, 6, 15)) for pick in (max, min))
    # ties to within the simulation's own spread
    order = times["ASP"] <= times["DSSP"] * 1.002 and times["DSSP"] < fastest_ssp and slowest_ssp < times["BSP"]
    shown = {name: (round(times[name], 3), round(known[name], 3)) for name in TABLE_ONE}
    print(f"times over ASP's, ours and published: {shown}", file=sys.stderr)
    return figure("Table I, worst ratio to ASP's time", 100 * worst, "%", "≤ 10, in order", worst <= 0.1 and order)


def softsync() -> bool:
    setting = Setting(30, 1, 4, jitter(1.0, 0.1), Constant(0.0))
    off, beyond = 0.0, 0.0
    for n in (1, 2, 3, 5, 6, 10, 15, 30):
        for found in (Softsync(n).predict(setting).staleness, Softsync(n).simulate(setting, Plan(3000, 8)).staleness):
            off = max(off, abs(found.mean / n - 1))
            beyond = max(beyond, float(found.probabilities[found.values > 2 * n].sum()))
    return all(
        [
            figure("n-softsync of 30, worst mean staleness over n", 100 * off, "%", "≤ 5", off <= 0.05),
            figure("n-softsync of 30, greatest P(S > 2n)", beyond, "1", "≤ 1e-3", beyond <= 1e-3),
        ]
    )


def server() -> bool:
    """Four equal workers, 10 Gbit/s, 10 GB/s of memory, 60 µs a tensor's request, evicted caches cost twice."""
    leads = {}
    for name, compute_s in (("alexnet", 0.35), ("resnet110", 0.12)):
        net = load_network(name)
        tensors = sum(len(layer.tensors) for layer in net.layers)
        costs = server_costs(4.0 * net.parameters, tensors, 1.25e9, 10e9, 60e-6, eviction=2.0)
        service, barrier = jitter(costs.service_s, 0.02), costs.barrier_s(4)
        setting = Setting(4, 1, 32, jitter(compute_s, 0.03), service, latency_s=costs.latency_s, barrier_s=barrier)
        found = {s.name: s.predict(setting).samples_per_s for s in (Asp(), Dssp(3, 15), Ssp(3), Bsp())}
        print(name, {k: round(v, 1) for k, v in found.items()}, file=sys.stderr)
        leads[name] = min(found["asp"], found["dssp"], found["ssp"]) / found["bsp"]
    turned = leads["alexnet"] > 1 > leads["resnet110"]
    return all(
        [
            figure("ASP, DSSP, SSP over BSP, heavy in parameters (AlexNet)", leads["alexnet"], "", "> 1", turned),
            figure("ASP, DSSP, SSP over BSP, heavy in compute (ResNet-110)", leads["resnet110"], "", "< 1", turned),
        ]
    )


def main() -> int:
    return 0 if all([unequal(), table_one(), softsync(), server()]) else 1


if __name__ == "__main__":
    sys.exit(main())
