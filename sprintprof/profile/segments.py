"""The switch map of a message fit as plain data: which cost term holds from which size and from how many ranks on."""

from __future__ import annotations

from typing import Literal

import msgspec

QUANTILES = ("0.05", "0.25", "0.5", "0.75", "0.95")
"""Of single operations, as a share of their median."""


class Segment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One cell of the switch map: `term` holds from `from_bytes` and `from_ranks` on, until the next cell begins.

    `last_bytes` is the greatest size that was measured in it. `first` and `count` name its coefficients. `kind` "sum"
    adds up coefficient · feature; "incast" has three: the first plus the greater of the other two. `falls`: a fall of
    the time where this cell begins was measured; without it the time never falls as the size grows. `low` ≤ 1 ≤
    `high` are the 90 % interval of a prediction inside what was measured, as factors; `quantiles` are of single
    operations over their median, by QUANTILES, empty where no samples were kept; `jitter_cv` is their coefficient of
    variation.
    """

    from_bytes: float
    from_ranks: float
    last_bytes: float
    term: str
    first: int
    count: int
    low: float
    high: float
    kind: Literal["sum", "incast"] = "sum"
    falls: bool = False
    quantiles: list[float] = []
    jitter_cv: float | None = None
