"""What a machine file holds: facts with their sources, limits of the site, how jobs are submitted.

Units are SI and in the names; bandwidths are of one direction. A fact that is not known is left out (None), never 0.
"""
# ruff: noqa: N815  (units are spelled as they are)

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

Number = Annotated[float, msgspec.Meta(gt=0, lt=1e30)]
Count = Annotated[int, msgspec.Meta(ge=1, le=1 << 31)]
Size = Annotated[int, msgspec.Meta(ge=1, le=1 << 60)]
Text = Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]
Precision = Literal["fp64", "fp32", "tf32", "fp16", "bf16"]


class Link(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A link, or all links of that kind together: `bandwidth_Bps` of the whole bundle in one direction."""

    kind: Text
    bandwidth_Bps: Number
    latency_s: Number | None = None


class Gpu(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One GPU as the runtime numbers them: half a K80 board, one die of an MI250X.

    `peak_FLOPps` is by precision, with matrix units where the chip has them, without sparsity;
    `vector_peak_FLOPps` without them. `clock_Hz` is the clock of those peaks. `device_names` are the names that
    drivers report. `host_link` joins it to its host, `peer_link` is all its links to other GPUs together.
    """

    model: Text
    device_names: list[Text] = []
    architecture: Text | None = None
    compute_capability: Text | None = None
    sm_count: Count | None = None
    clock_Hz: Number | None = None
    memory_bytes: Size | None = None
    memory_bandwidth_Bps: Number | None = None
    l2_bytes: Size | None = None
    power_W: Number | None = None
    peak_FLOPps: dict[Precision, Number] = {}
    vector_peak_FLOPps: dict[Precision, Number] = {}
    host_link: Link | None = None
    peer_link: Link | None = None
    source: Text | None = None
    source_of: dict[str, Text] = {}


class Node(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One node. `gpu` names the machine file with the GPU's facts; the links hold where they differ from its."""

    gpu: Text | None = None
    gpus: Annotated[int, msgspec.Meta(ge=0, le=1024)] | None = None
    cpu: Text | None = None
    sockets: Count | None = None
    cores_per_socket: Count | None = None
    clock_Hz: Number | None = None
    memory_bytes: Size | None = None
    memory_bandwidth_Bps: Number | None = None
    peak_FLOPps: dict[Precision, Number] = {}
    host_link: Link | None = None
    peer_link: Link | None = None
    source: Text | None = None
    source_of: dict[str, Text] = {}


class Network(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What joins the nodes: `ports` of `port_bandwidth_Bps` each per node."""

    kind: Text
    ports: Count = 1
    port_bandwidth_Bps: Number | None = None
    latency_s: Number | None = None
    topology: Text | None = None
    source: Text | None = None
    source_of: dict[str, Text] = {}


class Cluster(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The whole machine."""

    nodes: Count | None = None
    site: Text | None = None
    source: Text | None = None
    source_of: dict[str, Text] = {}


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What the site allows one user; None where it says nothing. Times may be written `24h`."""

    nodes: Count | None = None
    time_s: Number | None = None
    array_tasks: Count | None = None
    jobs: Count | None = None
    node_hours: Number | None = None
    poll_interval_s: Number | None = None


class Partition(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where a partition differs from the machine's own lines."""

    limits: Limits = Limits()
    account: Text | None = None
    qos: Text | None = None
    constraint: Text | None = None
    cpus_per_node: Count | None = None
    gpus_per_node: Annotated[int, msgspec.Meta(ge=0, le=1024)] | None = None
    options: list[Text] = []


class Scheduler(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How a job is submitted and how it starts MPI ranks.

    `gres` is the form the site wants for GPUs: `gpu:N`, `gpu:TYPE:N` (with `gpu_type`), `--gpus-per-node` or `none`.
    `container` wraps the program, e.g. `apptainer exec --nv image.sif`. `setup` are shell lines after the modules.
    """

    kind: Literal["slurm", "local", "none"] = "slurm"
    partition: Text | None = None
    partitions: dict[str, Partition] = {}
    account: Text | None = None
    qos: Text | None = None
    constraint: Text | None = None
    reservation: Text | None = None
    exclusive: bool = False
    gres: Literal["gpu:N", "gpu:TYPE:N", "--gpus-per-node", "none"] = "none"
    gpu_type: Text | None = None
    cpus_per_node: Count | None = None
    gpus_per_node: Annotated[int, msgspec.Meta(ge=0, le=1024)] | None = None
    threads_per_core: Count | None = None
    modules: list[Text] = []
    setup: list[Text] = []
    environment: dict[str, str] = {}
    launcher: Literal["srun", "mpirun", "mpiexec"] = "srun"
    mpi_type: Text | None = None
    launcher_options: list[Text] = []
    options: list[Text] = []
    scratch: Text | None = None
    container: Text | None = None


class MachineFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The tables of a machine file. `sources` are citations by the short names that `source` and `source_of` use."""

    name: Text | None = None
    title: Text = ""
    note: Text | None = None
    sources: dict[str, Text] = {}
    gpu: Gpu | None = None
    node: Node | None = None
    network: Network | None = None
    cluster: Cluster | None = None
    limits: Limits = Limits()
    scheduler: Scheduler | None = None
