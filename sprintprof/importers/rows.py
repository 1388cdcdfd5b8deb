"""What an importer yields: rows, each of a table, and the lines that look like rows and could not be read."""

from __future__ import annotations

import msgspec

from sprintprof.importers.scene import Scene
from sprintprof.records import Value
from sprintprof.records.measurement import Status

NOT_IN_LOG = "missing(not in log)"


class Table(msgspec.Struct, eq=False):
    """What the rows of one table have in common.

    `benchmark`, `engine` and `parameters` are those of the points (parameters that are not given are the
    benchmark's usual ones). `ranks` None: the scene or the user must say. `facts` go into every record: `tool`,
    versions, iterations, `statistic` (what the time is: mean, best …). `whole` tables print the size of all ranks'
    blocks together where the benchmark's axis is one rank's block. `spread` says how far a rounded value may be off.
    """

    benchmark: str
    tool: str
    engine: str = "numpy"
    parameters: dict[str, Value] = {}
    ranks: int | None = None
    facts: dict[str, Value] = {}
    statistic: str = "mean"
    whole: bool = False
    scene: Scene = msgspec.field(default_factory=Scene)


class Row(msgspec.Struct, eq=False, gc=False):
    """One result. `line` is that of the log, `time_s` the time of one operation in s, or NaN where `status` is not ok.

    `size_bytes` as printed, None where the benchmark has no size. `rounding` is how far the time may be off because
    the log prints few digits, as a fraction. `suspicious` says why the value cannot be right as it stands.
    """

    table: Table
    line: int
    size_bytes: int | None
    time_s: float
    extra: dict[str, Value] | None = None
    parameters: dict[str, Value] | None = None
    rounding: float = 0.0
    status: Status = "ok"
    reason: str = ""
    suspicious: str = ""
    min_s: float = float("nan")
    repeated: bool = False
    """A second result of a line that counts already, such as nccl-tests' in-place half."""


class Trouble(msgspec.Struct):
    """A line that looks like a row and could not be read, or a table that is not whole."""

    line: int
    text: str
    why: str
