"""Ranks that share CPUs must give way while they wait; MPICH does so only when told, and pays for it.

MPICH 5 spins through its whole time slice: 4 ranks on 2 CPUs all-reduce 8 bytes in 16 ms. With the settings below it
is 0.2 ms, but a ping-pong between two ranks that have a CPU each then takes 110 µs instead of 2. They are therefore
switched, through MPI's tools interface, for each set of ranks that measures. Open MPI gives way by itself.
"""

from __future__ import annotations

import ctypes
from pathlib import Path

SETTINGS = {
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE": (0, 1),
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": (4096, 100),
    "MPIR_CVAR_ENABLE_HEAVY_YIELD": (0, 1),
    "MPIR_CVAR_POLLS_BEFORE_YIELD": (1000, 100),
}
"""Control variables of MPICH: value while every rank has a CPU (MPICH's defaults), value while they share."""


class GiveWay:
    """Switches the settings of this process' MPI library; does nothing where the library has none of them."""

    def __init__(self, library: str) -> None:
        """`library` is MPI_Get_library_version. MPI is initialised."""
        self._handles: list[tuple[ctypes.c_void_p, tuple[int, int]]] = []
        self._write = None
        self.on: bool | None = None
        path = loaded_library() if "mpich" in library.lower() else None
        if path is None:
            return
        try:
            mpi = ctypes.CDLL(path)
            got = ctypes.c_int()
            if mpi.MPI_T_init_thread(0, ctypes.byref(got)):
                return
            for name, values in SETTINGS.items():
                index, handle, count = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_int()
                if not mpi.MPI_T_cvar_get_index(name.encode(), ctypes.byref(index)) and not mpi.MPI_T_cvar_handle_alloc(
                    index, None, ctypes.byref(handle), ctypes.byref(count)
                ):
                    self._handles.append((handle, values))
            self._write = mpi.MPI_T_cvar_write
        except (OSError, AttributeError):  # another library of that name, or one without the tools interface
            self._handles = []

    @property
    def available(self) -> bool:
        """Whether this library can be switched."""
        return bool(self._handles)

    def set(self, on: bool) -> None:
        """Give way from now on, or spin."""
        if self._write is None or on == self.on:
            return
        for handle, values in self._handles:
            self._write(handle, ctypes.byref(ctypes.c_int(values[on])))
        self.on = on


def loaded_library() -> str | None:
    """Path of the libmpi this process has loaded, from its memory map."""
    try:
        lines = Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        return None
    paths = (line.split(maxsplit=5)[5] for line in lines if "/libmpi" in line)
    return next((p for p in paths if Path(p).name.startswith(("libmpi.so", "libmpi_abi.so"))), None)
