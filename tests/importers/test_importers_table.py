"""CSV tables by a column map: values, units, parts, filters, and one line for every mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from sprintprof.importers.table import load_map, read_table
from sprintprof.networks.kernels import KERNELS
from sprintprof.records import InputError

MAP = """
device = { column = "gpu" }
engine = "cudnn"
source = "made up"
statistic = "best of 3"
[where]
framework = ["native", "cudnn"]
[parameters]
batch = { column = "in_shape", part = 0 }
channels = { column = "in_shape", part = 1 }
height = { column = "in_shape", part = 2 }
width = { column = "in_shape", part = -1 }
filters = "K"
kernel_h = "R"
kernel_w = "R"
stride_h = { column = "stride", default = 1 }
stride_w = { column = "stride", default = 1 }
pad_h = { column = "pad", default = 0 }
pad_w = { column = "pad", default = 0 }
dilation = 1
groups = 1
precision = { column = "dtype", values = { Float = "fp32", Half = "fp16" } }
layout = { value = "NCHW" }
[[series]]
benchmark = "conv_forward"
time = "fwd_ms"
unit = "ms"
[[series]]
benchmark = "conv_backward_data"
time = "bwd_us"
unit = "us"
skip_values = ["N/A"]
"""
TABLE = """framework,gpu,in_shape,K,R,stride,pad,dtype,fwd_ms,bwd_us
native,Card A,8 3 32 32,16,3,2,1,Float,1.5,2500
native,Card A,8 3 32 32,16,3,2,1,Float,1.7,N/A
cudnn,Card B,8 3 32 32,16,3,,,Half,0.5,
opencl,Card A,8 3 32 32,16,3,1,1,Float,9,9
native,Card A,8 3 32,16,3,1,1,Double,1,1
native,Card A,8 3 32 32,16,3,1,1,Float,-1,0
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "t.csv").write_text(TABLE)
    (tmp_path / "m.toml").write_text(MAP)
    return tmp_path / "t.csv", tmp_path / "m.toml"


def test_rows_become_measurements_by_device(files: tuple[Path, Path]) -> None:
    table, column_map = files
    imported = read_table(table, load_map(column_map))
    assert set(imported.devices) == {"Card A", "Card B"}
    first, backward, again = imported.devices["Card A"]
    assert first.point.benchmark == "conv_forward"
    assert first.point.engine == "cudnn"
    assert first.median_s == pytest.approx(1.5e-3)
    assert first.point.parameters["height"] == 32
    assert first.point.parameters["stride_h"] == 2
    assert first.flop == KERNELS["conv_forward"].flop(first.point.parameters)
    assert list(first.point.parameters) == list(KERNELS["conv_forward"].parameters)
    assert first.extra["line"] == 2
    assert first.extra["statistic"] == "best of 3"
    assert backward.point.benchmark == "conv_backward_data"
    assert backward.median_s == pytest.approx(2.5e-3)
    assert again.point.launch == 1
    (other,) = imported.devices["Card B"]
    assert other.point.parameters["precision"] == "fp16"
    assert other.point.parameters["pad_h"] == 0
    assert other.point.parameters["stride_w"] == 1


def test_rows_that_cannot_be_read_are_reported_by_line(files: tuple[Path, Path]) -> None:
    troubles = read_table(files[0], load_map(files[1])).troubles
    assert [(t.line, t.why.split(":")[0]) for t in troubles] == [
        (6, "conv_forward"), (6, "conv_backward_data"), (7, "conv_forward"), (7, "conv_backward_data"),
    ]  # fmt: skip
    assert "does not say what 'Double' means" in troubles[0].why
    assert "not above 0" in troubles[2].why


def test_collectives_have_ranks(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text(
        'device = "Card"\n[[series]]\nbenchmark = "allreduce"\ntime = "t"\nunit = "ms"\nranks = "gpus"\n'
        'parameters = { size_bytes = "bytes", algorithm = { value = "library" } }\n'
    )
    (tmp_path / "t.csv").write_text("gpus,bytes,t\n2,1024,0.5\n4,1024,0.75\n")
    two, four = read_table(tmp_path / "t.csv", load_map(tmp_path / "m.toml")).devices["Card"]
    assert (two.point.ranks, four.point.ranks) == (2, 4)
    assert two.point.parameters == {"size_bytes": 1024, "algorithm": "library"}


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('unit = "ms"', 'unit = "fortnight"', "not a unit"),
        ('filters = "K"\n', "", "lacks the parameter filters"),
        ('filters = "K"\n', 'filters = "K"\ncolour = "K"\n', "has no parameter colour"),
        ('filters = "K"', 'filters = "Q"', "has no column 'Q'"),
        ('time = "fwd_ms"', 'time = "nothing"', "has no column 'nothing'"),
        ("part = 0", "part = 'x'", "is no column map"),
        ("device =", "devise =", "is no column map"),
        ("[where]", "[where", "is no column map"),
    ],
)
def test_a_wrong_map_is_one_line(files: tuple[Path, Path], old: str, new: str, says: str) -> None:
    table, column_map = files
    column_map.write_text(MAP.replace(old, new, 1))
    with pytest.raises(InputError, match=says) as error:
        read_table(table, load_map(column_map))
    assert "\n" not in str(error.value)


def test_files_that_are_no_tables(files: tuple[Path, Path], tmp_path: Path) -> None:
    table_map = load_map(files[1])
    for name, content in {"empty.csv": b"", "binary.csv": b"\xff\xfe\x00\x01", "other.csv": b"a,b\n1,2\n"}.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError):
            read_table(tmp_path / name, table_map)
    with pytest.raises(InputError, match="cannot be read"):
        read_table(tmp_path / "absent.csv", table_map)
    with pytest.raises(InputError, match="cannot be read"):
        load_map(tmp_path / "absent.toml")
