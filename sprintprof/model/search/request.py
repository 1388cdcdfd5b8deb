"""What the command line asks of a search, parsed."""

from __future__ import annotations

from sprintprof.model.inputs import Request
from sprintprof.model.search.choose import OBJECTIVES, Goal
from sprintprof.model.whatif import SHAPE, parse_scale, scaled_profile
from sprintprof.profile import Estimator, load_profile
from sprintprof.records import InputError


def opened(profiles: list[str], base: Request) -> list[tuple[str, Estimator]]:
    """(machine, estimator) of every profile, scaled as asked; equal machine names get the file's name."""
    if base.network is None:
        raise InputError("--network", "is missing", "name one (sprintprof networks list) or a TOML file")
    factors = parse_scale(base.scale)
    if any(name in SHAPE for name in factors):
        raise InputError("--scale", "nodes and gpus-per-node are searched", "give them as --nodes and --gpus-per-node")
    found: list[tuple[str, Estimator]] = []
    for path in profiles:
        profile = scaled_profile(load_profile(path), factors)
        name = profile.machine if profile.machine not in [n for n, _ in found] else path
        found.append((name, Estimator(profile, base.engine)))
    return found


def parse_goal(text: str, gpu_power_W: float | None, estimators: list[Estimator]) -> Goal:
    """`epoch-time`, `gpu-hours`, `updates:100000` or `energy`. Raises InputError."""
    name, _, number = text.partition(":")
    if name not in OBJECTIVES or (number and name != "updates"):
        raise InputError("--objective", f"there is no '{text}'", f"choose {', '.join(OBJECTIVES)} (updates:NUMBER)")
    try:
        updates = float(number or 1e5)
    except ValueError:
        updates = 0.0
    if updates <= 0:
        raise InputError("--objective", f"'{text}' is not updates:NUMBER", "write e.g. updates:100000")
    if name == "energy" and gpu_power_W is None:
        known = [e.profile.facts.get("gpu_power_W") for e in estimators]
        if len(estimators) != 1 or not isinstance(known[0], (int, float)):
            raise InputError("--objective", "energy needs the power of a GPU", "give --gpu-power W")
        gpu_power_W = float(known[0])
    if gpu_power_W is not None and not gpu_power_W > 0:
        raise InputError("--gpu-power", f"{gpu_power_W:g} W is not possible", "give a power above 0")
    return Goal(name, updates, gpu_power_W)


def parse_place(text: str) -> tuple[int, int, int]:
    """`NODES,GPUS,SUBBATCH` → numbers. Raises InputError."""
    parts = text.split(",")
    if len(parts) != 3 or not all(p.strip().isdigit() and int(p) > 0 for p in parts):
        raise InputError("--current", f"'{text}' is not NODES,GPUS,SUBBATCH", "write e.g. 4,4,16")
    nodes, gpus, batch = (int(p) for p in parts)
    return nodes, gpus, batch
