"""Machine files: the built-in facts hold together, mistakes are one clear line, a new GPU is a new file."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sprintprof.cli.app import run
from sprintprof.machine import Machine, list_machines, load_machine, machine_of_device
from sprintprof.machine.describe import describe
from sprintprof.machine.reader import FILES, machine_file
from sprintprof.records import InputError, Missing
from sprintprof.records.tomlfile import parse_toml

GPUS = [
    "a100",
    "a100_40gb",
    "h100",
    "h200",
    "k20x",
    "k80",
    "mi250x",
    "mi300x",
    "p100",
    "p40",
    "t4",
    "v100",
    "v100_pcie",
]
CLUSTERS = ["abci", "summit", "tsubame2_5", "tsubame_kfc_dl"]

# FLOP of one multiprocessor (compute unit) in one clock, in fp32 without matrix units: 2 × the lanes of its generation.
FLOP_PER_CLOCK = {"Kepler": 384, "Pascal GP102": 256, "Pascal GP100": 128, "Volta": 128, "Turing": 128, "Ampere": 128}
FLOP_PER_CLOCK |= {"Hopper": 256, "CDNA 2": 128, "CDNA 3": 256}


def test_the_machines_of_the_package() -> None:
    assert list_machines() == sorted(GPUS + CLUSTERS)


@pytest.mark.parametrize("name", GPUS + CLUSTERS)
def test_every_fact_has_a_source(name: str) -> None:
    machine = load_machine(name)
    assert [f.name for f in machine.facts() if isinstance(f.source, Missing)] == []
    assert machine.title
    cited = {f.source for f in machine.facts()}
    assert [text for text in machine.sources.values() if text not in cited] == [] or machine.node


@pytest.mark.parametrize("name", GPUS)
def test_peaks_follow_from_multiprocessors_and_clock(name: str) -> None:
    gpu = load_machine(name).gpu
    assert gpu is not None
    assert gpu.sm_count is not None
    assert gpu.clock_Hz is not None
    assert gpu.architecture is not None
    per_clock = next(v for k, v in FLOP_PER_CLOCK.items() if gpu.architecture.startswith(k))
    fp32 = gpu.vector_peak_FLOPps["fp32"]
    assert fp32 == pytest.approx(gpu.sm_count * per_clock * gpu.clock_Hz, rel=0.085 if "H" in gpu.model else 0.01)
    for precision, peak in gpu.vector_peak_FLOPps.items():
        assert gpu.peak_FLOPps[precision] >= peak


@pytest.mark.parametrize("name", CLUSTERS)
def test_clusters_take_the_gpu_from_its_own_file(name: str) -> None:
    machine = load_machine(name)
    assert machine.node is not None
    assert machine.node.gpu is not None
    gpu = load_machine(machine.node.gpu)
    assert machine.peak_FLOPps == gpu.peak_FLOPps
    assert machine.memory_bandwidth_Bps == gpu.memory_bandwidth_Bps
    of_gpu = {f.name: f.source for f in machine.facts() if f.name.startswith("gpu.")}
    assert of_gpu == {f.name: f.source for f in gpu.facts()}


def test_what_is_known_of_summit() -> None:
    summit = load_machine("summit")
    assert summit.node is not None
    assert summit.cluster is not None
    assert summit.node.gpus == 6
    assert summit.cluster.nodes == 4608
    assert summit.network_bandwidth_Bps == 25e9
    assert summit.host_link is not None
    assert summit.host_link.bandwidth_Bps == 50e9  # NVLink to the POWER9, over the PCIe of the GPU's own file
    assert load_machine("abci").host_link == load_machine("v100").host_link


def test_devices_are_found_by_the_name_that_drivers_report() -> None:
    found = machine_of_device("Tesla V100-PCIE-32GB")
    assert found is not None
    assert found.name == "v100_pcie"
    assert machine_of_device("GeForce 256") is None
    names = [d for g in GPUS for d in (load_machine(g).gpu or pytest.fail(g)).device_names]
    assert len(names) == len(set(names))


OWN = """
title = "Ours"
[gpu]
model = "Example 1"
memory_bytes = "24 GiB"
peak_FLOPps = { fp32 = 20e12 }
"""
SITE = """
[node]
gpu = "example.toml"
gpus = 4
[limits]
time_s = "24h"
nodes = 64
[scheduler]
partition = "gpu"
gres = "gpu:TYPE:N"
gpu_type = "example"
modules = ["cuda/12", "openmpi"]
environment = { OMP_NUM_THREADS = "8", WAIT_s = "word" }
partitions.long = { limits = { time_s = "2d" }, qos = "long" }
"""


def test_a_new_gpu_is_a_new_file(tmp_path: Path) -> None:
    (tmp_path / "example.toml").write_text(OWN)
    (tmp_path / "site.toml").write_text(SITE)
    machine = load_machine(tmp_path / "site.toml")
    assert machine.name == "site"
    assert machine.gpu is not None
    assert machine.gpu.memory_bytes == 24 << 30
    assert machine.peak_FLOPps == {"fp32": 20e12}
    assert machine.limits.time_s == 86400
    assert machine.scheduler is not None
    assert machine.scheduler.partitions["long"].limits.time_s == 2 * 86400
    assert machine.scheduler.environment["WAIT_s"] == "word"
    assert isinstance(machine.source_of("gpu", "memory_bytes"), Missing)
    assert describe(machine)["scheduler"]["gpu_type"] == "example"
    assert load_machine(str(tmp_path / "example.toml")).memory_bandwidth_Bps is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[gpu]\n", ["gpu", "lacks the key 'model'"]),
        ('[gpu]\nmodel = "x"\nmemory = 3', ["gpu", "has no key 'memory'"]),
        ('[gpu]\nmodel = "x"\nmemory_bytes = "lots"', ["gpu.memory_bytes", "'lots' is not a size"]),
        ('[gpu]\nmodel = "x"\nmemory_bytes = -1', ["gpu.memory_bytes", "is -1", "at least 1"]),
        ('[gpu]\nmodel = "x"\nclock_Hz = 0', ["gpu.clock_Hz", "is 0", "more than 0"]),
        ('[gpu]\nmodel = "x"\nclock_Hz = nan', ["gpu.clock_Hz"]),
        ('[gpu]\nmodel = "x"\nclock_Hz = inf', ["gpu.clock_Hz"]),
        ('[gpu]\nmodel = "x"\npeak_FLOPps = { fp33 = 1.0 }', ["gpu.peak_FLOPps", "fp33"]),
        ('[gpu]\nmodel = "x"\nsource = "y"', ["gpu", "names the source 'y'", "add it"]),
        ('[sources]\nyy = "Y"\n[gpu]\nmodel = "x"\nsource = "y"', ["did you mean yy?"]),
        ('[gpu]\nmodel = "x"\nsource_of = { modl = "y" }', ["gpu.source_of", "'modl'", "did you mean model?"]),
        ('[gpu]\nmodel = "x"\n[node]\ngpu = "v100"', ["node.gpu", "[gpu] table"]),
        ('[node]\ngpu = "v101"', ["node.gpu", "no machine 'v101'", "v100"]),
        ('[node]\ngpu = "summit"', ["node.gpu", "no [gpu] table"]),
        ('[node]\ngpu = "nowhere.toml"', ["nowhere.toml", "cannot be read"]),
        ("[node]\ngpus = 1.5", ["node.gpus", "is 1.5", "whole number"]),
        ('[network]\nports = 2', ["network", "lacks the key 'kind'"]),
        ('[limits]\ntime_s = "soon"', ["limits.time_s", "'soon' is not a duration"]),
        ('[scheduler]\nkind = "pbs"', ["scheduler.kind", 'is "pbs"', "write one of slurm"]),
        ('[scheduler]\ngres = "gpu:TYPE:N"', ["scheduler", "lacks the key 'gpu_type'"]),
        ("[colour]\nred = 1", ["has no key 'colour'"]),
        ("gpu = 3", ["gpu", "is 3", "a table"]),
        ("x = [", ["is not TOML"]),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(tmp_path: Path, text: str, words: list[str]) -> None:
    path = tmp_path / "m.toml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        load_machine(path)
    message = str(caught.value)
    assert [w for w in [*words, ".toml"] if w not in message] == []
    assert "\n" not in message


def test_unknown_machines_get_near_matches() -> None:
    with pytest.raises(InputError, match="did you mean v100"):
        load_machine("V100")


SEEDS = [path.read_bytes() for path in sorted(FILES.glob("*.toml"))]
TOKENS = [b"-1", b"0", b"1e99", b"[]", b"{}", b'""', b"nan", b"true", b'"9 PiB"', b"[gpu]", b"source_of = 1\n"]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_mutated_files_are_a_machine_or_an_input_error(data: st.DataObject) -> None:
    raw = data.draw(st.sampled_from(SEEDS))
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(raw)))
        length = data.draw(st.integers(0, 30))
        raw = raw[:start] + data.draw(st.sampled_from(TOKENS) | st.binary(max_size=6)) + raw[start + length :]
    file = None
    with contextlib.suppress(InputError):
        file = machine_file(parse_toml(raw, "m.toml"), "m.toml")
    if file is not None and file.gpu is not None:
        machine = Machine(name="m", title="", sources=file.sources, gpu=file.gpu)
        assert all(peak > 0 for peak in machine.peak_FLOPps.values())
        assert describe(machine)["facts"]


def test_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["machines", "list", "--json", "-"]) == 0
    listed: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    assert [m["name"] for m in listed] == list_machines()
    assert run(["machines", "show", "summit"]) == 0
    out = capsys.readouterr().out
    assert "cluster.nodes" in out
    assert "4608" in out
    assert "None" not in out
    assert run(["machines", "show", "sumit"]) == 2
    assert "did you mean summit?" in capsys.readouterr().err
