"""A measurement as the store hands it round: its row at once, its samples when they are wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import msgspec
import numpy as np

from sprintprof.records import InputError, Measurement, SampleSet, Value
from sprintprof.records.measurement import empty_samples
from sprintprof.store.failures import words


class SampleShape(NamedTuple):
    """What samples there are: column names, their common length, ranks of `rank_times_s` (None without), missing."""

    columns: tuple[str, ...]
    length: int
    ranks: int | None
    missing: dict[str, str]


class Stored(NamedTuple):
    """`row` is the measurement without samples, `load` reads the samples.

    `session` is the id of the launch that took it and `origin` the key its point had then: together they tell two
    measurements apart, whatever launch number a merge gives to one of them.
    """

    row: Measurement
    session: str
    origin: str
    shape: SampleShape
    load: Callable[[], SampleSet]

    def measurement(self) -> Measurement:
        """The whole measurement, samples read. Raises InputError where the file cannot be read any more."""
        try:
            return msgspec.structs.replace(self.row, samples=self.load())
        except OSError as error:
            where = str(error.filename or self.row.point.label())
            raise InputError(where, f"its samples cannot be read: {words(error)[0]}", words(error)[1]) from None


class Measurements(Mapping[str, Measurement]):
    """Measurements by key, each read from its file when it is asked for, so that memory stays small."""

    def __init__(self, stored: dict[str, Stored]) -> None:
        self._stored = stored

    def __getitem__(self, key: str) -> Measurement:
        return self._stored[key].measurement()

    def __iter__(self) -> Iterator[str]:
        return iter(self._stored)

    def __len__(self) -> int:
        return len(self._stored)


def _plain(value: object) -> Value:
    """A value of exactly one of the four types a parameter has; NumPy scalars become them."""
    if type(value) in (bool, int, float, str):
        return value  # type: ignore[return-value]
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, bool | int | float | str):
        return plain
    raise ValueError(f"a value must be bool, int, float or text, not {type(value).__name__}")


def prepare(measurement: Measurement) -> tuple[Measurement, SampleShape, list[np.ndarray]]:
    """A measurement's row with plain values, the shape of its samples, and their arrays as little-endian float64.

    The arrays are the columns in order and, where there is one, the (n, ranks) array of rank times. Raises ValueError
    where their shapes do not fit together.
    """
    samples = measurement.samples
    columns = {name: np.ascontiguousarray(a, "<f8") for name, a in samples.columns.items()}
    arrays = list(columns.values())
    count = len(arrays[0]) if arrays else 0
    if "time_s" not in columns or any(a.shape != (count,) for a in arrays):
        raise ValueError(f"{measurement.point.label()}: sample columns must be time_s and others of shape ({count},)")
    if any(len(flag.split()) != 1 for flag in measurement.flags):
        raise ValueError(f"{measurement.point.label()}: a flag is one word, not {measurement.flags}")
    ranks = None
    if samples.rank_times_s is not None:
        block = np.ascontiguousarray(samples.rank_times_s, "<f8")
        if block.ndim != 2 or len(block) != count:
            raise ValueError(f"{measurement.point.label()}: rank_times_s must be ({count}, ranks), not {block.shape}")
        arrays.append(block)
        ranks = block.shape[1]
    row = msgspec.structs.replace(
        measurement, extra={k: _plain(v) for k, v in measurement.extra.items()}, samples=_NO_SAMPLES
    )
    return row, SampleShape(tuple(columns), count, ranks, dict(samples.missing)), arrays


_NO_SAMPLES = empty_samples()


def in_memory(measurement: Measurement, session: str) -> Stored:
    """A measurement that is not in a file yet."""
    row, shape, _ = prepare(measurement)
    return Stored(row, session, row.key, shape, lambda: measurement.samples)
