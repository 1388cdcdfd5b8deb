"""ISGD as a cost: batches whose loss is over the control limit are trained again (Wang et al. 2016)."""

from __future__ import annotations

from dataclasses import dataclass

from sprintprof.records import InputError


@dataclass(frozen=True)
class Isgd:
    """`share` of the batches is trained again `stops` times on average (at most m, the early stop of the paper).

    For normally distributed losses the share over mean + 3σ is 0.00135. Each repetition costs one iteration.
    """

    share: float = 0.00135
    stops: float = 5.0

    @property
    def factor(self) -> float:
        """How much longer an epoch takes."""
        return 1 + self.share * self.stops


def parse_isgd(text: str) -> Isgd:
    """`SHARE:STOPS`, e.g. 0.00135:5. Raises InputError."""
    share, _, stops = text.partition(":")
    try:
        found = Isgd(float(share), float(stops or 5.0))
    except ValueError:
        found = Isgd(-1.0)
    if not (0 <= found.share <= 1 and 0 <= found.stops < 1e6):
        raise InputError("--isgd", f"'{text}' is not SHARE:STOPS", "write e.g. 0.00135:5")
    return found


def iteration_time_s(batch: float, samples_per_s: float, synchronisation_s: float) -> float:
    """b/C1 + C2: compute of a batch at C1 samples/s and the synchronisation C2 of one iteration (s)."""
    return batch / samples_per_s + synchronisation_s
