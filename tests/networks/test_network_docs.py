"""The description of the format holds: its example builds, it names every kind and option."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from sprintprof.networks.kinds import KINDS
from sprintprof.networks.reader import network_from
from sprintprof.records.tomlfile import parse_toml

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "formats-network.md").read_text()


def test_the_example_builds() -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)
    network = network_from(parse_toml(example.encode(), "doc"), "doc", "doc")
    assert network.output_shape == (1000,)
    assert "stage1.2.conv2" in [layer.name for layer in network.layers]


def test_every_kind_and_option_is_described() -> None:
    rows = {
        kind: line
        for line in TEXT.splitlines()
        if line.startswith("| `")
        for kind in re.findall(r"`(\w+)`", line.split("|")[1])
    }
    assert set(KINDS) <= set(rows)
    for kind, options in KINDS.items():
        for field in msgspec.structs.fields(options):
            assert f"`{field.encode_name}" in rows[kind], f"{kind}: {field.encode_name}"
