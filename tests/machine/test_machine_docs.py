"""The description of the format holds: its examples are read, together they show every key."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

import msgspec

from sprintprof.machine.reader import machine_file
from sprintprof.machine.schema import MachineFile
from sprintprof.records.tomlfile import parse_toml

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "formats-machine.md").read_text()


def test_the_examples_show_every_key() -> None:
    shown: set[str] = set()
    for example in re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL):
        tables = parse_toml(example.encode(), "doc")
        tables.setdefault("sources", {}).update(guide="a guide")
        file = machine_file(tables, "doc")
        assert file.gpu or file.node or file.scheduler
        for section, table in tables.items():
            shown |= {f"{section}.{key}" for key in table} if isinstance(table, dict) else {section}
    for field in msgspec.structs.fields(MachineFile):
        structs: list[Any] = [t for t in (field.type, *get_args(field.type)) if isinstance(t, type)]
        for struct in structs:
            if issubclass(struct, msgspec.Struct):
                wanted = {f"{field.name}.{f.name}" for f in msgspec.structs.fields(struct)}
                assert {w for w in wanted if not w.endswith(("source", "source_of"))} <= shown
