"""`sprintprof run` from its options to its exit code: start the processes that are needed, plan, execute, report."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from sprintprof.bench.engines.select import get_engine
from sprintprof.bench.harness.limits import Limits
from sprintprof.bench.harness.settings import HarnessSettings
from sprintprof.bench.run.execute import Outcome, RunRequest, execute
from sprintprof.bench.run.plan import expected_time_s, make_plan, select_rows
from sprintprof.bench.run.selection import parse_axes
from sprintprof.bench.run.suite_files import Suite, load_suite
from sprintprof.bench.world.finish import close_world, guard
from sprintprof.bench.world.launch import launch
from sprintprof.bench.world.world import needs_launch, open_world
from sprintprof.machine import Machine, list_machines, load_machine
from sprintprof.records import InputError, Point, RunHeader
from sprintprof.store import peek_header
from sprintprof.units import format_time

Note = Callable[[str], None]
DEFAULT_SUITE = "quick"
STOPPED = 3
"""Exit code by which a process tells its parent that it was stopped: no further launch is started."""


class MeasureOptions(msgspec.Struct, frozen=True):
    """The options of the command; None = not given. `launch` is set by a parent for the processes it starts."""

    benchmarks: list[str] = []
    suite: str | None = None
    axes: list[str] = []
    output: Path | None = None
    resume: Path | None = None
    ranks: int | None = None
    engine: str = "auto"
    threads: int | None = None
    machine: str | None = None
    settings: dict[str, Any] = {}
    time_limit_s: float | None = None
    energy: bool = False
    scratch: Path | None = None
    dry_run: bool = False
    show_config: bool = False
    launch: int | None = None
    arguments: list[str] = []


def measure(options: MeasureOptions, note: Note) -> int:
    """Run the verb and return its exit code. Raises InputError for what is wrong with the options."""
    if options.output and options.resume:
        raise InputError("--resume", "is given together with --output", "--resume goes on with its own file")
    if options.dry_run or options.show_config:
        return _preview(options, note)
    if options.launch is None and (needs_launch(options.ranks) or _launches(options) > 1):
        return _start_processes(options, note)
    world = open_world(options.ranks)
    with guard(world):
        request = prepare(options, world.size if world.parallel else 0) if world.rank == 0 else None
        if world.comm is not None:
            request = world.comm.bcast(request, root=0)
    if request is None:
        raise RuntimeError("rank 0 sent no request")
    for warning in world.warnings if world.rank == 0 else ():
        note(f"warning: {warning}")
    outcome = execute(request, world)
    if outcome is None:
        return close_world(world, 0)
    _report(outcome, note, last=request.launch + 1 >= request.settings.launches)
    stopped = options.launch is not None and outcome.stopped_by
    return close_world(world, STOPPED if stopped else outcome.exit_code)


def prepare(options: MeasureOptions, world_size: int) -> RunRequest:
    """Check the options and make the request. `world_size` 0 = no MPI world."""
    earlier = _earlier(options)
    suite = load_suite(options.suite or _suite_of(earlier) or DEFAULT_SUITE)
    settings = _settings(options, suite, earlier)
    output = options.resume or options.output or default_output(options.machine)
    asked = options.suite or options.benchmarks or options.axes
    plan: list[Point] = []
    engine = get_engine(options.engine).name
    if asked or earlier is None:
        rows = select_rows(suite, options.benchmarks, parse_axes(options.axes))
        plan = make_plan(rows, engine=engine, world_size=world_size, launches=range(settings.launches))
    limits = limits_of(machine_of(options.machine))
    record = {
        **msgspec.to_builtins(settings),
        "suite": options.suite or _suite_of(earlier) or DEFAULT_SUITE,
        "selection": options.benchmarks,
        "axes": options.axes,
        "engine": engine,
        "threads": options.threads,
        "energy": options.energy,
        "ranks": world_size,
        "limits": msgspec.to_builtins(limits) if limits else {},
    }
    return RunRequest(
        output=output,
        plan=plan,
        settings=settings,
        machine=earlier.machine if earlier else machine_name(options.machine),
        run_id=earlier.run_id if earlier else f"{_stamp()}-{job_id()}-{os.urandom(4).hex()}",
        created_utc=datetime.now(UTC).isoformat(timespec="seconds"),
        command=["sprintprof", *options.arguments],
        settings_record=record,
        resume=options.resume is not None or bool(options.launch),
        launch=options.launch or 0,
        scratch=options.scratch,
        time_limit_s=options.time_limit_s,
        limits=limits,
        threads=options.threads,
        energy=options.energy,
    )


def machine_of(given: str | None) -> Machine | None:
    """The machine file that `--machine` names: one of the package or a path; None for a mere name."""
    if given is None or (given not in list_machines() and not given.endswith(".toml")):
        return None
    return load_machine(given)


def limits_of(machine: Machine | None) -> Limits | None:
    """The peaks that a machine file declares, as physical limits of what is measured."""
    if machine is None:
        return None
    link = machine.host_link
    return Limits(
        flops=machine.peak_FLOPps,
        memory_Bps=machine.memory_bandwidth_Bps,
        link_Bps=link.bandwidth_Bps if link else None,
        network_Bps=machine.network_bandwidth_Bps,
        clock_Hz=machine.gpu.clock_Hz if machine.gpu else None,
    )


def machine_name(given: str | None) -> str:
    """`--machine`, or the short host name without its node number. Raises InputError where it is no file name."""
    if given is None:
        return re.sub(r"[-_.]?\d+$", "", socket.gethostname().split(".")[0]) or "host"
    if given.endswith(".toml"):
        given = Path(given).stem
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+-]*", given):
        raise InputError("--machine", f"'{given}' cannot be a folder's name", "use letters, digits and . _ + -")
    return given


def default_output(machine: str | None) -> Path:
    """results/<machine>/<UTC>-<job>.h5"""
    return Path("results") / machine_name(machine) / f"{_stamp()}-{job_id()}.h5"


def job_id() -> str:
    """The Slurm job id, or the process id."""
    return os.environ.get("SLURM_JOB_ID") or str(os.getpid())


def _stamp() -> str:
    return datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")


def _earlier(options: MeasureOptions) -> RunHeader | None:
    """The header of the run that is resumed; None where nothing of it exists."""
    path = options.resume or (options.output if options.launch else None)
    return peek_header(path) if path else None


def _suite_of(earlier: RunHeader | None) -> str | None:
    return str(earlier.settings["suite"]) if earlier and "suite" in earlier.settings else None


def _settings(options: MeasureOptions, suite: Suite, earlier: RunHeader | None) -> HarnessSettings:
    """Options over the resumed run's settings over the suite's over the defaults."""
    values = {**msgspec.to_builtins(HarnessSettings()), **suite.settings}
    if earlier is not None:
        values |= {k: v for k, v in earlier.settings.items() if k in values}
    values |= {k: v for k, v in options.settings.items() if v is not None}
    try:
        return msgspec.convert(values, HarnessSettings)
    except msgspec.ValidationError as error:
        raise InputError("run", f"a setting is wrong ({error})", "see sprintprof run --help") from None


def _launches(options: MeasureOptions) -> int:
    given = options.settings.get("launches")
    if given is not None:
        return int(given)
    suite = load_suite(options.suite or DEFAULT_SUITE)
    return int(suite.settings.get("launches", 1))


def _start_processes(options: MeasureOptions, note: Note) -> int:
    """The parent: check everything once, then start a fresh process (or MPI program) per launch."""
    request = prepare(options, options.ranks or 0)
    if not request.resume and request.output.exists():
        raise InputError(str(request.output), "exists", "choose another name, or go on with --resume")
    arguments = list(options.arguments)
    if options.resume is None and options.output is None:
        arguments += ["--output", str(request.output)]
    worst = 0
    for number in range(request.settings.launches):
        command = [*arguments, "--launch", str(number)]
        if needs_launch(options.ranks):
            code = launch(options.ranks or 1, command)
        else:
            code = _run_process([sys.executable, "-m", "sprintprof", *command])
        worst = max(worst, 1 if code == STOPPED else code)
        if code not in (0, 1):
            break
    return worst


def _run_process(command: list[str]) -> int:
    """One fresh process; signals meant for us go to it, which ends cleanly."""
    process = subprocess.Popen(command)
    before = {
        number: signal.signal(number, lambda sent, _frame: process.send_signal(sent))
        for number in (signal.SIGTERM, signal.SIGUSR2)
    }
    before[signal.SIGINT] = signal.signal(signal.SIGINT, lambda *_: None)  # the terminal sends it to both
    try:
        return process.wait()
    finally:
        for number, old in before.items():
            signal.signal(number, old)


def _preview(options: MeasureOptions, note: Note) -> int:
    """--dry-run and --show-config: what would be done."""
    request = prepare(options, options.ranks or 0)
    if options.show_config:
        for name, value in request.settings_record.items():
            print(f"{name} = {value}")  # noqa: T201
    if options.dry_run:
        for point in request.plan:
            print(point.label() + (f" launch {point.launch}" if request.settings.launches > 1 else ""))  # noqa: T201
        seconds = expected_time_s(request.plan, request.settings)
        note(f"{len(request.plan)} points, about {format_time(seconds, 2)}, into {request.output}")
    return 0


def _report(outcome: Outcome, note: Note, *, last: bool) -> None:
    if outcome.stopped_by:
        note(f"stopped by {outcome.stopped_by}; go on with: sprintprof run --resume {outcome.path}")
    failures = outcome.counts.get("failed", 0)
    if failures:
        note(f"{failures} points failed: sprintprof check {outcome.path} says why")
    note(f"{outcome.summary} → {outcome.path}")
    if last and not outcome.stopped_by:
        note(f"next: sprintprof fit {outcome.path} -o profile.json")
