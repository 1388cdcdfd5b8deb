"""How ranks end: an error on one rank ends all, a hanging MPI_Finalize cannot eat the exit code."""

from __future__ import annotations

import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from sprintprof.bench.world.exitfile import hand_over, tell_parent
from sprintprof.bench.world.world import World
from sprintprof.records import SprintprofError

FINALIZE_TIMEOUT_S = 20.0
FORWARD_S = 0.3
"""Time for the launcher to forward what was printed before everything is ended."""
ERROR_GRACE_S = 1.0
"""Rank 0 speaks first when all ranks meet the same user error."""


def close_world(world: World, code: int, timeout_s: float = FINALIZE_TIMEOUT_S) -> int:
    """Finalize MPI and return the code this process is to exit with. Results must be on disk before.

    Collective. `code` counts on rank 0. A watchdog thread, which never calls MPI, ends the process with that code
    where MPI_Finalize has not returned after `timeout_s` (seen after a GPU context was torn down first).
    """
    if world.comm is None:
        return code
    own = 0
    if world.rank == 0 and not (world.launch and hand_over(code, aborted=False, rank=0)):
        own = code  # launchers call any code but 0 a crash, so our own parent gets it through a file
    from mpi4py import MPI

    finalize_guarded(MPI.Finalize, own, timeout_s)
    return own


def finalize_guarded(finalize: Callable[[], object], code: int, timeout_s: float) -> None:
    """Call `finalize`; where it has not returned after `timeout_s`, end the process with `code`."""
    done = threading.Event()

    def watch() -> None:
        if not done.wait(timeout_s):
            print(f"sprintprof: MPI_Finalize hangs for {timeout_s:g} s, leaving without it", file=sys.stderr)  # noqa: T201
            _flush()
            os._exit(code)

    threading.Thread(target=watch, name="finalize-watchdog", daemon=True).start()
    finalize()
    done.set()


@contextmanager
def guard(world: World) -> Iterator[None]:
    """Everything the ranks do belongs inside: an exception on one rank ends all ranks within seconds.

    The rank is named on stderr. Errors of ours are one line with their own exit code; others come with a traceback
    and end with code 1. SystemExit passes: all ranks leave together. In a serial world exceptions pass untouched.
    """
    try:
        yield
    except SystemExit:
        raise
    except BaseException as error:
        if world.comm is None:
            raise
        _report(world, error)
        code = error.exit_code if isinstance(error, SprintprofError) else 1
        if isinstance(error, KeyboardInterrupt):
            code = 130
        abort(world, code)


def _report(world: World, error: BaseException) -> None:
    """The rank and the error on stderr. A user error met by all ranks is printed by rank 0 only."""
    if isinstance(error, SprintprofError):
        if world.rank:
            time.sleep(ERROR_GRACE_S)
        prefix = "sprintprof:" if world.rank == 0 else f"sprintprof: rank {world.rank} of {world.size}:"
        print(f"{prefix} {error}", file=sys.stderr, flush=True)  # noqa: T201
        return
    if not isinstance(error, KeyboardInterrupt):
        traceback.print_exception(error, file=sys.stderr)
    name = f"{type(error).__name__}: {error}".rstrip(": ")
    where = f"rank {world.rank} of {world.size} on {world.host_names[world.rank]}"
    print(f"sprintprof: {where} failed ({name}); ending all ranks", file=sys.stderr, flush=True)  # noqa: T201


def abort(world: World, code: int) -> None:
    """End all ranks at once with `code`. Does not return.

    Under our own launcher the parent is told to end the ranks, which is quiet; MPI_Abort follows where that fails.
    """
    _flush()
    time.sleep(FORWARD_S)
    if world.launch and hand_over(code, aborted=True, rank=world.rank) and tell_parent():
        time.sleep(5.0)
    world.comm.Abort(code)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
