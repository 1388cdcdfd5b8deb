"""Reading a data set: layouts, readers, caches, decode; failures say what happened and leave nothing behind."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sprintprof.bench.case import Case, Skip, Work
from sprintprof.bench.engines.numpy_engine import NumpyEngine
from sprintprof.bench.registry import get_benchmark
from sprintprof.bench.storage import dataset, page_cache, read
from sprintprof.bench.storage.decode import decode
from sprintprof.bench.storage.page_cache import drop_files, resident_share
from sprintprof.records import InputError, Missing, Value

SMALL: dict[str, Value] = {"sample_bytes": 30_000, "samples": 7, "readers": 1, "cache": "warm"}


def build(scratch: Path, fill: str = "random", **given: Value) -> Work:
    found = get_benchmark("storage_read")
    parameters = found.parameters({**SMALL, **given})
    work = found.build(Case(parameters, NumpyEngine(), seed=5, fill=fill, scratch=str(scratch)))
    assert isinstance(work, Work)
    return work


@pytest.fixture
def on_disk(tmp_path: Path) -> Path:
    """A folder whose page cache can be dropped."""
    probe = tmp_path / "probe"
    probe.write_bytes(bytes(1 << 16))
    with probe.open("rb") as file:
        os.fsync(file.fileno())
    drop_files([probe])
    share = resident_share([probe])
    if isinstance(share, Missing) or share > 0:
        pytest.skip(f"the page cache of {tmp_path} cannot be dropped or seen: {share}")
    probe.unlink()
    return tmp_path


@pytest.fixture
def closing() -> Iterator[list[Work]]:
    """Works that are closed at the end."""
    works: list[Work] = []
    yield works
    for work in works:
        assert work.close is not None
        work.close()


@pytest.mark.parametrize("layout", ["hdf5", "files"])
@pytest.mark.parametrize("readers", [1, 3])
def test_reading_warm(tmp_path: Path, closing: list[Work], layout: str, readers: int) -> None:
    work = build(tmp_path, layout=layout, readers=readers)
    closing.append(work)
    for _ in range(2):
        work.call()
    assert work.verify is not None
    assert work.verify() == ""
    pool: Any = work.call.__self__  # type: ignore[attr-defined]
    assert len({last["index"] for last in pool.last()}) == readers, "readers share the samples, none reads all"
    assert (work.operations, work.bytes, work.working_set_bytes) == (7, 30_000, 210_000)
    assert work.cache == "untouched"
    assert work.before_sample is None
    assert set(work.extra) == set(get_benchmark("storage_read").columns)
    assert math.isnan(float(work.extra["resident_share"]))


def test_closing_leaves_no_files_and_no_processes(tmp_path: Path) -> None:
    work = build(tmp_path, layout="files")
    assert len(list(tmp_path.iterdir())) == 1
    assert work.close is not None
    work.close()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_reading_cold(on_disk: Path, closing: list[Work]) -> None:
    work = build(on_disk, layout="files", cache="cold")
    closing.append(work)
    assert work.extra == {"resident_share": 0.0, "cache_note": "dropped"}
    paths = sorted(next(on_disk.iterdir()).iterdir())
    work.call()
    assert resident_share(paths) == 1
    assert work.before_sample is not None
    work.before_sample()
    assert resident_share(paths) == 0


def test_its_check_sees_a_wrong_sample(tmp_path: Path, closing: list[Work]) -> None:
    work = build(tmp_path, layout="files")
    closing.append(work)
    for path in next(tmp_path.iterdir()).iterdir():
        path.write_bytes(bytes(30_000))
    work.call()
    assert work.verify is not None
    assert "expected" in work.verify()


def test_a_reader_that_dies_is_an_error_with_its_reason(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    work = build(tmp_path, layout="files", readers=2)
    for path in next(tmp_path.iterdir()).iterdir():
        path.write_bytes(b"short")
    with pytest.raises(OSError, match="a reader of the data set ended with exit status 1"):
        work.call()
    assert work.close is not None
    work.close()
    assert "5 bytes read, 30000 expected" in capfd.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_where_the_cache_cannot_be_dropped_it_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(1, "not here")

    monkeypatch.setattr(os, "posix_fadvise", refuse)
    with pytest.raises(Skip, match="not here"):
        build(tmp_path, cache="cold")
    assert list(tmp_path.iterdir()) == []


def test_a_cache_that_stays_full_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "drop_files", lambda _: None)
    monkeypatch.setattr(read, "resident_share", lambda _: 0.8)
    with pytest.raises(Skip, match="80% of the pages stay"):
        build(tmp_path, cache="cold")


def test_an_effect_that_cannot_be_seen_is_noted(
    tmp_path: Path, closing: list[Work], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read, "resident_share", lambda _: Missing("this system has no mincore"))
    work = build(tmp_path, cache="cold")
    closing.append(work)
    assert math.isnan(float(work.extra["resident_share"]))
    assert "missing(this system has no mincore)" in str(work.extra["cache_note"])


def test_dropping_everything_needs_the_right_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_cache, "_DROP_CACHES", tmp_path / "missing" / "drop_caches")
    monkeypatch.setattr(os, "sync", lambda: None)
    with pytest.raises(Skip, match="cannot be dropped"):
        build(tmp_path, cache="cold-system")


def test_no_room_is_skipped(tmp_path: Path) -> None:
    with pytest.raises(Skip, match="do not fit"):
        build(tmp_path, samples=1 << 40)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({"layout": "tar"}, "layout"),
        ({"cache": "hot"}, "cache"),
        ({"sample_bytes": 100}, "sample_bytes"),
        ({"sample_bytes": 0}, "sample_bytes"),
        ({"samples": 0}, "samples"),
        ({"readers": 0}, "readers"),
        ({"readers": 8}, "readers"),
    ],
)
def test_impossible_cases_are_named(tmp_path: Path, given: dict[str, Value], place: str) -> None:
    with pytest.raises(InputError, match=f"axis {place}"):
        build(tmp_path, **given)


def test_decode_is_the_formula() -> None:
    """Pixel (255, 0, 51): (1 − .485)/.229, (0 − .456)/.224, (.2 − .406)/.225."""
    out = np.empty((3, 2), np.float32)
    decode(np.array([255, 0, 51, 0, 0, 0], np.uint8), out)
    np.testing.assert_allclose(out[:, 0], [0.515 / 0.229, -0.456 / 0.224, -0.206 / 0.225], rtol=1e-6)
    np.testing.assert_allclose(out[:, 1], [-0.485 / 0.229, -0.456 / 0.224, -0.406 / 0.225], rtol=1e-6)


@pytest.mark.parametrize(("fill", "values"), [("ones", {1}), ("zeros", {0})])
def test_constant_samples(fill: str, values: set[int]) -> None:
    assert set(dataset.sample(3, 30, 0, fill).tolist()) == values


def test_random_samples_are_by_seed_and_index() -> None:
    first: Any = dataset.sample(3, 3000, 1, "random")
    assert (first == dataset.sample(3, 3000, 1, "random")).all()
    for index, seed in ((4, 1), (3, 2)):
        assert (first != dataset.sample(index, 3000, seed, "random")).mean() > 0.9


def test_resident_share_of_empty_files_is_missing(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    assert isinstance(resident_share([tmp_path / "empty"]), Missing)
