"""The machine profile as plain data: what the JSON file holds.

Every coefficient set says its family, features, validity range, error by cross-validation, covariance and the hash
of the data behind it. No pickles: a profile is evaluated by `sprintprof.profile.families` alone.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from sprintprof.profile.correction import Correction
from sprintprof.profile.segments import Segment
from sprintprof.records import Value

SCHEMA = "sprintprof-profile"
VERSION = 1
HISTORY: dict[int, str] = {1: "first version"}

Level = Literal["layer", "generic", "message"]


class FitError(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Relative error |predicted/measured − 1| on points that were left out of the fit, as fractions.

    `method` names the cross-validation; "in-sample" says that there were too few points to leave any out.
    `worst_point` names the point of the worst error. `bias` is (sum of predicted)/(sum of measured) − 1.
    """

    median: float
    p90: float
    worst: float
    method: str
    points: int
    worst_point: str = ""
    bias: float = 0.0


class Spread(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The 90 % interval of a prediction, from the errors of left-out points: time·low .. time·high.

    `low` ≤ 1 ≤ `high` are factors; for few points they are widened by Student's t.
    """

    low: float
    high: float


class Fit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One coefficient set.

    `level` "layer": T over the benchmark's scale axis with all other parameters fixed (`fixed`). "generic": T of any
    parameters of the benchmark (`fixed` holds e.g. precision). "message": T over size_bytes (and ranks).
    `scale` is the scale axis of a layer fit. `coefficients` belong to `features` (of the family) one by one, in s per
    feature unit; `covariance` is theirs, with rows of zeros for coefficients held at 0 (and empty where it means
    nothing). `range` is what was measured: name → (least, greatest) of every numeric parameter, of flop and bytes,
    "ranks" included; `time_s` is the measured times' range. `jitter_cv` is the coefficient of variation of one call,
    from the samples (robust); null where no samples were kept. `data_sha256` is over the points behind it. `shapes`
    are the measured parameter sets of a generic fit, one row a shape under the names in `shape_axes`, to name the
    nearest one. `correction` multiplies what family and coefficients give.
    `segments` is the switch map of a message fit.
    """

    benchmark: str
    engine: str
    level: Level
    fixed: dict[str, Value]
    family: str
    features: list[str]
    coefficients: list[float]
    covariance: list[list[float]]
    range: dict[str, tuple[float, float]]
    error: FitError
    jitter_cv: float | None
    points: int
    data_sha256: str
    scale: str = ""
    spread: Spread = Spread(1.0, 1.0)
    condition_number: float = 1.0
    shape_axes: list[str] = []
    shapes: list[list[float]] = []
    correction: Correction | None = None
    segments: list[Segment] = []
    warnings: list[str] = []


class Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A results file behind a profile. `points_left_out` counts points by why they were not used."""

    file: str
    run_id: str
    sha256: str
    points_used: int
    points_left_out: dict[str, int]


class Quality(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How well the fits of one level and benchmark ("*": all of the level) predict points that were left out."""

    level: Level
    benchmark: str
    engine: str
    fits: int
    error: FitError


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A machine's coefficients. `facts` are plain machine facts (CPU, device, clocks, MPI, ranks per node …).

    `checksum` is the SHA-256 of the content (see `sprintprof.profile.files`); "unchecked" marks a profile that was
    edited by hand.
    """

    machine: str
    created_utc: str
    tool_version: str
    facts: dict[str, Any]
    sources: list[Source]
    fits: list[Fit]
    warnings: list[str]
    quality: list[Quality] = []
    checksum: str = ""
    schema: str = SCHEMA
    version: int = VERSION
