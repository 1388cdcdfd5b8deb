"""README and docs name only what exists."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def commands() -> list[str]:
    """Every `sprintprof …` line of the shell blocks of all pages."""
    found = []
    for page in PAGES:
        for block in re.findall(r"```(?:sh|bash|console)\n(.*?)```", page.read_text(), re.DOTALL):
            joined = block.replace("\\\n", " ")
            found += [line.split("#")[0].strip().removeprefix("$ ") for line in joined.splitlines()]
    return sorted({line for line in found if line.startswith("sprintprof ")})


def test_verbs_and_options_of_shell_blocks_exist() -> None:
    """Each command parses: its verb exists and every long option is one of the verb's."""
    helps: dict[str, str] = {}
    for command in commands():
        words = shlex.split(command.split("|")[0].split("&&")[0].split(">")[0])
        verb = [w for w in words[1:3] if not w.startswith("-")]
        if not verb:
            continue
        name = " ".join(verb) if verb[0] in ("networks", "machines", "env", "import") else verb[0]
        if name not in helps:
            done = subprocess.run(
                [sys.executable, "-m", "sprintprof", *name.split(), "--help"],
                capture_output=True,
                text=True,
                env={"COLUMNS": "250", "PATH": ""},
            )
            assert done.returncode == 0, f"{command}: {done.stderr}"
            helps[name] = done.stdout
        for option in (w.split("=")[0] for w in words if w.startswith("--")):
            assert option in helps[name], f"{command}: {name} has no {option}"


def test_the_make_targets_that_the_readme_names_exist() -> None:
    text = (ROOT / "README.md").read_text()
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"make ([a-z-]+)", text)) | set(re.findall(r"`([a-z-]+)`", text.split("## Make targets")[1]))
    assert named <= targets, named - targets
