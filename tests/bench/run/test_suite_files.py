"""Suites are data: what they may say, and what is said about mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest

from sprintprof.bench.run.plan import make_plan
from sprintprof.bench.run.suite_files import Suite, list_suites, load_suite
from sprintprof.networks import load_network
from sprintprof.networks.kernels import KERNELS
from sprintprof.records import InputError


def suite(tmp_path: Path, text: str) -> Suite:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    return load_suite(str(file))


@pytest.mark.parametrize("name", ["quick", "standard", "full"])
def test_suites_of_the_package_read(name: str) -> None:
    loaded = load_suite(name)
    assert loaded.description
    assert {r.benchmark.name for r in loaded.rows} >= {"gemm", "allreduce", "storage_read", "momentum_update"}


def test_they_are_listed_shortest_first_and_grow() -> None:
    assert list_suites() == ["quick", "standard", "full"]
    sizes = [len(load_suite(name).rows) for name in list_suites()]
    assert sizes == sorted(sizes)


def test_quick_has_every_kernel_and_every_call_of_its_network() -> None:
    rows = load_suite("quick").rows
    assert {r.benchmark.name for r in rows} >= set(KERNELS)
    measured = {(r.benchmark.name, *r.parameters.items()) for r in rows}
    for call in load_network("lenet5").kernel_calls(8):
        assert (call.call.kernel, *call.call.parameters.items()) in measured, call.layer


def test_grid_crosses_and_rows_list(tmp_path: Path) -> None:
    loaded = suite(
        tmp_path,
        """
        [[grid]]
        benchmark = "memory_copy"
        size_bytes = ["4K", 8192]
        [[rows]]
        benchmarks = ["relu_forward", "relu_backward"]
        each = [{ batch = 2 }, { batch = 2, features = 10 }]
        """,
    )
    assert [r.parameters["size_bytes"] for r in loaded.rows[:2]] == [4096, 8192]
    assert [(r.benchmark.name, r.parameters["batch"]) for r in loaded.rows[2:]] == [
        ("relu_forward", 2), ("relu_forward", 2), ("relu_backward", 2), ("relu_backward", 2),
    ]  # fmt: skip


def test_doubles_are_measured_once(tmp_path: Path) -> None:
    twice = '[[grid]]\nbenchmark = "barrier"\n' * 2
    assert len(suite(tmp_path, twice).rows) == 1


def test_a_suite_extends_another(tmp_path: Path) -> None:
    text = 'extends = "quick"\n[settings]\nmax_samples = 7\n[[grid]]\nbenchmark = "gemm"\nm = [12345]\n'
    base, loaded = load_suite("quick"), suite(tmp_path, text)
    assert loaded.rows[: len(base.rows)] == base.rows
    assert [r.parameters["m"] for r in loaded.rows[len(base.rows) :]] == [12345]
    assert loaded.settings == {**base.settings, "max_samples": 7}


def test_a_suite_cannot_extend_itself(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="extends itself"):
        suite(tmp_path, f'extends = "{tmp_path / "mine.toml"}"')


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[[grid]]\nbenchmark = 'nope'", r"\[\[grid\]\] 1: there is no 'nope'"),
        ("[[grid]]\nsize_bytes = [8]", "names no benchmark"),
        ("[[grid]]\nbenchmark = 'gemm'\nmm = [1]", "gemm has no axis 'mm'; did you mean m"),
        ("[[grid]]\nbenchmark = 'gemm'\nm = ['x']", "'x' is not int"),
        ("[[grid]]\nbenchmark = 'gemm'\nm = [-4]", "is negative"),
        ("[[grid]]\nbenchmark = 'allreduce'\nranks = [0]", "'ranks' is not a list of integers > 0"),
        ("[[network]]\nname = 'lenet5'\nbatch = ['1']", "'batch' is not a list of integers > 0"),
        ("[[network]]\nname = 'lenet6'", "lenet5"),
        ("[[rows]]\nbenchmarks = ['gemm']\neach = 3", "'each' is not a list of tables"),
        ("[settings]\ntarget = 1", "unknown setting 'target'"),
        ("[settings]\ntimeout_s = 'x'", r"\[settings\]"),
        ("[settings]\nmin_samples = 2", "at least 6"),
        ("[table]", "unknown table 'table'"),
        ("grid = 3", "not a list of tables"),
        ("x = [", "is not a suite file"),
    ],
)
def test_mistakes_are_one_line_with_the_place(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint) as caught:
        suite(tmp_path, text)
    assert "\n" not in str(caught.value)


def test_an_unknown_suite_is_refused() -> None:
    with pytest.raises(InputError, match="did you mean quick"):
        load_suite("quik")


def test_plan_without_a_world_has_parallel_points_to_be_skipped(tmp_path: Path) -> None:
    loaded = suite(tmp_path, '[[grid]]\nbenchmarks = ["allreduce", "relu_forward"]\n')
    assert [(p.benchmark, p.ranks) for p in make_plan(loaded.rows, engine="numpy", world_size=0)] == [
        ("allreduce", 2), ("relu_forward", 1),
    ]  # fmt: skip


def test_plan_in_a_world_takes_2_4_and_all_ranks(tmp_path: Path) -> None:
    loaded = suite(tmp_path, '[[grid]]\nbenchmark = "allreduce"\n')
    ranks = [p.ranks for p in make_plan(loaded.rows, engine="numpy", world_size=6)]
    assert ranks == [2, 4, 6]


def test_plan_of_pairs_and_senders_takes_the_ranks_they_need(tmp_path: Path) -> None:
    loaded = suite(
        tmp_path, '[[grid]]\nbenchmark = "pingpong"\n[[grid]]\nbenchmark = "all_to_one"\nsenders = [1, 3, 9]\n'
    )
    plan = make_plan(loaded.rows, engine="numpy", world_size=4)
    assert [(p.benchmark, p.ranks) for p in plan] == [("pingpong", 2), ("all_to_one", 2), ("all_to_one", 4)]


def test_launches_multiply_the_plan(tmp_path: Path) -> None:
    loaded = suite(tmp_path, '[[grid]]\nbenchmark = "relu_forward"\n')
    plan = make_plan(loaded.rows, engine="numpy", world_size=0, launches=range(3))
    assert [p.launch for p in plan] == [0, 1, 2]
    assert len({p.key for p in plan}) == 3
