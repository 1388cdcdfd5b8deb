"""Which ranks share a node, and which ranks take part in a point. Pure functions; host names decide nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

PLACEMENTS = ("packed", "node", "spread")
"""`packed`: the first p ranks. `node`: p ranks of one node. `spread`: one rank on each of p nodes."""


def node_numbers(keys: Sequence[tuple[int, str]]) -> tuple[int, ...]:
    """Number the nodes in order of first appearance.

    `keys[r]` is (world rank of the leader of r's shared-memory communicator, boot id of r's kernel). Two ranks are on
    one node only where both agree: a shared-memory split may go by host text, and network namespaces share a kernel.
    """
    seen: dict[tuple[int, str], int] = {}
    return tuple(seen.setdefault(key, len(seen)) for key in keys)


def choose_members(nodes: Sequence[int], ranks: int, placement: str) -> tuple[int, ...]:
    """The world ranks that take part. Raises ValueError with the reason where the nodes do not allow it.

    `nodes[r]` is the node of world rank r.
    """
    if ranks > len(nodes):
        raise ValueError(f"{ranks} ranks needed, the world has {len(nodes)}")
    if placement == "packed":
        return tuple(range(ranks))
    if placement == "node":
        biggest, count = min(Counter(nodes).items(), key=lambda item: (-item[1], item[0]))
        if count < ranks:
            raise ValueError(f"{ranks} ranks on one node needed, the fullest node has {count}")
        return tuple(r for r, node in enumerate(nodes) if node == biggest)[:ranks]
    if placement == "spread":
        leaders = [nodes.index(node) for node in sorted(set(nodes))]
        if len(leaders) < ranks:
            raise ValueError(f"{ranks} nodes needed, the world spans {len(leaders)}")
        return tuple(leaders[:ranks])
    raise ValueError(f"no placement '{placement}': there are {', '.join(PLACEMENTS)}")


def is_crowded(members: Sequence[int], nodes: Sequence[int], affinity: Sequence[Sequence[int]]) -> bool:
    """Whether some node has more of these ranks than CPUs they may use. Unknown masks crowd nothing."""
    for node in {nodes[r] for r in members}:
        here = [r for r in members if nodes[r] == node and affinity[r]]
        if len(here) > len({cpu for r in here for cpu in affinity[r]}):
            return True
    return False


def binding_warnings(affinity: Sequence[Sequence[int]], nodes: Sequence[int]) -> list[str]:
    """What the real masks of the ranks say that a launcher's flags do not.

    `affinity[r]` holds the CPUs rank r may use. Some launchers bind to one core at few ranks and not at many, so a
    rank with one CPU is worth a line, and ranks of a node that share one CPU even more.
    """
    lines = _crowding(affinity, nodes)
    single = [r for r, cpus in enumerate(affinity) if len(cpus) == 1]
    if single:
        whom = "every rank is" if len(single) == len(affinity) else f"ranks {_list(single)} are"
        lines.append(f"{whom} bound to a single CPU: multi-threaded kernels will run on one core")
    if len({len(cpus) for cpus in affinity}) > 1:
        lines.append(f"ranks may use different numbers of CPUs: {_list([len(cpus) for cpus in affinity])}")
    return lines


def _crowding(affinity: Sequence[Sequence[int]], nodes: Sequence[int]) -> list[str]:
    """Nodes with more ranks than CPUs, and ranks that are bound to one and the same CPU."""
    lines = []
    for node in sorted(set(nodes)):
        here = [r for r in range(len(nodes)) if nodes[r] == node and affinity[r]]
        cpus = {cpu for r in here for cpu in affinity[r]}
        if len(here) > len(cpus) > 0:
            lines.append(
                f"{len(here)} ranks share {len(cpus)} CPUs on node {node}: message times include waiting for one"
            )
        by_cpu: dict[int, list[int]] = {}
        for r in here:
            if len(affinity[r]) == 1:
                by_cpu.setdefault(affinity[r][0], []).append(r)
        shared = ((cpu, who) for cpu, who in by_cpu.items() if len(who) > 1)
        lines += [f"ranks {_list(who)} are bound to the same CPU {cpu}" for cpu, who in shared]
    return lines


def _list(numbers: Sequence[int]) -> str:
    """`0, 1, 2, 3 …` cut after eight."""
    return ", ".join(map(str, numbers[:8])) + (" …" if len(numbers) > 8 else "")
