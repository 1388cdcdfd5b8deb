"""Networks by name or by path."""

from __future__ import annotations

from pathlib import Path

from sprintprof.networks.kinds import Shape
from sprintprof.networks.network import Network
from sprintprof.networks.reader import read_network
from sprintprof.records import InputError
from sprintprof.records.tomlfile import near, shorten

FILES = Path(__file__).resolve().parent / "files"


def list_networks() -> list[str]:
    """Names of the built-in networks."""
    return sorted(path.stem for path in FILES.glob("*.toml"))


def load_network(name_or_path: str | Path, input_shape: Shape | None = None) -> Network:
    """A built-in network by name, or a network file by path; `input_shape` replaces the file's (C, H, W).

    A text without a folder and without `.toml` is a name. Raises InputError: unknown name (with near matches),
    anything wrong with the file.
    """
    text = str(name_or_path)
    if text in list_networks():
        return read_network(FILES / f"{text}.toml", input_shape)
    if isinstance(name_or_path, Path) or "/" in text or text.endswith(".toml"):
        return read_network(text, input_shape)
    remedy = near(text, list_networks(), "sprintprof networks list shows all; a file's name ends in .toml")
    raise InputError("network", f"there is no '{shorten(text)}'", remedy)
