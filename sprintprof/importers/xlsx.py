"""Cells of an xlsx workbook as text: a zip of XML, read by the standard library alone."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from sprintprof.records import InputError

MOST_BYTES = 64 << 20
"""A member that unpacks to more is refused: published tables have some 100 kB."""
_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_COLUMN = re.compile(r"([A-Z]{1,3})\d+")


class Sheet(NamedTuple):
    """A sheet: `rows` are (row number, cell text by column letter), empty cells left out."""

    name: str
    rows: list[tuple[int, dict[str, str]]]


def read_workbook(path: Path) -> list[Sheet]:
    """All sheets in order. Raises InputError where the file is not an xlsx workbook."""
    try:
        with zipfile.ZipFile(path) as archive:
            texts = _shared_strings(archive)
            return [Sheet(name, _rows(_xml(archive, member), texts)) for name, member in _members(archive)]
    except OSError as error:
        raise InputError(str(path), f"cannot be read ({error.strerror})", "give an xlsx workbook") from None
    except (zipfile.BadZipFile, ElementTree.ParseError, KeyError, IndexError, ValueError, RuntimeError) as error:
        what = f"is not an xlsx workbook ({str(error)[:80]})"
        raise InputError(str(path), what, "give the workbook as published") from None


def _xml(archive: zipfile.ZipFile, member: str) -> ElementTree.Element:
    info = archive.getinfo(member)
    if info.file_size > MOST_BYTES:
        raise ValueError(f"{member} unpacks to {info.file_size} bytes")
    with archive.open(info) as file:
        raw = file.read(MOST_BYTES + 1)
    if b"<!DOCTYPE" in raw or b"<!ENTITY" in raw:  # workbooks have none; entities can expand without end
        raise ValueError(f"{member} declares entities")
    return ElementTree.fromstring(raw)


def _shared_strings(archive: zipfile.ZipFile) -> list[str]:
    if "xl/sharedStrings.xml" not in archive.namelist():
        return []
    return [_text(item) for item in _xml(archive, "xl/sharedStrings.xml")]


def _text(item: ElementTree.Element) -> str:
    return "".join(part.text or "" for part in item.iter(f"{_MAIN}t"))


def _members(archive: zipfile.ZipFile) -> list[tuple[str, str]]:
    """(sheet name, member of the archive)."""
    targets = {r.get("Id"): r.get("Target", "") for r in _xml(archive, "xl/_rels/workbook.xml.rels")}
    sheets = _xml(archive, "xl/workbook.xml").iter(f"{_MAIN}sheet")
    return [(s.get("name", ""), "xl/" + targets[s.get(_RELATION)].removeprefix("/xl/")) for s in sheets]


def _rows(sheet: ElementTree.Element, texts: list[str]) -> list[tuple[int, dict[str, str]]]:
    out = []
    for place, row in enumerate(sheet.iter(f"{_MAIN}row"), 1):
        cells: dict[str, str] = {}
        for cell in row:
            match = _COLUMN.fullmatch(cell.get("r", ""))
            text = _cell(cell, texts)
            if match and text:
                cells[match[1]] = text
        out.append((int(row.get("r", place)), cells))
    return out


def _cell(cell: ElementTree.Element, texts: list[str]) -> str:
    if cell.get("t") == "inlineStr":
        return _text(cell).strip()
    value = cell.find(f"{_MAIN}v")
    if value is None or value.text is None:
        return ""
    return texts[int(value.text)].strip() if cell.get("t") == "s" else value.text.strip()
