"""Bad input to any verb: one clear line, exit code 2, no traceback, nothing written or overwritten."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sprintprof.cli.app import run
from sprintprof.records import Measurement, Point, RunHeader
from sprintprof.store import write_results

RESULTS_VERBS = [
    ["show", "{}"], ["check", "{}"], ["fit", "{}", "-o", "out.json"], ["compare", "{}", "{}"], ["merge", "{}", "-o", "out.h5"],
    ["env", "show", "{}"], ["env", "diff", "{}", "{}"], ["run", "--resume", "{}", "--suite", "quick", "relu_forward"],
]  # fmt: skip
PROFILE_VERBS = [
    ["show", "{}"], ["predict", "{}", "--network", "lenet5"], ["simulate", "{}", "--network", "lenet5"],
    ["search", "{}", "--network", "lenet5", "--target-batch", "256"],
]  # fmt: skip
NETWORK_VERBS = [["networks", "show", "{}"], ["predict", "profile.json", "--network", "{}"]]

CONTENTS: dict[str, bytes] = {
    "empty": b"",
    "text": b"hello\n" * 10,
    "nul": b"\0" * 4096,
    "binary": bytes(range(256)) * 40,
    "hdf5-signature": b"\x89HDF\r\n\x1a\n" + b"\0" * 2000,
    "json-of-another": json.dumps({"a": [1, 2, {"b": None}]}).encode(),
    "json-list": b"[1,2,3]",
    "json-deep": b"[" * 100_000,
    "json-cut": b'{"schema": "sprintprof-profile", "version": 1, "fits": [',
    "json-newer": b'{"schema": "sprintprof-profile", "version": 99}',
    "json-huge-number": b'{"schema": "sprintprof-profile", "version": 1e400}',
    "toml": b"[[layer]]\nkind = 'conv'\nfilters = -3\n",
    "toml-cut": b"[[layer]\nkind = ",
    "latin-1": "name = 'grö\xdfe'".encode("latin-1"),
    "bom": b"\xef\xbb\xbf{}",
}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(words: list[str], capfd: pytest.CaptureFixture[str]) -> str:
    """Run the verb; it must refuse in one line and leave the folder as it was. The line is returned."""
    before = {p.name: p.read_bytes() for p in Path().iterdir() if p.is_file()}
    code = run(words)
    said = capfd.readouterr()
    assert code == 2, (words, code, said)
    assert said.err.startswith("sprintprof: "), said.err
    assert len(said.err.splitlines()) == 1, said.err
    assert said.out == ""
    assert {p.name: p.read_bytes() for p in Path().iterdir() if p.is_file()} == before
    return said.err


def fill(words: list[str], name: str) -> list[str]:
    return [w.format(name) for w in words]


@pytest.mark.parametrize("content", CONTENTS, ids=str)
@pytest.mark.parametrize("words", RESULTS_VERBS, ids=lambda w: " ".join(w[:2]))
def test_what_is_no_results_file_is_refused(words: list[str], content: str, capfd: pytest.CaptureFixture[str]) -> None:
    Path("bad.h5").write_bytes(CONTENTS[content])
    assert "bad.h5" in refused(fill(words, "bad.h5"), capfd)


@pytest.mark.parametrize("content", CONTENTS, ids=str)
@pytest.mark.parametrize("words", PROFILE_VERBS, ids=lambda w: w[0])
def test_what_is_no_profile_is_refused(words: list[str], content: str, capfd: pytest.CaptureFixture[str]) -> None:
    Path("bad.json").write_bytes(CONTENTS[content])
    assert "bad.json" in refused(fill(words, "bad.json"), capfd)


@pytest.mark.parametrize("content", CONTENTS, ids=str)
def test_what_is_no_network_is_refused(content: str, capfd: pytest.CaptureFixture[str]) -> None:
    Path("bad.toml").write_bytes(CONTENTS[content])
    assert "bad.toml" in refused(["networks", "show", "bad.toml"], capfd)


@pytest.mark.parametrize("name", ["missing.h5", ".", "no/such/folder/r.h5", "/dev/null"])
@pytest.mark.parametrize("words", [w for w in RESULTS_VERBS if w[0] != "run"], ids=lambda w: " ".join(w[:2]))
def test_what_is_not_there_is_refused(words: list[str], name: str, capfd: pytest.CaptureFixture[str]) -> None:
    if words[0] == "merge" and name == ".":
        name = "/dev/full"  # merge takes folders
    refused(fill(words, name), capfd)


@pytest.mark.parametrize("words", RESULTS_VERBS, ids=lambda w: " ".join(w[:2]))
def test_a_truncated_results_file_is_refused(words: list[str], here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    points = [Point("gemm", "numpy", {"m": n}) for n in range(3)]
    header = RunHeader("r", "2026-01-01", "box", [], "0", points, {}, [{}], [0])
    whole = write_results(here / "whole.h5", header, [Measurement(p, "skipped", "x") for p in points]).read_bytes()
    for size in (1, 96, 511, 512, 700, len(whole) // 2, len(whole) - 1):
        Path("bad.h5").write_bytes(whole[:size])
        assert "bad.h5" in refused(fill(words, "bad.h5"), capfd)


CYCLES = ["--gpu-cycle", "1.0:0.03", "--update-cycle", "0.37:0.03"]


@pytest.mark.parametrize(
    "words",
    [
        ["networks", "show", "resnet51"],
        ["networks", "show", "lenet5", "--input", "3x-1x5"],
        ["machines", "show", "cray1"],
        ["predict", *CYCLES, "--nodes", "0"],
        ["predict", *CYCLES, "--nodes", "-2"],
        ["predict", *CYCLES, "--gpus-per-node", "0"],
        ["predict", *CYCLES, "--sub-batch", "0"],
        ["predict", *CYCLES, "--sub-batch", "-8"],
        ["predict", *CYCLES, "--dataset-size", "0"],
        ["predict", *CYCLES, "--strategy", "hope"],
        ["predict", "--gpu-cycle", "x", "--update-cycle", "1"],
        ["predict", "--gpu-cycle", "-1:0.1", "--update-cycle", "1"],
        ["predict", "--gpu-cycle", "nan:0.1", "--update-cycle", "1"],
        ["predict", "--gpu-cycle", "1:-0.1", "--update-cycle", "1"],
        ["predict"],
        ["simulate", *CYCLES, "--nodes", "0"],
        ["fit", "-o", "p.json"],
        ["show"],
        ["merge", "-o", "x.h5"],
        ["recover", "nothing.journal"],
        ["recover", "r.h5.journal"],
        ["bogus"],
        ["show", "x.h5", "--bogus"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_bad_usage_is_refused(words: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    refused(words, capfd)


@pytest.mark.parametrize("words", [[], ["env"], ["networks"]], ids=str)
def test_no_command_shows_the_help(words: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert run(words) == 2
    said = capfd.readouterr().err
    assert said.startswith("Usage: sprintprof")
    assert len(said.splitlines()) > 5
