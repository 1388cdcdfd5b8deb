"""Whatever a measurement holds comes back from the file to the bit."""

from __future__ import annotations

import math
import os
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from sprintprof.records import Measurement, Point, SampleSet
from sprintprof.store import MISSING_INT, load_results, open_run, write_results

MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
"""Many small files that are synced: not to the disk where there is a file system in memory."""

# every code point: NUL, the store's own escape character, lone surrogates as os.fsdecode makes them
TEXT = st.text(st.characters() | st.sampled_from("\x00\u241b\udc80/.e\u0301"), max_size=12)
VALUE = st.booleans() | st.integers() | st.integers(2**53 - 2, 2**64) | st.floats(width=64) | TEXT
NAMES = st.sampled_from(["m", "bytes", "key", "parameters.bytes", "", "extra.m", "größe"]) | TEXT
FLAG = st.sampled_from(["noisy", "drift", "a\x00b", "é"])


def arrays(shape: int | tuple[int, int]) -> st.SearchStrategy[np.ndarray]:
    """float64 of any bits: NaN with payload, infinities, -0.0, subnormals."""
    return npst.arrays(np.uint64, shape).map(lambda a: a.view(np.float64))


@st.composite
def measurements(draw: st.DrawFn) -> Measurement:
    point = Point(
        draw(TEXT | st.sampled_from(["gemm", "a/b", "."])),
        draw(TEXT),
        draw(st.dictionaries(NAMES, VALUE, max_size=4)),
        draw(st.integers(1, 2**40)),
        draw(st.integers(0, 2**40)),
    )
    n = draw(st.integers(0, 5))
    columns = {"time_s": draw(arrays(n))} | {k: draw(arrays(n)) for k in draw(st.lists(NAMES, max_size=3, unique=True))}
    ranks = draw(st.none() | st.integers(0, 4))
    samples = SampleSet(
        columns, None if ranks is None else draw(arrays((n, ranks))), draw(st.dictionaries(NAMES, TEXT, max_size=2))
    )
    numbers = {k: draw(st.floats()) for k in ("flop", "bytes", "median_s", "low_s", "high_s", "min_s", "first_s")}
    return Measurement(
        point, draw(st.sampled_from(["ok", "failed", "skipped"])), draw(TEXT), tuple(draw(st.lists(FLAG, max_size=2))),
        stop_reason=draw(TEXT), extra=draw(st.dictionaries(NAMES, VALUE, max_size=4)), samples=samples, **numbers,
    )  # fmt: skip


ANY_JSON = st.recursive(
    st.none() | VALUE,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(measurements(), max_size=6), st.lists(TEXT, max_size=3), st.dictionaries(TEXT, ANY_JSON, max_size=3))
def test_what_is_written_is_read(
    kit: SimpleNamespace, given_: list[Measurement], command: list[str], environment: dict[str, object]
) -> None:
    distinct = {m.key: m for m in given_}
    header = kit.header([], command=command, environments=[environment, {}], rank_environment=[1, 0, 1])
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        through_memory = write_results(Path(folder) / "a.h5", header, given_)
        with open_run(Path(folder) / "b.h5", header, resume=False) as writer:
            for measurement in given_:
                writer.append(measurement)
            assert {k: kit.fingerprint(m) for k, m in writer.measurements.items()} == {
                k: kit.fingerprint(m) for k, m in distinct.items()
            }
        for path in (through_memory, writer.path):
            results = load_results(path)
            assert {m.key: kit.fingerprint(m) for m in results.measurements} == {
                k: kit.fingerprint(m) for k, m in distinct.items()
            }
            assert results.header.command == command
            assert results.header.rank_environment == [1, 0, 1]
            assert repr(results.header.environments) == repr([environment, {}])
            assert sum(len(results.points(name)) for name in results.benchmarks) == len(distinct)


def test_no_points_and_no_samples(tmp_path: Path, kit: SimpleNamespace) -> None:
    empty = load_results(write_results(tmp_path / "none.h5", kit.header([]), []))
    assert list(empty.measurements) == []
    assert empty.completeness == (0, 0)
    assert empty.benchmarks == []
    skipped = Measurement(kit.points(1)[0], "skipped", "no MPI world")
    results = load_results(write_results(tmp_path / "one.h5", kit.header([]), [skipped]))
    assert kit.fingerprint(results.measurements[0]) == kit.fingerprint(skipped)
    assert math.isnan(results.points("gemm")["median_s"][0])


def test_a_value_that_is_not_there_is_never_read_as_zero(tmp_path: Path, kit: SimpleNamespace) -> None:
    small = Point("conv", "numpy", {"n": 0, "pad": False, "scale": 0.0, "layout": "nchw"})
    other = Point("conv", "numpy", {"k": 3})
    results = load_results(write_results(tmp_path / "r.h5", kit.header([]), [kit.measured(small), kit.measured(other)]))
    rows = {row["key"]: row for row in results.points("conv")}
    assert (rows[small.key]["n"], rows[small.key]["k"], rows[other.key]["k"]) == (0, MISSING_INT, 3)
    assert (rows[other.key]["n"], rows[other.key]["pad"], rows[other.key]["layout"]) == (MISSING_INT, -1, "")
    assert math.isnan(rows[other.key]["scale"])
    assert [m.point.parameters for m in results.measurements] == [small.parameters, other.parameters]


def test_columns_take_the_widest_type_that_loses_nothing(tmp_path: Path, kit: SimpleNamespace) -> None:
    mixed = {
        "flag": [True, False], "int": [1, True], "float": [1, 0.5], "big": [2**53 + 1, 0.5], "huge": [2**63, 1],
        "text": ["1", 1],
    }  # fmt: skip
    made = [kit.measured(Point("b", "numpy", {name: values[i] for name, values in mixed.items()})) for i in (0, 1)]
    results = load_results(write_results(tmp_path / "r.h5", kit.header([]), made))
    kinds = {name: results.points("b").dtype[name].str for name in mixed}
    assert kinds == {"flag": "|i1", "int": "<i8", "float": "<f8", "big": "|O", "huge": "|O", "text": "|O"}
    assert [kit.fingerprint(m) for m in results.measurements] == [kit.fingerprint(m) for m in made]


def test_more_columns_than_hdf5_can_describe(tmp_path: Path, kit: SimpleNamespace) -> None:
    extra = {
        f"a quite long name of a counter, number {i}": (i, float(i), str(i), i % 2 == 0)[i % 4] for i in range(3000)
    }
    made = kit.measured(kit.points(1)[0], extra=extra)
    results = load_results(write_results(tmp_path / "r.h5", kit.header([]), [made]))
    assert kit.fingerprint(results.measurements[0]) == kit.fingerprint(made)


def test_texts_over_64_kib(tmp_path: Path, kit: SimpleNamespace) -> None:
    long = "é" * 200_000
    header = kit.header([], machine=long, command=[long], environments=[{"modules": long}], settings={"note": long})
    made = kit.measured(kit.points(1)[0], reason=long, extra={"log": long})
    results = load_results(write_results(tmp_path / "r.h5", header, [made]))
    assert kit.fingerprint(results.measurements[0]) == kit.fingerprint(made)
    assert results.header.machine == long
    assert results.sessions[0].command == [long]
    assert results.header.environments == [{"modules": long}]


def test_blocks_of_different_shapes(tmp_path: Path, kit: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 2×3, 2×3, 3×3 and 3×3, which stop a collective write: one writer, and no parallel HDF5 (U39 to U41)."""
    import h5py

    opened: list[dict[str, object]] = []
    real = h5py.File

    def file(*arguments: object, **keywords: object) -> h5py.File:
        opened.append(keywords)
        return real(*arguments, **keywords)

    monkeypatch.setattr(h5py, "File", file)
    plan = kit.points(4, "allreduce", ranks=3)
    made = [kit.measured(p, samples=n, ranks=3) for p, n in zip(plan, (2, 2, 3, 3), strict=True)]
    results = load_results(write_results(tmp_path / "r.h5", kit.header(plan), made))
    assert [kit.fingerprint(m) for m in results.measurements] == [kit.fingerprint(m) for m in made]
    assert len(opened) == 2
    assert all("driver" not in keywords and "comm" not in keywords for keywords in opened)


@pytest.mark.slow
def test_a_hundred_thousand_points(tmp_path: Path, kit: SimpleNamespace) -> None:
    plan = kit.points(100_000)
    made = (
        Measurement(p, "ok", median_s=float(i), samples=SampleSet({"time_s": np.full(2, float(i))}))
        for i, p in enumerate(plan)
    )
    results = load_results(write_results(tmp_path / "r.h5", kit.header(plan), made))
    assert results.completeness == (100_000, 100_000)
    for i in (0, 1, 49_999, 99_999):
        found = results.measurements[i]
        assert found.point == plan[i]
        assert (found.samples.time_s.tolist(), found.median_s) == ([i, i], i)
    assert (results.points("gemm")["m"] == np.arange(100_000)).all()
