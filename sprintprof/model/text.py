"""A prediction as lines for a terminal: figures, terms, one bar chart for each distribution."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sprintprof.units import format_share, format_time

BLOCKS = " ▁▂▃▄▅▆▇█"
COLUMNS = 48


def spark(values: list[int], probabilities: list[float], columns: int = COLUMNS) -> str:
    """A bar of block characters over 99.8 % of the distribution, and the range it covers."""
    p, v = np.asarray(probabilities), np.asarray(values)
    cumulative = np.cumsum(p)
    kept = (cumulative >= 0.001) & (cumulative - p <= cumulative[-1] - 0.001)
    p, v = p[kept], v[kept]
    group = -(-len(p) // columns)
    bars = np.add.reduceat(p, np.arange(0, len(p), group))
    # the last group may be short: compare densities
    bars = bars / np.diff(np.append(np.arange(0, len(p), group), len(p)))
    heights = np.ceil(bars / bars.max() * (len(BLOCKS) - 1)).astype(int)
    return f"{v[0]} {''.join(BLOCKS[h] for h in heights)} {v[-1]}"


def lines_of(result: dict[str, Any]) -> Iterator[str]:
    """The lines of a prediction or simulation, in the order of importance."""
    gpus = result["nodes"] * result["gpus_per_node"]
    yield f"{result['strategy']} on {result['nodes']} × {result['gpus_per_node']} GPUs, sub-batch {result['sub_batch']}"
    yield f"  epoch ({result['dataset_size']} samples)  {_time(result['epoch_time_s'])}"
    rate = _value(result["throughput_samples_per_s"])
    efficiency = format_share(result["scaling_efficiency"])
    yield f"  throughput  {rate:.4g} samples/s, {rate / gpus:.4g} a GPU, scaling efficiency {efficiency}"
    losses = {cause: share for cause, share in result["losses"].items() if abs(share) >= 5e-4}
    if losses:
        yield "  lost to  " + ", ".join(f"{c.replace('_', ' ')} {format_share(s)}" for c, s in losses.items())
    for title, key in (("GPU cycle", "gpu_cycle"), ("update cycle", "update_cycle")):
        cv = format_share(result[f"{key}_cv"])
        yield f"  {title}  {_time(result[f'{key}_s'])}, cv {cv}" + _terms(result["terms"].get(key, {}))
    for title, key, unit in (("mini-batch", "minibatch", "samples"), ("staleness", "staleness", "versions")):
        yield from _distribution(title, result[key], unit)


def _value(given: Any) -> float:
    return float(given["value"] if isinstance(given, dict) else given)


def _time(given: Any) -> str:
    if not isinstance(given, dict):
        return format_time(given)
    return f"{format_time(given['value'])} ({format_time(given['low'], 3)} to {format_time(given['high'], 3)})"


def _terms(terms: dict[str, Any]) -> str:
    parts = [f"{name} {format_time(term['time_s'], 3)}" for name, term in terms.items() if name != "given"]
    return f"  = {' + '.join(parts)}" if parts else ""


def _distribution(title: str, report: dict[str, Any], unit: str) -> Iterator[str]:
    quantiles, mean = report["quantiles"], report["mean"]
    span = f" ({mean['low']:.4g} to {mean['high']:.4g})" if isinstance(mean, dict) else ""
    yield (
        f"  {title}  mean {_value(mean):.5g}{span}, std {report['std']:.4g} {unit}; "
        f"5 % {quantiles['0.05']}, median {quantiles['0.5']}, 95 % {quantiles['0.95']}"
    )
    if len(report["pmf"]["values"]) > 1:
        yield f"    {spark(report['pmf']['values'], report['pmf']['probabilities'])}"
