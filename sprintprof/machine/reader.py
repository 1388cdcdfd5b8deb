"""Machine files: read, checked, and joined with the file of their GPU. The format: docs/formats-machine.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from sprintprof.machine.machine import SECTIONS, Machine
from sprintprof.machine.schema import Gpu, MachineFile
from sprintprof.records import InputError
from sprintprof.records.tomlfile import convert, near, read_toml, shorten
from sprintprof.units import parse_duration_s, parse_size_bytes

FILES = Path(__file__).resolve().parent / "machines"


def list_machines() -> list[str]:
    """Names of the built-in machines."""
    return sorted(path.stem for path in FILES.glob("*.toml"))


def load_machine(name_or_path: str | Path) -> Machine:
    """A built-in machine by name, or a machine file by path.

    A text without a folder and without `.toml` is a name. Raises InputError: unknown name (with near matches),
    anything wrong with the file or with the GPU file it names.
    """
    text = str(name_or_path)
    if text in list_machines():
        return read_machine(FILES / f"{text}.toml")
    if isinstance(name_or_path, Path) or "/" in text or text.endswith(".toml"):
        return read_machine(Path(text))
    remedy = near(text, list_machines(), "sprintprof machines list shows all; a file's name ends in .toml")
    raise InputError("machine", f"there is no '{shorten(text)}'", remedy)


def machine_of_device(device_name: str) -> Machine | None:
    """The built-in GPU that a driver reports as `device_name`; None where no file claims the name."""
    for name in list_machines():
        machine = load_machine(name)
        if machine.node is None and machine.gpu and device_name in machine.gpu.device_names:
            return machine
    return None


def read_machine(path: Path) -> Machine:
    """The machine of a file. Raises InputError that names file, key and remedy."""
    where = str(path)
    file = machine_file(read_toml(path), where)
    gpu, sources = file.gpu, file.sources
    if file.node and file.node.gpu:
        if gpu:
            raise InputError(f"{where}, node.gpu", "and a [gpu] table are both there", "remove one of them")
        gpu, of_gpu = _gpu_of(file.node.gpu, path)
        sources = sources | of_gpu
    return Machine(
        name=file.name or path.stem,
        title=file.title,
        sources=sources,
        gpu=gpu,
        node=file.node,
        network=file.network,
        cluster=file.cluster,
        limits=file.limits,
        scheduler=file.scheduler,
        note=file.note,
    )


def machine_file(data: dict[str, Any], where: str) -> MachineFile:
    """The checked tables of a machine file. Sizes and durations may be text (`16 GiB`, `24h`)."""
    file = convert(_with_numbers(data, where), MachineFile, where)
    for section in SECTIONS:
        table = getattr(file, section)
        if table is None:
            continue
        known = [field.name for field in msgspec.structs.fields(type(table))]
        for fact in table.source_of:
            if fact not in known:
                raise InputError(f"{where}, {section}.source_of", f"has no fact '{shorten(fact)}'", near(fact, known))
        for key in [table.source, *table.source_of.values()]:
            if key and key not in file.sources:
                remedy = near(key, file.sources) if file.sources else "add it"
                raise InputError(f"{where}, {section}", f"names the source '{shorten(key)}', not in [sources]", remedy)
    if file.scheduler and file.scheduler.gres == "gpu:TYPE:N" and not file.scheduler.gpu_type:
        raise InputError(f"{where}, scheduler", "lacks the key 'gpu_type'", 'gres = "gpu:TYPE:N" needs it')
    return file


def _gpu_of(name: str, beside: Path) -> tuple[Gpu, dict[str, str]]:
    """The GPU that `node.gpu` names, by a path beside this file or as a built-in machine, and its sources.

    The sources' short names get the GPU's name in front, so that they do not meet those of the node's file.
    """
    place = f"{beside}, node.gpu"
    if name.endswith(".toml"):
        path = beside.parent / name
    elif name in list_machines():
        path = FILES / f"{name}.toml"
    else:
        raise InputError(place, f"there is no machine '{shorten(name)}'", near(name, list_machines()))
    file = machine_file(read_toml(path), str(path))
    if file.gpu is None:
        raise InputError(place, f"{path} has no [gpu] table", "name a GPU's file")
    source_of = {fact: f"{name}.{key}" for fact, key in file.gpu.source_of.items()}
    source = file.gpu.source and f"{name}.{file.gpu.source}"
    gpu = msgspec.structs.replace(file.gpu, source=source, source_of=source_of)
    return gpu, {f"{name}.{key}": text for key, text in file.sources.items()}


def _with_numbers(value: Any, where: str, key: str = "", depth: int = 0) -> Any:
    """The tables with sizes and durations that are text turned into numbers."""
    if key.split(".")[-1] in ("source_of", "environment"):  # their keys are the user's
        return value
    if isinstance(value, dict) and depth < 8:  # no table of a machine file lies deeper
        return {k: _with_numbers(v, where, f"{key}.{k}" if key else k, depth + 1) for k, v in value.items()}
    if isinstance(value, str) and key.endswith("_bytes"):
        return parse_size_bytes(value, f"{where}, {key}")
    if isinstance(value, str) and key.endswith("_s"):
        return parse_duration_s(value, f"{where}, {key}")
    return value
