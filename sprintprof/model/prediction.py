"""A prediction as plain data, with the keys of the contract."""

from __future__ import annotations

from typing import Any

from sprintprof.model.setting import Setting
from sprintprof.model.strategies.base import Outcome


def report(
    setting: Setting, strategy: str, outcome: Outcome, terms: dict[str, Any], warnings: list[str]
) -> dict[str, Any]:
    """Everything `predict` and `simulate` print. `*_s` are means of distributions, pmf values samples and versions."""
    epoch_s = setting.dataset_size / outcome.samples_per_s
    return {
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
        "throughput_samples_per_s": outcome.samples_per_s,
        "updates_per_epoch": epoch_s * outcome.updates_per_s,
        "scaling_efficiency": outcome.efficiency,
        "losses": outcome.losses,
        "minibatch": outcome.minibatch.report(),
        "staleness": outcome.staleness.report(),
        "terms": terms,
        "warnings": list(dict.fromkeys([*warnings, *outcome.warnings])),
    }
