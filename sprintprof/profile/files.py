"""Profiles on disk: one JSON file with a checksum, read with suspicion and written whole or not at all.

The checksum is the SHA-256 of the file's JSON value without its "checksum" member, written with sorted keys and
without spaces (as `msgspec.json.encode(value, order="sorted")` does).
"""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path
from typing import Any

import msgspec

from sprintprof.profile.check import problems
from sprintprof.profile.schema import HISTORY, SCHEMA, VERSION, Profile
from sprintprof.records import InputError

MAX_BYTES = 256 << 20
"""Larger files are refused before they are read: a profile has at most 2 MB per kernel and device."""
UNCHECKED = "unchecked"
SCHEMA_FILE = Path(__file__).with_name("profile.schema.json")


def checksum(value: dict[str, Any]) -> str:
    """The SHA-256 in hex over a profile's JSON value, less its member "checksum"."""
    body = {k: v for k, v in value.items() if k != "checksum"}
    return hashlib.sha256(msgspec.json.encode(body, order="sorted")).hexdigest()


def load_profile(path: str | Path) -> Profile:
    """Read and check a profile.

    Raises InputError, in one line, where the file is missing, too large, not JSON, of another schema or of a newer
    version, damaged (checksum), or says something no fit can say. A profile marked "unchecked" gains a warning.
    """
    where = str(path)
    value = _json_object(where, _read(where))
    if value.get("schema") != SCHEMA:
        raise InputError(where, "is not a sprintprof profile", "make one with: sprintprof fit RESULTS.h5 -o FILE")
    _check_version(where, value.get("version"))
    try:
        profile = msgspec.convert(value, Profile)
    except (msgspec.ValidationError, RecursionError, OverflowError, ValueError) as error:
        remedy = "make the profile anew with: sprintprof fit"
        raise InputError(where, f"does not follow the profile's schema: {str(error)[:300]}", remedy) from None
    if profile.checksum != UNCHECKED and profile.checksum != checksum(value):
        remedy = f'fit it anew, or, if it was edited on purpose, set "checksum": "{UNCHECKED}"'
        raise InputError(where, "was changed after it was written: its checksum does not match", remedy)
    wrong = next(problems(profile), None)
    if wrong:
        raise InputError(where, wrong, "make the profile anew with: sprintprof fit")
    if profile.checksum == UNCHECKED:
        text = f"{where} is marked as edited by hand: its checksum was not verified"
        profile = msgspec.structs.replace(profile, warnings=[*profile.warnings, text])
    return profile


def save_profile(profile: Profile, path: str | Path, *, overwrite: bool = False) -> Profile:
    """Write a profile with its checksum, under a temporary name first, and return it as written.

    Raises InputError where the file exists (unless `overwrite`) or cannot be written, and ValueError for a profile
    that could not be read back (a defect in what made it).
    """
    wrong = next(problems(profile), None)
    if wrong:
        raise ValueError(f"unsound profile: {wrong}")
    value = msgspec.json.decode(msgspec.json.encode(profile))
    sealed = msgspec.structs.replace(profile, checksum=checksum(value))
    text = msgspec.json.format(msgspec.json.encode(sealed), indent=1)
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "xb") as out:
            out.write(text + b"\n")
            out.flush()
            os.fsync(out.fileno())
        _publish(temporary, target, overwrite)
    except OSError as error:
        raise InputError(str(path), f"cannot be written ({error.strerror})", "choose another place") from None
    finally:
        temporary.unlink(missing_ok=True)
    return sealed


def check_free(path: str | Path, *, overwrite: bool = False) -> None:
    """Raise InputError where `path` exists and may not be overwritten: asked before any work is done."""
    if not overwrite and os.path.lexists(path):
        raise InputError(str(path), "exists already and is not overwritten", "choose another name or --force")


def json_schema() -> bytes:
    """The published JSON Schema of the profile, as profile.schema.json holds it."""
    schema = msgspec.json.schema(Profile)
    return msgspec.json.format(msgspec.json.encode(schema, order="sorted"), indent=1) + b"\n"


def _publish(temporary: Path, target: Path, overwrite: bool) -> None:
    if not overwrite:
        check_free(target)
    os.replace(temporary, target)


def _read(where: str) -> bytes:
    try:
        descriptor = os.open(where, os.O_RDONLY | os.O_NONBLOCK)  # a FIFO would block for ever
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise InputError(where, "is not a regular file", "give a profile made by sprintprof fit")
            if status.st_size > MAX_BYTES:
                raise InputError(where, f"has {status.st_size} bytes, too many for a profile", "is it a results file?")
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        raise InputError(where, f"cannot be read ({error.strerror})", "give a profile made by sprintprof fit") from None
    except ValueError as error:  # a null byte in the name
        raise InputError(repr(where), f"is not a file name ({error})", "give a profile") from None


def _json_object(where: str, raw: bytes) -> dict[str, Any]:
    remedy = "give a profile made by sprintprof fit"
    if not raw.strip():
        raise InputError(where, "is empty", remedy)
    if raw.startswith(b"\x89HDF"):
        raise InputError(where, "is a results file, not a profile", f"sprintprof fit {where} -o PROFILE.json")
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        raise InputError(where, f"is not JSON or is cut off ({str(error)[:120]})", remedy) from None
    if not isinstance(value, dict):
        raise InputError(where, "is not a sprintprof profile", remedy)
    return value


def _check_version(where: str, version: object) -> None:
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise InputError(where, "has no valid schema version", "make the profile anew with: sprintprof fit")
    if version not in HISTORY:
        what = f"has profile version {version}, this program knows up to {VERSION}"
        raise InputError(where, what, "update sprintprof, or fit the results anew with this version")
