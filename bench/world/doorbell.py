"""A bell beside MPI: ranks on rank 0's machine sleep in the kernel until rank 0 rings, at no CPU cost.

Looking for a message every 10 ms costs about 1 % of a core and rank (most of it the wake-up itself), which a kernel
measured on rank 0 of the same machine would feel.
"""

from __future__ import annotations

import os
import select
import socket
import uuid
from contextlib import suppress
from typing import Any


class Doorbell:
    """Datagram sockets in the abstract namespace, one per rank. `hears`: rank 0's ring reaches this rank."""

    def __init__(self, comm: Any) -> None:
        """Collective. Ranks of other machines or network namespaces find out here that they hear nothing."""
        self.hears = False
        self._rings: tuple[str, ...] = ()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        name = f"\0sprintprof-{uuid.uuid4().hex}-{os.getpid()}"
        with suppress(OSError):  # no abstract sockets on this system: every rank looks for messages instead
            self._socket.bind(name)
        names = comm.allgather(name)
        if comm.rank == 0:
            self._rings = tuple(names[1:])
            self.ring()
        comm.Barrier()
        if comm.rank:
            self.hears = self._drain()
        self._rings = tuple(n for n, hears in zip(names, comm.allgather(self.hears), strict=True) if hears)

    def ring(self) -> None:
        """Rank 0: wake whoever hears it. A ring stays until it is heard."""
        for name in self._rings:
            with suppress(OSError):  # the bell is full: it rings already
                self._socket.sendto(b"!", name)

    def wait(self, timeout_s: float) -> bool:
        """Sleep until the ring or the timeout; whether it rang."""
        return bool(select.select([self._socket], [], [], timeout_s)[0]) and self._drain()

    def _drain(self) -> bool:
        """Take all rings; whether there was one."""
        rung = False
        with suppress(BlockingIOError):
            while self._socket.recv(16):
                rung = True
        return rung
