"""Environment records of all ranks on rank 0, without a message that grows with their number."""

from __future__ import annotations

import hashlib
from typing import Any

from sprintprof.store.text import from_json, to_json

CHUNK_BYTES = 1 << 20
_TAG = 4021


def gather_environments(comm: Any, record: dict[str, Any]) -> tuple[list[dict[str, Any]], list[int]]:
    """Collective over `comm` (mpi4py's, or what acts like it): the distinct records and, by rank, which is whose.

    Rank 0 gets (environments, rank_environment) as RunHeader wants them; the others get ([], []). Only a hash of 32
    bytes comes from every rank; of each distinct record one rank sends the text, when rank 0 asks for it and in
    pieces of at most 1 MiB, so nothing piles up at the root and no message nears MPI's 2 GiB.
    """
    text = to_json(record).encode()
    rank = comm.Get_rank()
    hashes = comm.gather(hashlib.sha256(text).digest(), root=0)
    senders: dict[bytes, int] = {}
    if rank == 0:
        for sender, digest in enumerate(hashes):
            senders.setdefault(digest, sender)
    asked = comm.scatter(_flags(senders, comm.Get_size()) if rank == 0 else None, root=0)
    if rank != 0:
        if asked:
            _send(comm, text)
        return [], []
    texts = [text if sender == 0 else _receive(comm, sender) for sender in senders.values()]
    places = {digest: i for i, digest in enumerate(senders)}
    return [from_json(t) for t in texts], [places[digest] for digest in hashes]


def _flags(senders: dict[bytes, int], size: int) -> list[bool]:
    chosen = set(senders.values())
    return [rank in chosen for rank in range(size)]


def _send(comm: Any, text: bytes) -> None:
    """To rank 0: the number of pieces, then each piece once it is asked for."""
    pieces = [text[i : i + CHUNK_BYTES] for i in range(0, len(text), CHUNK_BYTES)]
    comm.recv(source=0, tag=_TAG)
    comm.send(len(pieces), dest=0, tag=_TAG)
    for piece in pieces:
        comm.recv(source=0, tag=_TAG)
        comm.send(piece, dest=0, tag=_TAG)


def _receive(comm: Any, sender: int) -> bytes:
    comm.send(None, dest=sender, tag=_TAG)
    parts = []
    for _ in range(comm.recv(source=sender, tag=_TAG)):
        comm.send(None, dest=sender, tag=_TAG)
        parts.append(comm.recv(source=sender, tag=_TAG))
    return b"".join(parts)
