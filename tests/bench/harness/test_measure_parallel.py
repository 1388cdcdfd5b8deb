"""Parallel points: the slowest rank is the result, rank 0 decides, one rank's trouble is everybody's."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sprintprof.bench.case import Skip, Work
from sprintprof.bench.harness.limits import Limits
from sprintprof.bench.harness.parallel import PARALLEL_EXTRA, measure_parallel
from sprintprof.bench.harness.settings import HarnessSettings
from sprintprof.bench.harness.summary import EXTRA
from sprintprof.records import Measurement, Point

POINT = Point("fake_allreduce", "fake", {"bytes": 8}, ranks=3)
Ranks = Callable[[int, Callable[[Any], Any]], list[Any]]


def on_three(
    on_ranks: Ranks,
    make_device: Any,
    work_of: Callable[[int, Any], Work | Exception],
    settings: HarnessSettings = HarnessSettings(),
    limits: Limits | None = None,
) -> Measurement:
    """Measure with a device per rank; only rank 0 gets a Measurement."""

    def body(comm: Any) -> Measurement | None:
        device = make_device()
        work = work_of(comm.Get_rank(), device)
        return measure_parallel(POINT, work, comm, settings, device.clock, device, limits=limits)

    first, *others = on_ranks(3, body)
    assert others == [None, None]
    assert isinstance(first, Measurement)
    return first


def test_u32_headline_is_the_maximum_and_every_rank_is_kept(on_ranks: Ranks, make_device: Any) -> None:
    times_s = (1.0e-3, 1.02e-3, 1.9e-3)
    found = on_three(on_ranks, make_device, lambda rank, device: Work(device.kernel(times_s[rank]), cache="untouched"))
    assert found.status == "ok"
    assert found.median_s == pytest.approx(1.9e-3, rel=0.01)
    ranks = found.samples.rank_times_s
    assert ranks is not None
    assert ranks.shape == (len(found.samples), 3)
    assert np.median(ranks, axis=0) == pytest.approx(times_s, rel=0.01)
    assert found.samples.time_s == pytest.approx(ranks.max(axis=1))
    assert [found.extra[f"rank_{what}_s"] for what in ("min", "median", "max")] == pytest.approx(times_s, rel=0.01)
    assert found.flags == ("straggler",)
    assert found.extra["straggler_rank"] == found.extra["slowest_rank"] == 2
    assert set(PARALLEL_EXTRA) | set(EXTRA) == set(found.extra)


def test_ranks_with_different_jobs_have_no_straggler(on_ranks: Ranks, make_device: Any) -> None:
    times_s = (1.9e-3, 1.02e-3, 1.0e-3)
    found = on_three(
        on_ranks,
        make_device,
        lambda rank, device: Work(device.kernel(times_s[rank]), cache="untouched", symmetric=False),
    )
    assert found.flags == ()
    assert (found.extra["straggler_rank"], found.extra["slowest_rank"]) == (-1, 0)


def test_ranks_share_the_batch_size(on_ranks: Ranks, make_device: Any) -> None:
    times_s = (1e-6, 2e-6, 3e-6)
    counts = [0, 0, 0]

    def work_of(rank: int, device: Any) -> Work:
        device.tick_s = 1e-5
        kernel = device.kernel(times_s[rank])

        def call() -> None:
            counts[rank] += 1
            kernel()

        return Work(call, cache="untouched", operations=2)

    found = on_three(on_ranks, make_device, work_of)
    assert found.extra["calls"] > 1
    assert counts[0] == counts[1] == counts[2]
    assert found.median_s == pytest.approx(3e-6 / 2, rel=0.02)


def test_u33_time_and_bytes_are_stored_raw(on_ranks: Ranks, make_device: Any) -> None:
    """Bus bandwidth 2(p−1)/p · bytes/time may exceed the link; neither it nor a flag from it is in the record."""

    def work_of(rank: int, device: Any) -> Work:
        return Work(device.kernel(1e-3), bytes=0.9e6, cache="untouched", path="network")

    found = on_three(on_ranks, make_device, work_of, limits=Limits(network_Bps=1e9))
    assert 2 * 2 / 3 * found.bytes / found.median_s > 1e9
    assert found.bytes == 0.9e6
    assert found.flags == ()
    assert found.extra["peak_share"] == pytest.approx(0.9, rel=0.01)


@pytest.mark.parametrize("where", ["call", "before", "verify", "close", "build"])
@pytest.mark.parametrize("troubled", [0, 2])
def test_trouble_on_one_rank_fails_the_point_on_all(
    on_ranks: Ranks, make_device: Any, where: str, troubled: int
) -> None:
    closed = []

    def work_of(rank: int, device: Any) -> Work | Exception:
        mine = rank == troubled
        count = itertools.count()

        def fail_late() -> None:
            if mine and next(count) == 12:
                raise OverflowError("message too long")

        def bad_close() -> None:
            closed.append(rank)
            if mine and where == "close":
                raise OverflowError("message too long")

        def call() -> None:
            if where == "call":
                fail_late()
            device.launch(1e-3)

        if where == "build" and mine:
            return OverflowError("message too long")
        return Work(
            call,
            cache="untouched",
            before_sample=fail_late if where == "before" else None,
            verify=lambda: "sum is 3" if mine and where == "verify" else "",
            close=bad_close,
        )

    found = on_three(on_ranks, make_device, work_of)
    assert found.status == "failed"
    expected = {"verify": "wrong result: sum is 3", "close": "close: OverflowError: message too long"}
    assert found.reason == f"rank {troubled}: {expected.get(where, 'OverflowError: message too long')}"
    assert math.isnan(found.median_s)
    assert sorted(closed) == [rank for rank in range(3) if where != "build" or rank != troubled]


def test_a_rank_whose_device_does_not_answer_fails_the_point_on_all(on_ranks: Ranks, make_device: Any) -> None:
    def work_of(rank: int, device: Any) -> Work:
        def lost() -> None:
            raise RuntimeError("device lost")

        if rank == 1:
            device.start = lost
        return Work(device.kernel(1e-3), cache="untouched")

    found = on_three(on_ranks, make_device, work_of)
    assert (found.status, found.reason) == ("failed", "rank 1: RuntimeError: device lost")


def test_an_unknown_flag_fails_the_point(on_ranks: Ranks, make_device: Any) -> None:
    found = on_three(on_ranks, make_device, lambda rank, device: Work(device.kernel(1e-3), flags=("stagged",)))
    assert (found.status, found.reason) == ("failed", "ValueError: there is no flag stagged")


def test_skip_on_all_and_on_one(on_ranks: Ranks, make_device: Any) -> None:
    found = on_three(on_ranks, make_device, lambda rank, device: Skip("4 GiB do not fit"))
    assert (found.status, found.reason) == ("skipped", "4 GiB do not fit")
    found = on_three(
        on_ranks, make_device, lambda rank, device: Skip("no memory") if rank == 1 else Work(device.kernel(1e-3))
    )
    assert (found.status, found.reason) == ("skipped", "rank 1: no memory")
    found = on_three(on_ranks, make_device, lambda rank, device: Skip("no memory") if rank < 2 else ValueError("bad"))
    assert (found.status, found.reason) == ("failed", "rank 2: ValueError: bad")


def test_window_starts(on_ranks: Ranks, make_device: Any) -> None:
    found = on_three(
        on_ranks,
        make_device,
        lambda rank, device: Work(device.kernel(1e-3), cache="untouched"),
        HarnessSettings(sync="window"),
    )
    assert found.status == "ok"
    assert found.median_s == pytest.approx(1e-3, rel=0.01)
    assert str(found.extra["sync"]).startswith("window")


def test_timer_that_returns_0(on_ranks: Ranks, make_device: Any) -> None:
    def body(comm: Any) -> Measurement | None:
        device = make_device(blind=True)
        work = Work(device.kernel(1e-3), cache="untouched")
        return measure_parallel(POINT, work, comm, HarnessSettings(), device.clock, device)

    found = on_ranks(3, body)[0]
    assert (found.status, found.flags) == ("failed", ("under-resolution",))


def test_without_an_engine_the_hosts_clock_times(on_ranks: Ranks, make_device: Any) -> None:
    def body(comm: Any) -> Measurement | None:
        device = make_device()

        def call() -> None:
            device.now_s += 1e-3

        work = Work(call, cache="untouched")
        return measure_parallel(POINT, work, comm, HarnessSettings(), device.clock)

    found = on_ranks(2, body)[0]
    assert found.median_s == pytest.approx(1e-3, rel=0.01)
    assert found.extra["cache_bytes"] == 0
