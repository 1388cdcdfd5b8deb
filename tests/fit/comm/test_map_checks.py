"""Switch maps that could predict nonsense are refused; the map in words; crossings beyond the measured ranks."""

from __future__ import annotations

import math

import msgspec
import pytest
from fit_data import dataset, measured

from sprintprof.fit.build import fit_profile
from sprintprof.fit.report import fit_rows
from sprintprof.profile import Estimator, Fit, Profile
from sprintprof.profile.check import problems
from sprintprof.profile.message_families import crossings, describe
from sprintprof.profile.segments import Segment


def profile_of(cell: Segment, coefficients: list[float], features: list[str]) -> Profile:
    points = [
        measured("allreduce", 1e-6 * p + 1e-9 * n, ranks=p, size_bytes=n) for p in (2, 4, 8) for n in (8, 4096, 1 << 20)
    ]
    profile = fit_profile([dataset(points)])
    fit = next(f for f in profile.fits if not f.fixed)
    return msgspec.structs.replace(
        profile, fits=[msgspec.structs.replace(fit, segments=[cell], coefficients=coefficients, features=features)]
    )


GOOD = Segment(0.0, 0.0, 1e6, "ring", 0, 2, 0.8, 1.2)
RING = ["ring(steps)", "ring(size_bytes)"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"first": 1}, "coefficients are not there"),
        ({"first": -1}, "coefficients are not there"),
        ({"count": 0}, "coefficients are not there"),
        ({"kind": "incast"}, "three coefficients"),
        ({"low": 1.1}, "interval"),
        ({"high": math.inf}, "interval"),
        ({"from_bytes": -1.0}, "impossible numbers"),
        ({"quantiles": [1.0]}, "impossible numbers"),
        ({"jitter_cv": -0.5}, "impossible numbers"),
    ],
)
def test_a_cell_that_says_nonsense_is_refused(change: dict[str, object], message: str) -> None:
    (wrong,) = problems(profile_of(msgspec.structs.replace(GOOD, **change), [1e-6, 1e-9], RING))
    assert message in wrong


def test_coefficients_must_be_sound() -> None:
    assert not list(problems(profile_of(GOOD, [1e-6, 1e-9], RING)))
    assert "negative" in next(problems(profile_of(GOOD, [1e-6, -1e-9], RING)))
    assert "0 everywhere" in next(problems(profile_of(GOOD, [0.0, 0.0], RING)))
    assert "unknown feature" in next(problems(profile_of(GOOD, [1e-6, 1e-9], ["ring(steps)", "spiral(steps)"])))
    empty = profile_of(GOOD, [1e-6, 1e-9], RING)
    bare = msgspec.structs.replace(empty, fits=[msgspec.structs.replace(empty.fits[0], segments=[])])
    assert "no segments" in next(problems(bare))


def test_a_ring_far_beyond_its_ranks_may_cross_a_switch() -> None:
    profile = profile_of(GOOD, [1e-6, 1e-9], RING)
    fit: Fit = profile.fits[0]
    estimate = Estimator(profile).message_time("allreduce", 1024, 1024)
    assert any("may cross a switch: with the same α and β r" in line for line in estimate.extrapolated)
    assert crossings(fit, 1024, 8, 1.4e-5) == []  # measured there: the library did what it did


def test_the_map_is_told_in_words() -> None:
    profile = profile_of(GOOD, [1e-6, 1e-9], RING)
    assert describe(profile.fits[0]) == ["from 0 B: ring 1e-06·ring(steps) + 1e-09·ring(size_bytes)"]
    assert "ring 1e-06·ring(steps)" in fit_rows(profile)[0]
