"""A profile on disk: round trip, and refusal of everything that is not one."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sprintprof.profile import Fit, FitError, Profile, Spread, load_profile, save_profile
from sprintprof.profile import files as profile_files
from sprintprof.records import InputError


def a_fit(**changes: Any) -> Fit:
    fit = Fit(
        benchmark="relu_forward",
        engine="numpy",
        level="layer",
        fixed={"features": 100, "precision": "fp32"},
        family="linear",
        features=["1", "batch"],
        coefficients=[1e-6, 2e-7],
        covariance=[[1e-16, 0.0], [0.0, 1e-18]],
        range={"batch": (1.0, 32.0), "time_s": (1.2e-6, 7.4e-6)},
        error=FitError(0.01, 0.02, 0.05, "leave-one-batch-out", 6),
        jitter_cv=0.03,
        points=6,
        data_sha256="0" * 64,
        scale="batch",
        spread=Spread(0.95, 1.05),
    )
    return msgspec.structs.replace(fit, **changes)


def a_profile(*fits: Fit) -> Profile:
    return Profile("box", "2025-01-01T00:00:00+00:00", "0.1.0", {"cpu.cores": 2}, [], list(fits or [a_fit()]), [])


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "p.json"
    save_profile(a_profile(), path)
    return path


def edit(path: Path, change: Any, checksum: str | None = None) -> None:
    value = json.loads(path.read_text())
    change(value)
    if checksum is not None:
        value["checksum"] = checksum
    path.write_text(json.dumps(value))


def refused(path: Path | str) -> str:
    with pytest.raises(InputError) as error:
        load_profile(path)
    text = str(error.value)
    assert "\n" not in text
    assert len(text) < 700
    return text


def test_round_trip(saved: Path) -> None:
    loaded = load_profile(saved)
    assert msgspec.structs.replace(loaded, checksum="") == a_profile()
    assert list(saved.parent.iterdir()) == [saved]  # no temporary file stays


def test_nothing_is_overwritten_unless_told(saved: Path) -> None:
    before = saved.read_bytes()
    with pytest.raises(InputError, match="exists already"):
        save_profile(a_profile(a_fit(points=7)), saved)
    assert saved.read_bytes() == before
    save_profile(a_profile(a_fit(points=7)), saved, overwrite=True)
    assert load_profile(saved).fits[0].points == 7


def test_an_unwritable_place_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        save_profile(a_profile(), tmp_path / "absent" / "p.json")


def test_a_newer_version_is_refused(saved: Path) -> None:  # U80
    edit(saved, lambda v: v.update(version=2))
    assert "profile version 2" in refused(saved)


@pytest.mark.parametrize("version", [0, -1, True, "1", None, 1.5, [1]])
def test_an_impossible_version_is_refused(saved: Path, version: object) -> None:
    edit(saved, lambda v: v.update(version=version))
    assert "no valid schema version" in refused(saved)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty"),
        (b"  \n", "is empty"),
        (b"[1, 2]", "not a sprintprof profile"),
        (b'{"schema": "other", "version": 1}', "not a sprintprof profile"),
        (b'"text"', "not a sprintprof profile"),
        (b"\x89HDF\r\n\x1a\n", "results file"),
        (b"\x00\xff\xfe binary", "not JSON"),
        (b'{"schema": "sprintprof-profile"', "cut off"),
        (b"[" * 300_000, "not JSON"),
        (b'{"schema": NaN}', "not JSON"),
        (b'{"version": 1e400}', "not JSON"),
        (b'{"schema": "sprintprof-profile", "version": 1}', "does not follow"),
        (b'{"schema": "sprintprof-profile", "version": ' + b"9" * 5000 + b"}", ""),
    ],
)
def test_foreign_files_are_refused(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content)
    assert says in refused(path)


def test_missing_files_folders_pipes_and_names_are_refused(tmp_path: Path) -> None:
    assert "cannot be read" in refused(tmp_path / "absent.json")
    assert "cannot be read" in refused(tmp_path) or "regular" in refused(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    assert "not a regular file" in refused(tmp_path / "pipe")
    assert "not a regular file" in refused("/dev/zero")
    assert "not a file name" in refused("a\0b")


def test_a_huge_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "huge.json"
    with open(path, "wb") as file:
        file.truncate(profile_files.MAX_BYTES + 1)  # sparse
    assert "too many" in refused(path)


def test_every_cut_is_refused(saved: Path) -> None:
    whole = saved.read_bytes()
    for length in range(0, len(whole) - 2, 37):
        saved.write_bytes(whole[:length])
        refused(saved)


@settings(max_examples=150, deadline=None)
@given(place=st.integers(0, 10_000), byte=st.integers(0, 255))
def test_a_changed_byte_never_changes_a_prediction_in_silence(
    tmp_path_factory: pytest.TempPathFactory, place: int, byte: int
) -> None:
    path = tmp_path_factory.mktemp("damage") / "p.json"
    save_profile(a_profile(), path)
    raw = bytearray(path.read_bytes())
    raw[place % len(raw)] = byte
    path.write_bytes(bytes(raw))
    try:
        loaded = load_profile(path)
    except InputError:
        return
    assert msgspec.structs.replace(loaded, checksum="", warnings=[]) == a_profile()


def test_an_edit_needs_the_users_word(saved: Path) -> None:
    def faster(value: dict[str, Any]) -> None:
        value["fits"][0]["coefficients"] = [1e-9, 2e-9]

    edit(saved, faster)
    text = refused(saved)
    assert "checksum does not match" in text
    assert '"checksum": "unchecked"' in text
    edit(saved, faster, checksum="unchecked")
    loaded = load_profile(saved)
    assert loaded.fits[0].coefficients == [1e-9, 2e-9]
    assert any("edited by hand" in w for w in loaded.warnings)


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("coefficients", [-1e-6, 2e-7], "negative coefficient"),
        ("coefficients", [0.0, 0.0], "predicts 0"),
        ("features", ["1"], "2 coefficients for 1 features"),
        ("features", ["1", "__import__('os')"], "unknown feature"),
        ("features", ["1", "ceil(batch/0)"], "unknown feature"),
        ("covariance", [[1.0]], "covariance"),
        ("covariance", [[-1.0, 0.0], [0.0, 1.0]], "negative variance"),
        ("range", {"batch": [32, 1]}, "range"),
        ("range", {"batch": [1, 2, 3]}, "does not follow"),
        ("jitter_cv", -0.1, "jitter_cv"),
        ("points", 0, "no points"),
        ("family", "oracle", "needs the family 'oracle'"),
        ("scale", "", "scale axis"),
        ("spread", {"low": 0.0, "high": 1.1}, "interval"),
        ("error", {"median": 0.5, "p90": 0.1, "worst": 1, "method": "x", "points": 3}, "median ≤ p90"),
        ("data_sha256", 12, "does not follow"),
        ("surprise", 1, "does not follow"),
        ("shapes", [[1.0]], "shape_axes"),
        ("level", "cosmic", "does not follow"),
    ],
)
def test_what_no_fit_can_say_is_refused_even_unchecked(saved: Path, field: str, value: object, says: str) -> None:
    edit(saved, lambda v: v["fits"][0].update({field: value}), checksum="unchecked")
    assert says in refused(saved)


def test_one_fit_twice_is_refused(saved: Path) -> None:
    edit(saved, lambda v: v["fits"].append(v["fits"][0]), checksum="unchecked")
    assert "there twice" in refused(saved)


def test_an_unsound_profile_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not finite"):
        save_profile(a_profile(a_fit(coefficients=[math.nan, 1.0])), tmp_path / "p.json")
    assert not list(tmp_path.iterdir())


def test_the_published_schema_is_current() -> None:
    published = Path(profile_files.__file__).with_name("profile.schema.json").read_bytes()
    assert published == profile_files.json_schema(), (
        "write sprintprof.profile.files.json_schema() to profile.schema.json"
    )
