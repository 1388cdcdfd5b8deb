"""Execute a plan on the ranks there are. Rank 0 leads, writes and decides; the others follow or sleep."""

from __future__ import annotations

import shutil
import tempfile
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import msgspec

from sprintprof import __version__
from sprintprof.bench.case import Case, Skip, Work
from sprintprof.bench.engines.base import Engine
from sprintprof.bench.engines.select import get_engine
from sprintprof.bench.harness.agreement import as_measurement, outcome
from sprintprof.bench.harness.clock import RunClock
from sprintprof.bench.harness.limits import Limits
from sprintprof.bench.harness.measure import close, measure_point
from sprintprof.bench.harness.order import random_order
from sprintprof.bench.harness.parallel import measure_parallel
from sprintprof.bench.harness.settings import HarnessSettings
from sprintprof.bench.harness.summary import failed, skipped
from sprintprof.bench.registry import get_benchmark
from sprintprof.bench.run.energy import with_energy
from sprintprof.bench.run.plan import expected_time_s
from sprintprof.bench.run.progress import Progress
from sprintprof.bench.run.stop import StopRequest, catch_signals
from sprintprof.bench.world.finish import guard
from sprintprof.bench.world.idle import idle_until, wake
from sprintprof.bench.world.world import World
from sprintprof.environment.collect import collect, to_plain
from sprintprof.environment.telemetry import Telemetry, open_telemetry
from sprintprof.records import Measurement, Point, RunHeader
from sprintprof.store import RunWriter, gather_environments, open_run

NO_WORLD = "no MPI world"


class RunRequest(msgspec.Struct, frozen=True):
    """Everything a run needs to know; the same on all ranks.

    `launch` is the launch number whose points this process measures. `time_limit_s` stops the run between points.
    `threads` limits the BLAS of the CPU engine; the environment records what it then uses. `energy` adds to each serial
    point a window for the energy sensors.
    `settings_record` is what the results file says of the settings, suite and selection included.
    """

    output: Path
    plan: list[Point]
    settings: HarnessSettings
    machine: str
    run_id: str
    created_utc: str
    command: list[str]
    settings_record: dict[str, Any]
    resume: bool = False
    launch: int = 0
    scratch: Path | None = None
    time_limit_s: float | None = None
    limits: Limits | None = None
    threads: int | None = None
    energy: bool = False


class Outcome(msgspec.Struct, frozen=True):
    """How a run ended (rank 0): where the results are, counts by status, what stopped it early, the time it took."""

    path: Path
    counts: dict[str, int]
    left: int
    stopped_by: str
    summary: str

    @property
    def exit_code(self) -> int:
        """0 where everything asked for is there (skipped included), else 1."""
        return 1 if self.stopped_by or self.left or self.counts.get("failed") else 0


def execute(request: RunRequest, world: World) -> Outcome | None:
    """Run the plan. Collective over the world; the outcome is on rank 0, None elsewhere.

    Raises InputError (on rank 0) where the output cannot be opened. Every other trouble ends up in the results.
    """
    scratch = Path(tempfile.mkdtemp(prefix=".sprintprof-", dir=_scratch_folder(request)))
    try:
        with guard(world), catch_signals(leader=world.rank == 0) as stop, ExitStack() as until_end:
            crew = Crew(request, world, scratch, until_end)
            record = to_plain(_environment(request, world))
            environments, index = gather_environments(world.comm, record) if world.comm else ([record], [0])
            if world.rank:
                crew.follow()
                return None
            header = RunHeader(
                run_id=request.run_id,
                created_utc=request.created_utc,
                machine=request.machine,
                command=request.command,
                tool_version=__version__,
                plan=request.plan,
                settings=request.settings_record,
                environments=environments,
                rank_environment=index,
            )
            return crew.lead(header, stop)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _scratch_folder(request: RunRequest) -> Path:
    folder = request.scratch or request.output.parent
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _environment(request: RunRequest, world: World) -> dict[str, Any]:
    facts: dict[str, Any] = {"node.index": world.nodes[world.rank]}
    if world.parallel:
        mine = world.nodes[world.rank]
        name, *build = (" ".join(line.split()) for line in world.library.splitlines() if line.strip())
        facts |= {
            "mpi.library": name,
            "mpi.build": "; ".join(build),
            "mpi.standard": world.mpi_version,
            "mpi.thread_level": world.thread_level,
            "mpi.launcher": world.launcher,
            "mpi.ranks": world.size,
            "mpi.ranks_on_node": sum(node == mine for node in world.nodes),
            "local_rank": local_rank(world),
        }
    folder = request.output.parent
    return collect(request.command, world=facts, results=folder, scratch=request.scratch or folder)


class Crew:
    """The ranks of a run while they measure."""

    def __init__(self, request: RunRequest, world: World, scratch: Path, until_end: ExitStack) -> None:
        self._request = request
        self._world = world
        self._scratch = scratch
        self._until_end = until_end
        self._telemetries: dict[bool, Telemetry] = {}
        self._clock = RunClock()
        self._engines: dict[str, Engine] = {}
        for name in {point.engine for point in request.plan}:  # before the environment is read: they set BLAS threads
            self._engine(name)

    def lead(self, header: RunHeader, stop: StopRequest) -> Outcome:
        """Rank 0: measure what is pending, in random order, and write it."""
        request, settings = self._request, self._request.settings
        writer = open_run(request.output, header, request.resume)
        deadline = time.monotonic() + request.time_limit_s if request.time_limit_s else None
        reason = ""
        with writer:
            pending = [p for p in writer.pending(include_skipped=True) if p.launch == request.launch]
            order = random_order(pending, settings.seed + request.launch)
            with Progress(len(order), expected_time_s(order, settings)) as progress, suppress(KeyboardInterrupt):
                for point in order:
                    if stop or (deadline and time.monotonic() > deadline):
                        break
                    progress.begin(point.label())
                    measurement = self._measure(point, stop)
                    writer.append(measurement)
                    progress.end(measurement, expected_time_s([point], settings))
            if stop:
                reason = stop.signal
            elif deadline and time.monotonic() > deadline:
                reason = "the time limit"
            wake(self._world, None)
            path = writer.finish()
        return self._outcome(writer, path, reason, progress.summary())

    def _outcome(self, writer: RunWriter, path: Path, reason: str, summary: str) -> Outcome:
        counts: dict[str, int] = {}
        mine = [m for m in writer.measurements.values() if m.point.launch == self._request.launch]
        for measurement in mine:
            counts[measurement.status] = counts.get(measurement.status, 0) + 1
        planned = sum(p.launch == self._request.launch for p in writer.header.plan)
        return Outcome(path, counts, planned - len(mine), reason, summary)

    def follow(self) -> None:
        """Other ranks: sleep until a point needs them, until there is none left."""
        while (point := idle_until(self._world)) is not None:
            self._together(point)

    def _measure(self, point: Point, stop: StopRequest) -> Measurement:
        benchmark = get_benchmark(point.benchmark)
        if not benchmark.parallel:
            with stop.interruptible():
                return self._alone(point)
        if not self._world.parallel:
            return skipped(point, NO_WORLD)
        if point.ranks > self._world.size:
            return skipped(point, f"needs {point.ranks} ranks, the world has {self._world.size}")
        try:
            self._world.members(point.ranks, placement(point))
        except ValueError as error:
            return skipped(point, str(error))
        wake(self._world, point)
        measurement = self._together(point)
        return measurement if measurement is not None else failed(point, "rank 0 does not take part in it")

    def _alone(self, point: Point) -> Measurement:
        engine, work = self._build(point, None)
        if isinstance(work, Exception) or engine is None:
            return as_measurement(point, outcome(work if isinstance(work, Exception) else Skip("no engine")))
        settings = self._request.settings
        telemetry = self._telemetry(point)
        measured = measure_point(point, work, engine, settings, self._clock, telemetry, self._request.limits)
        if self._request.energy and measured.status == "ok":
            _, again = self._build(point, None)  # measure_point closed the first one
            if isinstance(again, Work):
                try:
                    return with_energy(measured, again, engine, self._clock, telemetry)
                finally:
                    close(again)
        return measured

    def _together(self, point: Point) -> Measurement | None:
        """A parallel point, on every rank that takes part; the others return at once."""
        comm = self._world.subcomm(point.ranks, placement(point))
        if comm is None:
            return None
        engine, work = self._build(point, comm)
        settings, limits = self._request.settings, self._request.limits
        telemetry = self._telemetry(point) if comm.rank == 0 else None
        return measure_parallel(point, work, comm, settings, self._clock, engine, telemetry, limits)

    def _build(self, point: Point, comm: Any) -> tuple[Engine | None, Work | Exception]:
        """The point's engine and Work, or what building it raised: whatever that is, it is the point's outcome."""
        settings = self._request.settings
        engine = None
        try:
            engine = self._engine(point.engine)
            case = Case(point.parameters, engine, comm, settings.seed, settings.fill, str(self._scratch))
            work = get_benchmark(point.benchmark).build(case)
        except Exception as error:  # noqa: BLE001
            return engine, error
        if not isinstance(work, Work):
            return engine, TypeError(f"the benchmark returned {type(work).__name__}, not Work")
        return engine, work

    def _telemetry(self, point: Point) -> Telemetry:
        """With the GPU's fields only for points that use it: an idle GPU's low clock says nothing of a CPU kernel."""
        gpu = point.engine == "cupy"
        if gpu not in self._telemetries:
            opened = open_telemetry(self._clock.now_s, gpu=gpu, local_rank=local_rank(self._world))
            self._telemetries[gpu] = self._until_end.enter_context(opened)
        return self._telemetries[gpu]

    def _engine(self, name: str) -> Engine:
        if name not in self._engines:
            self._engines[name] = get_engine(name, threads=self._request.threads)
        return self._engines[name]


def local_rank(world: World) -> int:
    """This rank's number among the ranks of its node."""
    return sum(node == world.nodes[world.rank] for node in world.nodes[: world.rank])


def placement(point: Point) -> str:
    """Which ranks of the world a point wants: its `placement` parameter, or the first ones."""
    return str(point.parameters.get("placement", "packed"))
