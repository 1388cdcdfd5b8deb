"""Every engine has the operations of the table, with its signatures."""

from __future__ import annotations

import inspect

import pytest

from sprintprof.bench.case import Skip
from sprintprof.bench.engines.numpy_engine import NumpyEngine
from sprintprof.bench.engines.numpy_ops import OPERATIONS
from sprintprof.bench.engines.operations import NAMES, Operations


def test_numpy_has_the_operations_of_the_table_and_no_others() -> None:
    assert set(OPERATIONS) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_signatures_are_those_of_the_table(name: str) -> None:
    declared = list(inspect.signature(getattr(Operations, name)).parameters.values())[1:]
    offered = list(inspect.signature(NumpyEngine().op(name)).parameters.values())
    assert [(p.name, p.default) for p in offered] == [(p.name, p.default) for p in declared]


def test_an_unknown_operation_is_skipped_with_its_name() -> None:
    with pytest.raises(Skip, match="fft"):
        NumpyEngine().op("fft")
