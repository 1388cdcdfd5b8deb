"""A prediction as plain data, with the keys of the contract."""

from __future__ import annotations

from typing import Any

from sprintprof.model.inputs import Resolved
from sprintprof.model.intervals import Interval, scaled_intervals, sprint_intervals
from sprintprof.model.isgd import Isgd
from sprintprof.model.setting import Setting
from sprintprof.model.strategies.base import Outcome


def report(
    setting: Setting,
    strategy: str,
    outcome: Outcome,
    terms: dict[str, Any],
    warnings: list[str],
    isgd: Isgd | None = None,
) -> dict[str, Any]:
    """Everything `predict` and `simulate` print. `*_s` are means of distributions, pmf values samples and versions."""
    factor = 1.0 if isgd is None else isgd.factor
    epoch_s = setting.dataset_size / outcome.samples_per_s * factor
    result = {
        "strategy": strategy,
        "method": outcome.method,
        "nodes": setting.nodes,
        "gpus_per_node": setting.gpus_per_node,
        "sub_batch": setting.sub_batch,
        "dataset_size": setting.dataset_size,
        "epoch_time_s": epoch_s,
        "gpu_cycle_s": setting.gpu_cycle.mean_s * setting.slowdown,
        "gpu_cycle_cv": setting.gpu_cycle.cv,
        "update_cycle_s": setting.update_cycle.mean_s,
        "update_cycle_cv": setting.update_cycle.cv,
        "throughput_samples_per_s": setting.dataset_size / epoch_s,
        "updates_per_epoch": epoch_s * outcome.updates_per_s,
        "scaling_efficiency": outcome.efficiency,
        "losses": outcome.losses,
        "minibatch": outcome.minibatch.report(),
        "staleness": outcome.staleness.report(),
        "terms": terms,
        "warnings": list(dict.fromkeys([*warnings, *outcome.warnings])),
    }
    if outcome.at_most_samples_per_s < float("inf"):
        result["throughput_at_most_samples_per_s"] = outcome.at_most_samples_per_s
    if isgd is not None:
        result["isgd"] = {"share": isgd.share, "stops": isgd.stops, "epoch_factor": factor}
    return result


def with_intervals(result: dict[str, Any], resolved: Resolved) -> dict[str, Any]:
    """The same report with {"value", "low", "high"} (90 %) in the place of what the coefficients make uncertain."""
    found = resolved.cycles
    if found is None:
        raise ValueError("without a profile nothing is known of the coefficients")
    intervals = sprint_intervals(resolved.setting, found)
    if result["strategy"] != "sprint":
        # what is lost to skew goes with the GPU cycle, like compute itself; the rest with the update cycle
        share = min(result["scaling_efficiency"] + result["losses"]["skew"], 1.0)
        epoch = scaled_intervals(found, result["epoch_time_s"], share)
        rate = Interval(result["dataset_size"] / epoch.high, result["dataset_size"] / epoch.low)
        intervals = {k: v for k, v in intervals.items() if k.endswith("cycle_s")}
        intervals |= {"epoch_time_s": epoch, "throughput_samples_per_s": rate}
    out = dict(result)
    for key, interval in intervals.items():
        if isinstance(out[key], dict):
            out[key] = {**out[key], "mean": _spread(out[key]["mean"], interval)}
        else:
            out[key] = _spread(out[key], interval)
    return out


def _spread(value: float, interval: Interval) -> dict[str, float]:
    return {"value": value, "low": interval.low, "high": interval.high}
