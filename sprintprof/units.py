"""Units: SI inside, scaled only where text is read or printed.

Sizes use K, M, G as powers of 1024 (`4M` = 4 MiB); rates are decimal (GB/s = 1e9 B/s).
"""

from __future__ import annotations

import math
import re

from sprintprof.records.errors import InputError

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)
_SIZE_FACTOR = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)(ns|us|µs|ms|s|min|m|h|d)")
_DURATION_FACTOR = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
_DURATION_FACTOR |= {"m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


def parse_size_bytes(text: str, where: str = "size") -> int:
    """`4M` or `4MiB` → 4194304 bytes. Raises InputError on anything else and on fractions of a byte."""
    match = _SIZE.fullmatch(text.strip())
    size = float(match[1]) * _SIZE_FACTOR[match[2].upper()] if match else math.nan
    if not match or size != int(size):
        raise InputError(where, f"'{text}' is not a size", "write bytes or K, M, G (powers of 1024), e.g. 64K")
    return int(size)


def parse_duration_s(text: str, where: str = "duration") -> float:
    """`90`, `90s`, `10m`, `1h30m`, `250us` → seconds. Raises InputError on anything else."""
    stripped = text.strip()
    try:
        value = float(stripped)
    except ValueError:
        parts = list(_DURATION_PART.finditer(stripped))
        if not parts or "".join(p[0] for p in parts) != stripped:
            raise InputError(where, f"'{text}' is not a duration", "write seconds or e.g. 10m, 1h30m, 250us") from None
        value = sum(float(p[1]) * _DURATION_FACTOR[p[2]] for p in parts)
    if not math.isfinite(value) or value < 0:
        raise InputError(where, f"'{text}' is not a duration", "write a number of seconds ≥ 0")
    return value


def _scaled(value: float, steps: list[tuple[float, str]], digits: int) -> str:
    if not math.isfinite(value):
        return "–"
    factor, unit = next(((f, u) for f, u in steps if abs(value) >= f * 0.99995), steps[-1])
    number = f"{value / factor:.{digits}g}"
    return f"{float(number):.0f} {unit}" if "e" in number else f"{number} {unit}"


def format_time(seconds: float, digits: int = 4) -> str:
    """Seconds with the unit that fits: `12.3 µs`, `4.5 ms`, `2.1 h`; `–` for NaN."""
    if seconds == 0:
        return "0 s"
    steps = [(86400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")]
    return _scaled(seconds, steps, digits)


def format_size(size_bytes: float) -> str:
    """Bytes in powers of 1024: `64 KiB`, `1.5 MiB`."""
    if not math.isfinite(size_bytes):
        return "–"
    steps = [(float(1 << 40), "TiB"), (float(1 << 30), "GiB"), (float(1 << 20), "MiB"), (1024.0, "KiB"), (1.0, "B")]
    return _scaled(size_bytes, steps, 4) if size_bytes else "0 B"


def format_rate_Bps(rate_Bps: float) -> str:  # noqa: N802  (the unit is spelled as it is)
    """Bytes per second, decimal: `12.3 GB/s`."""
    return _scaled(rate_Bps, [(1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s")], 4)


def format_flops(rate_FLOPps: float) -> str:
    """FLOP per second, decimal: `1.2 TFLOP/s`."""
    steps = [(1e15, "PFLOP/s"), (1e12, "TFLOP/s"), (1e9, "GFLOP/s"), (1e6, "MFLOP/s"), (1.0, "FLOP/s")]
    return _scaled(rate_FLOPps, steps, 4)


def format_share(fraction: float, digits: int = 1) -> str:
    """A fraction as percent: 0.873 → `87.3 %`; `–` for NaN."""
    return "–" if not math.isfinite(fraction) else f"{100 * fraction:.{digits}f} %"
