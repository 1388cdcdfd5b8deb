"""Reading a TOML file that a user wrote: guarded against hostile files, errors as one line.

Networks, machines and campaigns are read through here. Not imported by `sprintprof.records` itself.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

import msgspec

from sprintprof.records.errors import InputError

T = TypeVar("T")

MAX_BYTES = 512 << 10
"""Greatest file read. The standard library's parser needs seconds for 10 MB."""
MAX_LINE = 4000
MAX_DOTS = 50
"""Most dots in a line: the parser's time and memory grow with the square of a dotted key's length."""

_PATH = re.compile(r"^(?P<what>.*?) - at (?P<key>`key` in )?`\$?(?P<path>.*)`$", re.DOTALL)
_STEPS = re.compile(r"\[\.\.\.\]|[^.\[\]]+")
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`$", re.DOTALL)
_ABSENT = re.compile(r"Object missing required field `(.*)`$", re.DOTALL)
_TYPE = re.compile(r"Expected `([^`]*)`, got `([^`]*)`$")
_BOUND = re.compile(r"Expected `(\w+)` (of length )?(>=|<=|>|<) (\S+)$")
_ENUM = re.compile(r"Invalid enum value '?(.*?)'?$", re.DOTALL)
_TYPES = {"int": "a whole number", "float": "a number", "str": "text", "bool": "true or false", "array": "a list"}
_TYPES |= {"object": "a table", "null": "nothing"}
_BOUNDS = {">=": "at least", "<=": "at most", ">": "more than", "<": "less than"}


def read_toml(path: str | Path) -> dict[str, Any]:
    """The tables of a TOML file. Raises InputError: absent, unreadable, too large, not UTF-8, not TOML."""
    where = str(path)
    try:
        with Path(path).open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise InputError(where, f"cannot be read ({error.strerror})", "check the path") from None
    except ValueError:  # a NUL in the name
        raise InputError(repr(where), "is not a file name", "check the path") from None
    if len(raw) > MAX_BYTES:
        raise InputError(where, f"is larger than {MAX_BYTES} bytes", "check that it is the right file")
    return parse_toml(raw, where)


def parse_toml(raw: bytes, where: str) -> dict[str, Any]:
    """The tables of TOML text. Raises InputError with the line where the text is wrong."""
    import tomllib

    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InputError(where, f"line {line} is not UTF-8 text", "save the file as UTF-8") from None
    for number, line_text in enumerate(text.split("\n"), 1):
        if len(line_text) > MAX_LINE:
            raise InputError(where, f"line {number} is longer than {MAX_LINE} characters", "break it into lines")
        if line_text.count(".") > MAX_DOTS:
            raise InputError(where, f"line {number} has more than {MAX_DOTS} dots", "break it into lines")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise InputError(where, "is nested too deeply", "check that it is the right file") from None
    except ValueError as error:  # TOMLDecodeError, and a number of more digits than Python reads
        raise InputError(where, f"is not TOML: {error}", "mend the line") from None


def near(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """A remedy: near matches of `name`, else `otherwise`, else all names."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, 3)
    if close:
        return f"did you mean {', '.join(close)}?"
    return otherwise or f"known are {', '.join(names)}"


def shorten(value: object, length: int = 40) -> str:
    """A value of the user's as text for a message, cut."""
    try:
        text = str(value)
    except (ValueError, RecursionError):  # more digits than Python prints; nested without end
        return "…"
    return text if len(text) <= length else text[: length - 1] + "…"


def convert(data: dict[str, Any], type_: type[T], where: str) -> T:
    """`data` as a msgspec struct. Raises InputError that names the key, what is wrong and what to write."""
    try:
        return msgspec.convert(data, type_, strict=True)
    except msgspec.ValidationError as error:
        raise _explain(str(error), data, type_, where) from None
    except (RecursionError, ValueError, OverflowError) as error:
        raise InputError(where, f"cannot be read ({shorten(error)})", "check that it is the right file") from None


def _explain(message: str, data: dict[str, Any], type_: type, where: str) -> InputError:
    """msgspec's message in the words of these files."""
    found = _PATH.match(message)
    what, path = (found["what"], found["path"].lstrip(".")) if found else (message, "")
    place = f"{where}, {path}" if path else where
    if unknown := _UNKNOWN.match(what):
        known = [f.encode_name for f in msgspec.structs.fields(_type_at(type_, path))]
        return InputError(place, f"has no key '{shorten(unknown[1])}'", near(unknown[1], known))
    if absent := _ABSENT.match(what):
        return InputError(place, f"lacks the key '{absent[1]}'", "add it")
    choice = _ENUM.match(what)
    if choice and found and found["key"]:
        keys = get_args(get_args(_type_at(type_, path))[0])
        return InputError(place, f"has no key '{shorten(choice[1])}'", near(choice[1], map(str, keys)))
    given = _lookup(data, path)
    if choice:
        words = f"write one of {', '.join(map(str, get_args(_type_at(type_, path))))}"
    elif kind := _TYPE.match(what):
        words = f"write {' or '.join(_TYPES.get(k, k) for k in kind[1].split(' | ') if k != 'null')}"
    elif bound := _BOUND.match(what):
        entries = " entries" if bound[2] else ""
        words = f"write {_TYPES.get(bound[1], bound[1])} of {_BOUNDS[bound[3]]} {bound[4]}{entries}"
    else:
        words = what[:1].lower() + what[1:]
    text = shorten(json.dumps(given, default=str, ensure_ascii=False))
    shown = "has a wrong value" if given is None else f"is {text}"
    return InputError(place, shown, words)


def _type_at(type_: Any, path: str) -> Any:
    """The type that `path` has in a struct: through fields, dictionaries, lists and alternatives to None."""
    for part in _STEPS.findall(path):
        type_ = _bare(type_)
        if isinstance(type_, type) and issubclass(type_, msgspec.Struct):
            type_ = next(f.type for f in msgspec.structs.fields(type_) if f.encode_name == part)
        else:
            type_ = get_args(type_)[-1]
    return _bare(type_)


def _bare(type_: Any) -> Any:
    """Without Annotated and without None."""
    while get_origin(type_) is Annotated:
        type_ = get_args(type_)[0]
    others = [t for t in get_args(type_) if t is not NoneType]
    return _bare(others[0]) if get_origin(type_) in (Union, UnionType) and len(others) == 1 else type_


def _lookup(data: Any, path: str) -> Any:
    """The value at `path`; None where it is not there or msgspec does not say where (`[...]` is any key)."""
    for step in _STEPS.findall(path):
        try:
            data = data[int(step)] if isinstance(data, list) else data[step]
        except (KeyError, IndexError, TypeError, ValueError):
            return None
    return data
