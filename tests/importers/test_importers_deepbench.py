"""DeepBench workbooks: made small here, and the published ones beside their transcription where the data are."""

from __future__ import annotations

import csv
import os
import zipfile
from collections import Counter
from pathlib import Path
from xml.sax.saxutils import escape

import msgspec
import pytest

from sprintprof import importers
from sprintprof.fit.build import fit_profile
from sprintprof.fit.sources import read_dataset
from sprintprof.importers.deepbench import read_deepbench
from sprintprof.importers.published import write_published
from sprintprof.importers.table import load_map, read_table
from sprintprof.importers.xlsx import read_workbook
from sprintprof.profile import Estimator
from sprintprof.records import InputError, Measurement

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("SPRINTPROF_DATA", ROOT.parent / "shared" / "data")) / "deepbench"
SPREADSHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"

PRODUCTS = [
    ["Dense Matrix Multiplication", "", "M", "N", "K", "A Transpose", "B Transpose", "", "Time (msec)", "TERAFLOPS"],
    ["", "DeepSpeech", 1760, 16, 1760, "N", "N", "", 0.13, 0.76],
    ["", "DeepSpeech", 2048, 32, 2048, "T", "N", "", "N/A", ""],
    ["", "DeepSpeech", 2048, 7133, 2048, "N", "T", "(both are 2048x7133)", -1, ""],
]
WIDTH_FIRST = ["S (Filter width)", "R (Filter height)", "pad_w", "pad_h", "Horizontal stride", "Vertical stride"]
HEIGHT_FIRST = ["R", "S", "pad_h", "pad_w", "Vertical stride", "Horizontal stride"]
TIMES = ["Forward (msec)", "wrt Inputs (msec)", "wrt Parameters (msec)", "", "P", "Q", "Total Time (msec)"]
ALL_REDUCE = [
    ["All-Reduce", "", "Size # floats", "# chips / accelerator cards", "", "", "Mean All Reduce Time (msec)"],
    ["", "", 100000, 2, "", "", 0.11],
    ["", "", 100000, 16, 2, "", 0.45],
    ["", "", 100000, 32, 4, "", ""],
]


def convolutions(order: list[str], window: list[int]) -> list[list[object]]:
    return [
        ["Convolution"],
        ["", "", "W", "H", "C", "N", "K ", *order, *TIMES],
        ["", "", 700, 161, 1, 4, 32, *window, 0.289, "N/A*", 0.366, "", 341, 79, 0.655],
        ["", "", 341, 79, 32, 4, 32, *window, 0.5, 0.75, 0.6, "", 341, 79, 1.85],
        ["", "", "", "* = the first layer has no gradient of its input"],
    ]


def workbook(path: Path, sheets: dict[str, list[list[object]]]) -> Path:
    texts: list[str] = []
    members = {}
    for place, rows in enumerate(sheets.values(), 1):
        lines = []
        for number, row in enumerate(rows, 1):
            cells = ""
            for column, value in zip("ABCDEFGHIJKLMNOPQRSTUVW", row, strict=False):
                if isinstance(value, str) and value:
                    texts.append(value)
                    cells += f'<c r="{column}{number}" t="s"><v>{len(texts) - 1}</v></c>'
                elif value != "":
                    cells += f'<c r="{column}{number}"><v>{value}</v></c>'
            lines.append(f'<row r="{number}">{cells}</row>')
        body = "".join(lines)
        members[f"xl/worksheets/sheet{place}.xml"] = (
            f'<worksheet xmlns="{SPREADSHEET}"><sheetData>{body}</sheetData></worksheet>'
        )
    listed = "".join(f'<sheet name="{escape(n)}" r:id="rId{i}"/>' for i, n in enumerate(sheets, 1))
    members["xl/workbook.xml"] = (
        f'<workbook xmlns="{SPREADSHEET}" xmlns:r="{RELATIONS}"><sheets>{listed}</sheets></workbook>'
    )
    targets = "".join(
        f'<Relationship Id="rId{i}" Target="worksheets/sheet{i}.xml"/>' for i in range(1, len(sheets) + 1)
    )
    members["xl/_rels/workbook.xml.rels"] = f"<Relationships>{targets}</Relationships>"
    shared = "".join(f"<si><t>{escape(t)}</t></si>" for t in texts)
    members["xl/sharedStrings.xml"] = f'<sst xmlns="{SPREADSHEET}">{shared}</sst>'
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


@pytest.fixture
def small(tmp_path: Path) -> Path:
    float_sheet = [["Precision", "Float"], *PRODUCTS, *convolutions(WIDTH_FIRST, [20, 5, 1, 2, 2, 3]), *ALL_REDUCE]
    half = [
        ["Precision", "16 bit inputs, 16 bit multiplication, 32 bit addition"],
        *convolutions(HEIGHT_FIRST, [5, 20, 2, 1, 3, 2]),
    ]
    specs: list[list[object]] = [["CPU Model", "a CPU"], ["GPU Model", "a GPU"]]
    return workbook(tmp_path / "DeepBench_NV_Test.xlsx", {"Results - FP32": float_sheet, "FP16": half, "Specs": specs})


def of(measurements: list[Measurement], benchmark: str) -> list[Measurement]:
    return [m for m in measurements if m.point.benchmark == benchmark]


def test_headings_say_which_column_is_which(small: Path) -> None:
    book = read_deepbench(small)
    assert book.device == "NV_Test"
    assert book.facts["GPU Model"] == "a GPU"
    (product,) = of(book.measurements, "gemm")
    assert product.point.parameters == {"m": 1760, "n": 16, "k": 1760, "transpose": "nn", "precision": "fp32"}
    assert product.median_s == pytest.approx(1.3e-4)
    forward = of(book.measurements, "conv_forward")
    assert [m.point.parameters["precision"] for m in forward] == ["fp32", "fp32", "fp16", "fp16"]
    windows = [
        [m.point.parameters[k] for k in ("kernel_h", "kernel_w", "pad_h", "pad_w", "stride_h", "stride_w")]
        for m in forward
    ]
    assert windows == [[5, 20, 2, 1, 3, 2]] * 4  # whichever order the workbook has
    assert len(of(book.measurements, "conv_backward_data")) == 2  # not of the first layer
    assert len(of(book.measurements, "conv_backward_filter")) == 4
    two, sixteen = of(book.measurements, "allreduce")
    assert two.point.parameters == {
        "size_bytes": 400_000,
        "algorithm": "library",
        "precision": "fp32",
        "placement": "packed",
    }
    assert (two.point.ranks, sixteen.point.ranks) == (2, 16)
    assert sixteen.point.parameters["placement"] == "spread"
    assert [(t.line, "not above 0" in t.why) for t in book.troubles] == [(5, True)]


def test_a_workbook_becomes_a_profile(small: Path, tmp_path: Path) -> None:
    book = read_deepbench(small)
    path = write_published(
        tmp_path / "r.h5", book.device, book.measurements, ["import"], facts={"gpu.name": "Tesla T4"}
    )
    data = read_dataset(path)
    assert data.machine == "NV_Test"
    assert len(data.measurements) == len(book.measurements)
    profile = fit_profile([data])
    assert Estimator(profile).has("conv_backward_filter")
    assert profile.facts["gpu.name"] == "Tesla T4"
    with pytest.raises(InputError, match="exist"):
        write_published(tmp_path / "r.h5", book.device, book.measurements, ["import"])
    with pytest.raises(InputError, match="no timings"):
        write_published(tmp_path / "s.h5", book.device, [], ["import"])


def test_files_that_are_no_workbook(tmp_path: Path, small: Path) -> None:
    (tmp_path / "text.xlsx").write_text("a,b\n")
    with zipfile.ZipFile(tmp_path / "zip.xlsx", "w") as archive:
        archive.writestr("a", "b")
    workbook(tmp_path / "other.xlsx", {"Sheet1": [["a", 1]]})
    whole = small.read_bytes()
    (tmp_path / "cut.xlsx").write_bytes(whole[: len(whole) // 2])
    for name in ("text", "zip", "other", "cut", "absent"):
        with pytest.raises(InputError) as error:
            read_deepbench(tmp_path / f"{name}.xlsx")
        assert "\n" not in str(error.value)


def test_a_workbook_cannot_blow_up(tmp_path: Path, small: Path) -> None:
    bomb = tmp_path / "bomb.xlsx"
    with zipfile.ZipFile(small) as source, zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as out:
        for name in source.namelist():
            content = source.read(name)
            if name.endswith("sharedStrings.xml"):
                content = b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">]>' + content
            out.writestr(name, content)
    with pytest.raises(InputError, match="entities"):
        read_workbook(bomb)
    with zipfile.ZipFile(small) as source, zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as out:
        for name in source.namelist():
            out.writestr(name, source.read(name) + (b" " * (65 << 20) if name.endswith("sharedStrings.xml") else b""))
    with pytest.raises(InputError, match="unpacks to"):
        read_workbook(bomb)


@pytest.mark.skipif(not DATA.exists(), reason=f"no public data in {DATA}")
@pytest.mark.parametrize("device", ["NV_T4", "AMD_MI25", "NV_1080Ti"])
def test_published_workbooks_agree_with_their_transcription(device: str) -> None:
    book = read_deepbench(DATA / "xlsx" / f"DeepBench_{device}.xlsx")
    assert book.troubles == []
    maps = Path(importers.__file__).parent / "maps"
    csv_map = load_map(maps / "deepbench_conv.toml")
    expected = read_table(DATA / "conv.csv", msgspec.structs.replace(csv_map, where={"device": device})).devices[device]
    convolutions_of = [m for m in book.measurements if m.point.benchmark.startswith("conv")]
    key = Counter(
        (m.point.benchmark, tuple(m.point.parameters.items()), round(m.median_s, 12)) for m in convolutions_of
    )
    assert key == Counter(
        (m.point.benchmark, tuple(m.point.parameters.items()), round(m.median_s, 12)) for m in expected
    )
    with open(DATA / "allreduce.csv", newline="") as file:
        rows = [r for r in csv.DictReader(file) if r["device"] == device and r["mean_ms"]]
    reduced = sorted((m.point.parameters["size_bytes"], m.point.ranks) for m in of(book.measurements, "allreduce"))
    assert reduced == sorted((int(r["bytes"]), int(r["n_devices"])) for r in rows)
