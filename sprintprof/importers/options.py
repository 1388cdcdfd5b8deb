"""What the user says about logs, because they do not say it themselves."""

from __future__ import annotations

import msgspec

from sprintprof.importers.rows import Table
from sprintprof.records import InputError


class Options(msgspec.Struct, frozen=True):
    """Facts that hold for every log of an import; None: what the log says. `only` keeps rows whose facts agree."""

    ranks: int | None = None
    nodes: int | None = None
    ranks_per_node: int | None = None
    machine: str | None = None
    only: tuple[tuple[str, str], ...] = ()

    def checked(self) -> Options:
        """Itself, with ranks completed. Raises InputError where the three numbers do not agree or are not positive."""
        for name in ("ranks", "nodes", "ranks_per_node"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"--{name.replace('_', '-')}", f"{value} is not a number of them", "give 1 or more")
        if self.nodes and self.ranks_per_node:
            total = self.nodes * self.ranks_per_node
            if self.ranks not in (None, total):
                what = f"{self.ranks} is not {self.nodes} nodes · {self.ranks_per_node} ranks per node"
                raise InputError("--ranks", what, "leave one of them out")
            return msgspec.structs.replace(self, ranks=total)
        return self


class Shape(msgspec.Struct, frozen=True):
    """Ranks, nodes and ranks per node of a table; None where nobody says. `from_options`: the user said it."""

    ranks: int | None
    nodes: int | None
    ranks_per_node: int | None

    @property
    def placement(self) -> str:
        """As the benchmarks name it: `spread` for one rank a node, `node` for one node, else `packed`."""
        if self.ranks and self.ranks > 1 and (self.ranks_per_node == 1 or self.nodes == self.ranks):
            return "spread"
        return "node" if self.nodes == 1 and self.ranks and self.ranks > 1 else "packed"


def shape_of(table: Table, options: Options) -> Shape:
    """The option holds over the log, the table's own number over both (two ranks for a ping-pong, say).

    Where a table's own number of ranks is smaller than that of the launch, only what still follows is taken over.
    """
    scene = table.scene
    given = options.ranks or options.nodes or options.ranks_per_node
    ranks = options.ranks or (scene.ranks if not options.nodes or not options.ranks_per_node else None)
    nodes = options.nodes or (None if given else scene.nodes)
    per_node = options.ranks_per_node or (None if given else scene.ranks_per_node)
    if table.ranks is not None and table.ranks != ranks:
        nodes, per_node = _part(table.ranks, nodes, per_node)
        ranks = table.ranks
    if ranks and nodes is None and per_node:
        nodes = -(-ranks // per_node)
    if ranks and per_node is None and nodes and ranks % nodes == 0:
        per_node = ranks // nodes
    return Shape(ranks, nodes, per_node)


def _part(ranks: int, nodes: int | None, per_node: int | None) -> tuple[int | None, int | None]:
    """(nodes, ranks per node) of the first `ranks` ranks of a launch of that shape."""
    if per_node:
        return -(-ranks // per_node), min(per_node, ranks)
    if nodes and nodes >= ranks:
        return ranks, 1  # a launcher told only the nodes spreads over them
    return (1, ranks) if nodes == 1 else (None, None)
