"""Machines: facts with sources, limits and the scheduler's part, one TOML file each."""

from sprintprof.machine.machine import Fact, Machine
from sprintprof.machine.reader import list_machines, load_machine, machine_of_device
from sprintprof.machine.schema import Cluster, Gpu, Limits, Link, Network, Node, Partition, Scheduler

__all__ = [
    "Cluster",
    "Fact",
    "Gpu",
    "Limits",
    "Link",
    "Machine",
    "Network",
    "Node",
    "Partition",
    "Scheduler",
    "list_machines",
    "load_machine",
    "machine_of_device",
]
