"""What a push costs a parameter server, waiting for all workers or for none."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ServerCosts:
    """One push to the server, in s: receive the gradient, add it up, apply it to the weights, answer with weights.

    Receiving, computing and answering overlap for different workers. `eviction` ≥ 1 is by how much apply and answer
    take longer where the pushes of others came between and evicted the weights from the caches: each ASP push pays
    it, a BSP iteration applies and prepares one answer once.
    """

    receive_s: float
    add_s: float
    apply_s: float
    prepare_s: float
    send_s: float
    eviction: float = 1.0

    @property
    def service_s(self) -> float:
        """Time of the busiest stage for one push that is applied and answered at once: the queue's service."""
        return max(self.receive_s, self.eviction * (self.apply_s + self.prepare_s), self.send_s)

    @property
    def latency_s(self) -> float:
        """What a push takes beside the busiest stage."""
        return self.receive_s + self.eviction * (self.apply_s + self.prepare_s) + self.send_s - self.service_s

    def barrier_s(self, workers: int) -> float:
        """A BSP iteration's exchange: all pushes are received and added up, applied once, broadcast once."""
        return workers * max(self.receive_s, self.add_s) + self.apply_s + self.prepare_s + self.send_s


def server_costs(
    parameter_bytes: float,
    tensors: int,
    bandwidth_Bps: float,
    memory_Bps: float,
    request_s: float,
    eviction: float = 1.0,
) -> ServerCosts:
    """Costs from measured rates: wire, memory, and the handling of one tensor (a request) by the server.

    Adding reads two vectors and writes one; momentum reads three and writes two; an answer is a copy.
    """
    wire = parameter_bytes / bandwidth_Bps
    handled = tensors * request_s
    memory = parameter_bytes / memory_Bps
    return ServerCosts(wire, 3 * memory, 5 * memory + handled, 2 * memory + handled, wire, eviction)
