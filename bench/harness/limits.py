"""Physical limits of a machine, and which of them a measurement exceeds."""

from __future__ import annotations

import math

import msgspec


class Limits(msgspec.Struct, frozen=True):
    """Peaks of the device and the links in use; None where unknown, and then nothing is judged by it.

    `flops` is FLOP/s by precision, bandwidths are B/s in one direction, `clock_Hz` is the nominal clock. `tolerance`
    is how far above a limit a rate may be before it counts (a timer's error).
    """

    flops: dict[str, float] = {}
    memory_Bps: float | None = None  # noqa: N815  (the unit is spelled as it is)
    link_Bps: float | None = None  # noqa: N815  (the unit is spelled as it is)
    network_Bps: float | None = None  # noqa: N815  (the unit is spelled as it is)
    clock_Hz: float | None = None  # noqa: N815  (the unit is spelled as it is)
    tolerance: float = 0.01

    def bandwidth_Bps(self, path: str) -> float | None:  # noqa: N802  (likewise)
        """The limit of a path: `memory`, `link` (host to device) or `network`; None for any other."""
        return {"memory": self.memory_Bps, "link": self.link_Bps, "network": self.network_Bps}.get(path)


class PeakShare(msgspec.Struct, frozen=True):
    """The greatest share of a limit that a rate reaches: NaN and "" where no limit applies."""

    share: float = math.nan
    limit: str = ""


def peak_share(
    limits: Limits | None, *, flop: float, bytes: float, precision: str, path: str, time_s: float
) -> PeakShare:
    """Share of the limit that binds most, for `flop` and `bytes` done in `time_s`. 1.0 is the limit."""
    if limits is None or not time_s > 0:
        return PeakShare()
    candidates = [
        (flop, limits.flops.get(precision), f"flops {precision}"),
        (bytes, limits.bandwidth_Bps(path), f"{path} bandwidth"),
    ]
    shares = [PeakShare(done / time_s / peak, name) for done, peak, name in candidates if peak and done > 0]
    return max(shares, key=lambda found: found.share, default=PeakShare())
