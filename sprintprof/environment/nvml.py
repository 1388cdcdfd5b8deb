"""NVIDIA's management library, one call at a time: every field is a value or Missing(reason).

The module is called pynvml whichever package brings it; ours is nvidia-ml-py. Each field can fail on its own (not
supported under MIG or unified memory, no permission, function not in an old driver, GPU lost): none may end a run.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from importlib import metadata
from types import ModuleType
from typing import Any

from sprintprof.records import Missing

PACKAGES = ("nvidia-ml-py", "pynvml")
"""Distributions that install a module called pynvml; the first is NVIDIA's own."""


def binding_package() -> str | Missing:
    """The installed distributions that provide pynvml, with versions. Two are named with the advice to keep one."""
    found = []
    for name in PACKAGES:
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    if not found:
        return Missing("nvidia-ml-py is not installed")
    advice = "" if len(found) == 1 else " (both provide pynvml: pip uninstall pynvml, keep nvidia-ml-py)"
    return " and ".join(found) + advice


class Nvml:
    """An initialised NVML. `module` is pynvml or, in tests, something shaped like it."""

    def __init__(self, module: ModuleType | Any) -> None:
        self.module = module

    def call(self, name: str, *arguments: Any) -> Any:
        """`module.name(*arguments)` with text decoded, or Missing with NVML's own words."""
        function = getattr(self.module, name, None)
        if function is None:
            return Missing(f"{name} is not in this binding")
        try:
            return decoded(function(*arguments))
        except self.module.NVMLError as error:
            return Missing(describe(error))
        except (OSError, ValueError, TypeError, AttributeError) as error:
            return Missing(f"{type(error).__name__}: {error}")

    def first(self, names: Iterable[str], *arguments: Any) -> Any:
        """The first of several names for one thing that answers (newer name first); else the first one's reason."""
        answers = (self.call(name, *arguments) for name in names)
        reasons = []
        for answer in answers:
            if not isinstance(answer, Missing):
                return answer
            reasons.append(answer)
        return reasons[0]

    def close(self) -> None:
        """Shut NVML down."""
        self.call("nvmlShutdown")


def open_nvml(load: Callable[[], Any] = lambda: importlib.import_module("pynvml")) -> Nvml | Missing:
    """Initialise NVML, or say why there is none: no package, no driver, library and driver that do not match."""
    try:
        module = load()
    except ImportError:
        return Missing("nvidia-ml-py is not installed")
    if not hasattr(module, "nvmlInit"):
        return Missing("the module called pynvml is another one; pip install nvidia-ml-py")
    try:
        module.nvmlInit()
    except module.NVMLError as error:
        words = describe(error)
        return Missing(
            f"no driver ({words})" if "not found" in words.lower() or "not loaded" in words.lower() else words
        )
    except OSError as error:
        return Missing(f"no driver ({error})")
    return Nvml(module)


def describe(error: BaseException) -> str:
    """NVML's text for an error, in one line."""
    return " ".join(str(error).split())


def decoded(value: Any) -> Any:
    """Older bindings give bytes, newer str: only bytes are decoded."""
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else value
