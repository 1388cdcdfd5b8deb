"""What if the machine were faster: a profile with scaled coefficients."""

from __future__ import annotations

import msgspec

from sprintprof.profile import Fit, Profile
from sprintprof.records import InputError

MATRIX_KERNELS = ("gemm", "conv_", "linear_", "attention_")
"""Kernels whose measured layers are taken as bound by arithmetic; the others by memory."""
MACHINE = ("network-bandwidth", "network-latency", "gpu-flops", "memory-bandwidth", "storage-bandwidth")
SHAPE = ("nodes", "gpus-per-node")


def parse_scale(texts: tuple[str, ...]) -> dict[str, float]:
    """`network-bandwidth=2 gpu-flops=1.5` → factors by name. Raises InputError on anything else."""
    found: dict[str, float] = {}
    for text in texts:
        name, _, value = text.partition("=")
        if name not in MACHINE + SHAPE:
            raise InputError("--scale", f"there is no '{name}'", f"choose {', '.join(MACHINE + SHAPE)}")
        try:
            factor = float(value)
        except ValueError:
            factor = 0.0
        if not 0 < factor < 1e9 or (name in SHAPE and factor != int(factor)):
            kind = "a whole number" if name in SHAPE else "a factor"
            raise InputError("--scale", f"'{text}' is not {name}=FACTOR", f"write {kind} above 0")
        found[name] = factor
    return found


def scaled_profile(profile: Profile, factors: dict[str, float]) -> Profile:
    """The profile of a machine that is faster by `factors`: coefficients of the features they act on are divided.

    network-bandwidth acts on features with size_bytes, network-latency multiplies the others of messages. gpu-flops
    acts on `flop`, memory-bandwidth on `bytes`; a measured layer, which knows neither, is scaled whole: matrix kernels
    by gpu-flops, the others by memory-bandwidth. storage-bandwidth acts on storage_read.
    """
    if not any(name in MACHINE for name in factors):
        return profile
    fits = [_scaled(fit, factors) for fit in profile.fits]
    text = "what if: " + ", ".join(f"{k} × {v:g}" for k, v in factors.items() if k in MACHINE)
    return msgspec.structs.replace(profile, fits=fits, warnings=[*profile.warnings, text])


def _scaled(fit: Fit, factors: dict[str, float]) -> Fit:
    by = [_divisor(fit, feature, factors) for feature in fit.features]
    covariance = [
        [c / (a * b) for c, b in zip(row, by, strict=True)] for row, a in zip(fit.covariance, by, strict=True)
    ]
    coefficients = [c / d for c, d in zip(fit.coefficients, by, strict=True)]
    ranges = {k: v for k, v in fit.range.items() if k != "time_s"}
    return msgspec.structs.replace(fit, coefficients=coefficients, covariance=covariance, range=ranges)


def _divisor(fit: Fit, feature: str, factors: dict[str, float]) -> float:
    if fit.benchmark == "storage_read":
        return factors.get("storage-bandwidth", 1.0)
    if fit.level == "message":
        if "size_bytes" in feature:
            return factors.get("network-bandwidth", 1.0)
        return 1 / factors.get("network-latency", 1.0)
    compute, memory = factors.get("gpu-flops", 1.0), factors.get("memory-bandwidth", 1.0)
    if fit.level == "layer":
        return compute if fit.benchmark.startswith(MATRIX_KERNELS) else memory
    return {"flop": compute, "bytes": memory}.get(feature, 1.0)
