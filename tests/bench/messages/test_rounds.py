"""How many rounds make a call, by imagined clocks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sprintprof.bench.messages import choose
from sprintprof.bench.messages.choose import CALIBRATION_S, MOST_ROUNDS, rounds_for


class OneRank:
    """A communicator of one."""

    def allreduce(self, value: float, op: object) -> float:
        return value


class Machine:
    """A clock that rounds move; `hiccups` are added to its first calls, one each."""

    def __init__(self, round_s: float, hiccups: Iterator[float] = iter(())) -> None:
        self.now_s = 0.0
        self.round_s = round_s
        self.hiccups = hiccups
        self.calls = 0

    def run(self, rounds: int) -> None:
        self.calls += 1
        self.now_s += rounds * self.round_s + next(self.hiccups, 0.0)

    def perf_counter(self) -> float:
        return self.now_s


def calibrated(
    monkeypatch: pytest.MonkeyPatch, machine: Machine, round_bytes: int | None = None, nodes: tuple[int, ...] = (0, 1)
) -> int:
    monkeypatch.setattr(choose, "time", machine)
    monkeypatch.setattr(choose, "_max", lambda: None)
    monkeypatch.setattr(choose, "nodes_of", lambda comm: nodes)
    return rounds_for(OneRank(), machine.run, round_bytes)


@pytest.mark.parametrize("round_s", [2e-6, 3.3e-5, 4e-4])
def test_a_call_takes_about_a_millisecond(monkeypatch: pytest.MonkeyPatch, round_s: float) -> None:
    rounds = calibrated(monkeypatch, Machine(round_s))
    assert CALIBRATION_S / 2 < rounds * round_s <= CALIBRATION_S * 1.001


def test_long_rounds_are_alone_and_few_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(0.3)
    assert calibrated(monkeypatch, machine) == 1
    assert machine.calls == 2


def test_very_short_rounds_end_at_the_most(monkeypatch: pytest.MonkeyPatch) -> None:
    assert calibrated(monkeypatch, Machine(1e-8)) == MOST_ROUNDS


def test_a_busy_machine_does_not_look_like_slow_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first calls lose their CPU for some ms; the messages take 2 µs all the same."""
    hiccups = iter([0.004, 0.003, 0.004, 0.005, 0.004, 0.0009, 0.0008, 0.002, 0.001, 0.003])
    assert calibrated(monkeypatch, Machine(2e-6, hiccups)) == pytest.approx(500, rel=0.01)


@pytest.mark.parametrize(("round_bytes", "rounds"), [(16, 50), (1 << 17, 32), (1 << 21, 3), (None, 3), (1 << 30, 3)])
def test_a_machine_that_stays_busy(monkeypatch: pytest.MonkeyPatch, round_bytes: int | None, rounds: int) -> None:
    """Every look finds 0.3 ms where 2 µs would be right: small messages are batched all the same."""
    assert calibrated(monkeypatch, Machine(3e-4), round_bytes) == rounds


def test_a_slow_network_is_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert calibrated(monkeypatch, Machine(1e-2), 16) == 1


def test_inside_a_node_milliseconds_are_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert calibrated(monkeypatch, Machine(4e-3), 16, nodes=(0, 0)) == 50
    assert calibrated(monkeypatch, Machine(4e-3), 1 << 22, nodes=(0, 0)) == 1
    assert calibrated(monkeypatch, Machine(4e-3), None, nodes=(0, 0)) == 1
