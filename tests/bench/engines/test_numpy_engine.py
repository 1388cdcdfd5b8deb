"""The CPU engine: operands, clock, caches, threads, and which engine is chosen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from sprintprof.bench.case import Skip
from sprintprof.bench.engines import numpy_engine
from sprintprof.bench.engines.base import Engine
from sprintprof.bench.engines.numpy_engine import NumpyEngine
from sprintprof.bench.engines.select import get_engine
from sprintprof.records import InputError


def test_it_is_an_engine() -> None:
    engine: Engine = NumpyEngine()
    assert engine.name == "numpy"
    assert "threads" in engine.device_name() or "unknown BLAS" in engine.device_name()


def test_random_operands_are_normal_and_by_seed() -> None:
    engine = NumpyEngine()
    first, again, other = (engine.random((200, 100), "fp32", seed=s) for s in (1, 1, 2))
    assert first.dtype == np.float32
    assert first.flags.c_contiguous
    assert (first == again).all()
    assert (first != other).mean() > 0.99
    assert abs(first.mean()) < 6 / np.sqrt(first.size)
    assert first.std() == pytest.approx(1, abs=0.03)


@pytest.mark.parametrize(("precision", "dtype"), [("fp64", np.float64), ("fp32", np.float32), ("fp16", np.float16)])
def test_fills(precision: str, dtype: type) -> None:
    engine = NumpyEngine()
    assert engine.random((3,), precision, fill="ones").tolist() == [1, 1, 1]
    assert engine.random((3,), precision, fill="zeros").tolist() == [0, 0, 0]
    assert engine.random((3,), precision).dtype == engine.zeros((3,), precision).dtype == dtype
    with pytest.raises(InputError, match="sevens"):
        engine.random((3,), precision, fill="sevens")


@pytest.mark.parametrize(("precision", "reason"), [("bf16", "bfloat16"), ("tf32", "tensor cores")])
def test_precisions_that_numpy_lacks_are_skipped(precision: str, reason: str) -> None:
    with pytest.raises(Skip, match=reason):
        NumpyEngine().zeros((1,), precision)
    with pytest.raises(Skip, match=reason):
        NumpyEngine().op("add", precision)


def test_an_unknown_precision_is_an_input_error() -> None:
    with pytest.raises(InputError, match="fp12"):
        NumpyEngine().zeros((1,), "fp12")


def test_labels() -> None:
    labels = NumpyEngine().integers((1000,), 7, seed=3)
    assert labels.dtype == np.int64
    assert set(labels.tolist()) == set(range(7))


def test_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([1_000, 2_501_000])
    monkeypatch.setattr(numpy_engine.time, "perf_counter_ns", lambda: next(now))
    device_s, host_s = NumpyEngine().start().stop()
    assert device_s == host_s == pytest.approx(2.5e-3)


def cache(folder: Path, index: int, kind: str, size: str) -> None:
    place = folder / f"index{index}"
    place.mkdir()
    (place / "type").write_text(f"{kind}\n")
    (place / "size").write_text(f"{size}\n")


def test_the_last_level_is_the_largest_data_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numpy_engine, "_CACHES", tmp_path)
    assert NumpyEngine().last_level_cache_bytes() == 0
    for index, (kind, size) in enumerate(
        [("Data", "32K"), ("Instruction", "64M"), ("Unified", "1024K"), ("Unified", "3M"), ("Unified", "unknown")]
    ):
        cache(tmp_path, index, kind, size)
    assert NumpyEngine().last_level_cache_bytes() == 3 << 20


def test_flushing_writes_twice_the_cache_and_allocates_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numpy_engine, "_CACHES", tmp_path)
    cache(tmp_path, 0, "Unified", "2M")
    engine = NumpyEngine()
    engine.flush_caches()
    buffer = engine._flush_buffer
    assert buffer is not None
    assert buffer.nbytes >= 2 * (2 << 20)
    before = buffer.copy()
    engine.flush_caches()
    assert engine._flush_buffer is buffer
    assert (buffer != before).all()


def test_threads_are_limited_and_seen() -> None:
    blas = [i for i in threadpool_info() if i["user_api"] == "blas"]
    if not blas:
        pytest.skip("threadpoolctl knows no BLAS here")
    with threadpool_limits():  # restores what was before
        engine = NumpyEngine(threads=1)
        assert {b["num_threads"] for b in engine.blas()} == {1}
        assert "1 threads" in engine.device_name()
    with pytest.raises(InputError, match="threads"):
        NumpyEngine(threads=0)


def test_choosing_an_engine() -> None:
    assert get_engine("numpy").name == "numpy"
    assert get_engine().name in ("numpy", "cupy")
    with pytest.raises(InputError, match="unknown"):
        get_engine("torch")


def test_cupy_without_a_device_says_what_to_install() -> None:
    with pytest.raises(InputError, match=r"install sprintprof\[gpu12\]") as error:
        get_engine("cupy")
    assert error.value.exit_code == 2
