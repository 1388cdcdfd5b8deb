"""Small logs of every shape, written for the tests: laid out as the programs lay them out, numbers made up."""

from __future__ import annotations

SIZES = [1 << i for i in range(23)]


def osu_row(size: int, *values: float, tail: str = "") -> str:
    return f"{size:<10}" + "".join(f"{v:>18.2f}" for v in values) + tail + "\n"


def osu_latency(alpha_us: float = 1.5, rate: float = 12000.0, title: str = "OSU MPI Latency Test v5.8") -> str:
    rows = "".join(osu_row(size, alpha_us + size / rate) for size in [0, *SIZES])
    return f"# {title}\n# Size          Latency (us)\n{rows}"


def osu_bandwidth(peak: float = 12000.0, title: str = "OSU MPI Bandwidth Test v5.8", between: str = "") -> str:
    rows = "".join(osu_row(size, size / (0.3 + size / peak)) for size in SIZES)
    return f"# {title}\n{between}# Size      Bandwidth (MB/s)\n{rows}"


def osu_collective(name: str = "Allreduce", alpha_us: float = 3.0, rate: float = 2000.0, last: int = 1 << 20) -> str:
    rows = "".join(osu_row(size, alpha_us + size / rate) for size in SIZES if 4 <= size <= last)
    return f"\n# OSU MPI {name} Latency Test v5.8\n# Size       Avg Latency(us)\n{rows}"


OSU_OLD = osu_latency(2.0, 900.0, "OSU MPI Latency Test v3.1.1").replace("# Size          ", "# Size            ")

OSU_RATE = (
    "time jsrun -n 32 -a 1 -c 1 -r 1 osu_mbw_mr\n# OSU MPI Multiple Bandwidth / Message Rate Test v5.8\n"
    "# [ pairs: 16 ] [ window size: 64 ]\n# Size                  MB/s        Messages/s\n"
    + "".join(osu_row(size, size * 4.0e6 / (1 + size / 4096) / 1e6, 4.0e6 / (1 + size / 4096)) for size in SIZES)
    + "real 6.75\nuser 0.21\nsys 0.03\n"
)

OSU_FULL = (
    "srun -N 4 --ntasks-per-node=8 ./osu_bcast -f -m 1:4096\n\n# OSU MPI Broadcast Latency Test v5.9\n"
    "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n"
    + "".join(osu_row(s, 2 + s / 1000, 1 + s / 1000, 3 + s / 900, tail=f"{1000:>12}") for s in SIZES if s <= 4096)
)

OSU_PERCENTILES = (
    "mpirun -np 64 -ppn 32 osu_allreduce -z -m 4:64\n\n# OSU MPI Allreduce Latency Test v7.4\n# Datatype: MPI_INT.\n"
    "# Size       Avg Latency(us)  P50 Tail Lat(us)  P90 Tail Lat(us)  P99 Tail Lat(us)\n"
    + "".join(osu_row(s, 5 + s / 100, 4 + s / 100, 6 + s / 100, 9 + s / 100) for s in (4, 8, 16, 32, 64))
)

OSU_VALIDATED = (
    "mpirun -np 2 -map-by ppr:1:node ./osu_bibw -c -m 1:8 D D\nb5303:2544794 SET FI_LNX_PROV_LINKS=shm\n0 gpu 0\n\n"
    "# OSU MPI-CUDA Bi-Directional Bandwidth Test v7.5\n# Datatype: MPI_CHAR.\n"
    "# Size      Bandwidth (MB/s)        Validation\n"
    + "".join(osu_row(s, 0.5 * s, tail=f"{'Fail' if s == 4 else 'Pass':>18}") for s in (1, 2, 4, 8))
)

OSU_OVERLAP = (
    "srun -n 16 osu_iallreduce -m 4:32\n\n# OSU MPI Non-blocking Allreduce Latency Test v5.6.3\n"
    "# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait\n\n"
    "# Size           Overall(us)       Compute(us)    Pure Comm.(us)        Overlap(%)\n"
    + "".join(osu_row(s, 11.0 + s / 10, 6.0 + s / 10, 5.0 + s / 20, 40.0) for s in (4, 8, 16, 32))
)

OSU_ONE_SIDED = (
    "# OSU MPI_Put Latency Test v5.6.3\n# Window creation: MPI_Win_allocate\n# Synchronization: MPI_Win_flush\n"
    "# Size          Latency (us)\n" + "".join(osu_row(size, 0.9 + size / 9000) for size in SIZES)
    + "# OSU MPI_Get Bandwidth Test v5.6.3\n# Window creation: MPI_Win_allocate\n# Synchronization: MPI_Win_flush\n"
    "# Size      Bandwidth (MB/s)\n" + "".join(osu_row(size, size / (0.2 + size / 9000)) for size in SIZES)
    + "# OSU MPI_Fetch_and_op latency Test v5.6.3\n# Window creation: MPI_Win_allocate\n# Synchronization: MPI_Win_flush\n"
    "# Size          Latency (us)\n" + osu_row(8, 1.23)
)  # fmt: skip

OSU_BARRIER = (
    "export UCX_TLS=rc,sm\ntime flux run -N4 --tasks-per-node=96 -o cpu-affinity=per-task ./osu_barrier\n"
    "# OSU MPI Barrier Latency Test v5.8\n# Avg Latency(us)\n            12.57\n\nreal    0m5.711s\n"
)

OSU_MIXED_MEMORY = osu_latency(9.0, 5000.0, "OSU MPI-CUDA Latency Test v5.8").replace(
    "# Size", "# Send Buffer on HOST (H) and Receive Buffer on DEVICE (D)\n# Size"
)

OSU_NO_HASH = (
    "mpiexec -n 12 osu_bcast\nOSU MPI Latency Test v5.9\nSize                Latency (us)\n"
    + "".join(osu_row(size, 6.0 + size / 5000) for size in [0, *SIZES])
    + "\nOSU MPI Broadcast Latency Test v5.9\n"
    "  Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n"
    + "".join(osu_row(s, 7 + s / 1000, 6 + s / 1000, 8 + s / 900, tail=f"{1000:>12}") for s in SIZES if s <= 1 << 20)
)  # fmt: skip

OSU_PYTHON = (
    "torchrun --nnodes 1 --nproc_per_node 2 osu_bw.py --iterations 1000\n# OMB-Py MPI Bandwidth Test\n"
    "# Size (B)  Bandwidth (MB/s)\n" + "".join(osu_row(size, size / (12 + size / 1700)) for size in SIZES[10:])
)

OSU_TAGGED = "".join(f"[1,0]<stdout>:{line}\n" for line in osu_collective("Reduce").splitlines())

OSU_FLUX = osu_collective("Alltoall".replace("Alltoall", "All-to-All Personalized Exchange"), last=1 << 18) + (
    "START OF JOBSPEC\n"
    '{"resources": [{"type": "node", "count": 16, "with": [{"type": "slot", "count": 96, "with": [{"type": "core", "count": 1}],'
    ' "label": "task"}]}], "tasks": [{"command": ["/opt/mpi/collective/osu_alltoall"], "slot": "task", "count": {"per_slot": 1}}],'
    ' "attributes": {"system": {"duration": 0}}, "version": 1}\nSTART OF EVENTLOG\n{"timestamp":1.5,"name":"init"}\n'
)

OSU_SEVERAL = (
    "+ mpirun -np 2 -N 1 osu_latency\n" + osu_latency() + "[warn] Epoll MOD(1) on fd 33 failed.\n+ mpirun -np 2 -N 1 osu_bw\n"
    + osu_bandwidth().replace("1024 ", "hwloc: 17 objects skipped\n1024 ", 1) + "+ mpirun -np 16 -N 4 osu_allreduce\n"
    + osu_collective() + "+ mpirun -np 16 -N 4 osu_reduce_scatter\n" + osu_collective("Reduce_scatter")
)  # fmt: skip

_IMB_TOP = (
    "#------------------------------------------------------------\n#    Intel(R) MPI Benchmarks 2019 Update 6, MPI-1 part    \n"
    "#------------------------------------------------------------\n# Date                  : Wed Oct  7 22:18:57 2020\n"
    "# Machine               : x86_64\n# Release               : 3.10.0-1062.9.1.el7.x86_64\n# MPI Version           : 3.1\n\n"
    "# Calling sequence was: \n\n# IMB-MPI1 allreduce pingpong\n\n# MPI_Datatype for reductions    :   MPI_FLOAT\n\n"
    "# List of Benchmarks to run:\n\n# PingPong\n\n"
)
_LINE = "#---------------------------------------------------\n"


def imb_table(name: str, ranks: int, head: str, rows: list[str], note: str = "") -> str:
    return f"{_LINE}# Benchmarking {name} \n# #processes = {ranks} \n{note}{_LINE}{head}\n" + "\n".join(rows) + "\n\n"


def imb_pingpong(alpha_us: float = 1.2) -> str:
    rows = []
    for size in [0, *SIZES]:
        t = round(alpha_us + size / 9000, 2)
        rows.append(f"{size:>13}{1000:>13}{t:>13.2f}{size / t:>13.2f}")
    return imb_table("PingPong", 2, "       #bytes #repetitions      t[usec]   Mbytes/sec", rows)


def imb_collective(name: str, ranks: int, sizes: list[int] | None = None) -> str:
    rows = [
        f"{s:>13}{1000:>13}{ranks + s / 900:>13.2f}{ranks + s / 700:>13.2f}{ranks + s / 800:>13.2f}"
        for s in sizes or SIZES
    ]
    return imb_table(name, ranks, "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]", rows)


IMB = (
    _IMB_TOP + imb_pingpong() + imb_collective("Allreduce", 2) + imb_collective("Allreduce", 4)
    + imb_collective("Reduce_scatter", 4, [0, 64, 128])
    + imb_table("Barrier", 4, " #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]", [f"{1000:>13}{1.21:>13.2f}{1.25:>13.2f}{1.23:>13.2f}"])
    + imb_table("Uniband", 8, "       #bytes #repetitions   Mbytes/sec      Msg/sec", [f"{0:>13}{1000:>13}{0:>13.2f}{104784878:>13}", f"{1024:>13}{1000:>13}{21299.2:>13.2f}{20800000:>13}"])
    + imb_table("Sendrecv", 4, "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec", [f"{8:>13}{1000:>13}{1.5:>13.2f}{1.7:>13.2f}{1.6:>13.2f}{9.41:>13.2f}"])
    + imb_table("Alltoall", 4, "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]", [
        f"{1024:>13}{1000:>13}{5.5:>13.2f}{5.7:>13.2f}{5.6:>13.2f}",
        '       524288 out-of-mem.; needed X=   2.251 GB; use flag "-mem X" or MAX_MEM_USAGE>=X (IMB_mem_info.h)',
        '      1048576 time-out.; Time limit (secs_per_sample * msg_sizes_list_len) is over; use "-time X"',
    ])
    + "\n# All processes entering MPI_Finalize\n"
)  # fmt: skip

IMB_NBC = (
    _IMB_TOP.replace("MPI-1 part", "NBC part")
    + imb_table("Ibcast", 4, "       #bytes #repetitions t_ovrl[usec] t_pure[usec]  t_CPU[usec]   overlap[%]", [f"{8:>13}{1000:>13}{3.5:>13.2f}{1.7:>13.2f}{1.9:>13.2f}{9.41:>13.2f}"])
    + "\n# All processes entering MPI_Finalize\n"
)  # fmt: skip


def nccl_top(program: str, hosts: int, per_host: int, redop: bool = True, root: bool = True) -> str:
    ranks = hosts * per_host
    devices = "".join(
        f"#  Rank {r:>2} Group  0 Pid {2000 + r:>6} on    node{r // per_host:02d} device {r % per_host:>2} [0x{r % per_host:02x}] NVIDIA A100-SXM4-80GB\n"
        for r in range(ranks)
    )
    middle = ("   redop" if redop else "") + ("    root" if root else "")
    pad = " " * len(middle)
    return (
        f"# Collective test starting: {program}\n# nThread 1 nGpus 1 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0\n#\n# Using devices\n{devices}"
        f"#\n#{pad}                                              out-of-place                       in-place          \n"
        f"#       size         count      type{middle}     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
        f"#        (B)    (elements)          {pad}     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       \n"
    )


def nccl_row(size: int, time_us: float, factor: float, middle: str = "     sum      -1") -> str:
    cells = ""
    for t in (time_us, time_us * 1.05):
        shown = f"{t:>9.2f}" if t < 100 else f"{t:>9.1f}" if t < 10000 else f"{t:>9.0f}"
        algbw = size / float(shown) / 1e3
        cells += f"{shown}{algbw:>8.2f}{algbw * factor:>8.2f}{0:>7}"
    return f"{size:>12}{size // 4:>14}     float{middle}{cells}\n"


def _average(rows: str) -> str:
    words = [line.split() for line in rows.splitlines()]
    busbw = [float(w[i]) for w in words for i in (-6, -2)]
    return f"# Out of bounds values : 0 OK\n# Avg bus bandwidth    : {sum(busbw) / len(busbw):.4g} \n#\n"


def nccl(
    program: str, hosts: int, per_host: int, factor: float, sizes: list[int], middle: str = "     sum      -1"
) -> str:
    rows = "".join(nccl_row(size, 15 + size / 150e3, factor, middle) for size in sizes)
    return nccl_top(program, hosts, per_host) + rows + _average(rows)


NCCL = (
    "+ mpirun -np 16 -N 8 -x NCCL_ALGO=Ring ./build/all_reduce_perf -b 0 -e 1G\nNCCL version 2.18.3+cuda12.2\n"
    + nccl("all_reduce_perf", 2, 8, 1.875, [0, 1024, 1 << 20, 1 << 26, 1 << 30])
)
NCCL_GATHER = nccl("all_gather_perf", 1, 4, 0.75, [1024, 1 << 20, 1 << 28], "    none      -1")
NCCL_ROOTS = (
    nccl_top("broadcast_perf", 1, 2)
    + "".join(nccl_row(1 << 20, 20 + root, 1.0, f"    none{root:>8}") for root in (0, 1))
    + "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 50.0\n"
)
NCCL_EXCERPT = "".join(
    nccl("all_reduce_perf", 4, 8, 2 * 31 / 32, [1 << i for i in range(20, 33)]).partition("#\n#  ")[1:]
).replace("# Collective", "#")

NVBANDWIDTH = (
    "nvbandwidth Version: v0.5\n\nCUDA Runtime Version: 12040\nCUDA Driver Version: 12040\nDriver Version: 550.54.15\n\n"
    "Device 0: NVIDIA H100 80GB HBM3\nDevice 1: NVIDIA H100 80GB HBM3\n\nRunning host_to_device_memcpy_ce.\n"
    "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n           0         1\n 0     55.62     55.63\n\n"
    "SUM host_to_device_memcpy_ce 111.25\n\nRunning device_to_device_memcpy_read_ce.\n"
    "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n           0         1\n 0       N/A    395.15\n 1    395.08       N/A\n\n"
    "SUM device_to_device_memcpy_read_ce 790.23\n"
)

BANDWIDTHTEST = (
    "[CUDA Bandwidth Test] - Starting...\nRunning on...\n\n Device 0: Tesla V100-SXM2-16GB\n Quick Mode\n\n"
    " Host to Device Bandwidth, 1 Device(s)\n PINNED Memory Transfers\n   Transfer Size (Bytes)\tBandwidth(MB/s)\n"
    "   33554432\t\t\t11618.3\n\n Device to Device Bandwidth, 1 Device(s)\n PINNED Memory Transfers\n"
    "   Transfer Size (Bytes)\tBandwidth(MB/s)\n   33554432\t\t\t765048.1\n\nResult = PASS\n"
)

P2P = (
    "[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]\nDevice: 0, NVIDIA GeForce RTX 4090, pciBusID: 41, pciDeviceID: 0, pciDomainID:0\n"
    "Device: 1, NVIDIA GeForce RTX 4090, pciBusID: 61, pciDeviceID: 0, pciDomainID:0\nP2P Connectivity Matrix\n     D\\D     0     1\n"
    "     0\t     1     0\n     1\t     0     1\nUnidirectional P2P=Disabled Bandwidth Matrix (GB/s)\n   D\\D     0      1 \n"
    "     0 913.74  22.02 \n     1  22.05 921.88 \nBidirectional P2P=Enabled Bandwidth Matrix (GB/s)\n   D\\D     0      1 \n"
    "     0 918.25  30.92 \n     1  30.79 922.10 \nP2P=Enabled Latency (P2P Writes) Matrix (us)\n   GPU     0      1 \n"
    "     0   1.38  10.49 \n     1  10.55   1.35 \n\n   CPU     0      1 \n     0   1.84   5.44 \n     1   5.49   1.78 \n"
)


def stream(elements: int = 10_000_000, threads: int = 4, digits: int = 6) -> str:
    rows = ""
    for name, arrays, rate in (("Copy", 2, 44469.5), ("Scale", 2, 46028.0), ("Add", 3, 55082.5), ("Triad", 3, 55376.4)):
        least = round(arrays * elements * 8 / rate / 1e6, digits)
        rate = arrays * elements * 8 / least / 1e6
        rows += f"{name + ':':<12}{rate:>11.1f}{least * 1.01:>13.{digits}f}{least:>13.{digits}f}{least * 1.03:>13.{digits}f}\n"
    line = "-------------------------------------------------------------\n"
    return (
        f"OMP_NUM_THREADS={threads}\n{line}STREAM version $Revision: 5.10 $\n{line}This system uses 8 bytes per array element.\n{line}"
        f"Array size = {elements} (elements), Offset = 0 (elements)\nEach kernel will be executed 10 times.\n{line}"
        + (f"Number of Threads requested = {threads}\nNumber of Threads counted = {threads}\n" if threads > 1 else "")
        + f"{line}Function    Best Rate MB/s  Avg time     Min time     Max time\n{rows}{line}"
        "Solution Validates: avg error less than 1.000000e-13 on all three arrays\n" + line
    )


STREAM_FORTRAN = (
    " Assuming 8 bytes per DOUBLE PRECISION word\n ----------------------------------------------\n STREAM Version $Revision: 5.6 $\n"
    " Array size =   20000000\n Offset     =          0\n You are running each test  10 times\n Number of Threads =            2\n"
    "Function     Rate (MB/s)  Avg time   Min time  Max time\nCopy:         22695.0    0.0142      0.0141      0.0143\n"
    "Scale:        21917.8    0.0146      0.0146      0.0147\nAdd:          28402.4    0.0169      0.0169      0.0170\n"
    "Triad:        28402.4    0.0169      0.0169      0.0170\n Solution Validates!\n"
)

BABELSTREAM = (
    "BabelStream\nVersion: 4.0\nImplementation: CUDA\nRunning kernels 100 times\nPrecision: double\nArray size: 268.4 MB (=0.3 GB)\n"
    "Total size: 805.3 MB (=0.8 GB)\nUsing CUDA device NVIDIA A100-SXM4-80GB\nDriver: 12020\n"
    "Function    MBytes/sec  Min (sec)   Max         Average     \n"
    "Copy        1729543.592 0.00031     0.00033     0.00032     \nMul         1677721.600 0.00032     0.00034     0.00033     \n"
    "Add         1766023.400 0.00046     0.00047     0.00046     \nTriad       1766023.400 0.00046     0.00047     0.00046     \n"
    "Dot         1677721.600 0.00032     0.00033     0.00032     \n"
)
BABELSTREAM_CSV = (
    "BabelStream\nVersion: 4.0\nImplementation: HIP\n"
    "function,num_times,n_elements,sizeof,max_mbytes_per_sec,min_runtime,max_runtime,avg_runtime\n"
    "Copy,100,33554432,8,1295178.88,0.00041452,0.00043,0.00042\nTriad,100,33554432,8,1303207.91,0.00061795,0.00064,0.00063\n"
)

OSU_TABLE = (
    "bench,algorithm,nprocs,npernode,size_bytes,avg_us,min_us,max_us,iterations\nosu_reduce,ignore,200,1,100000,132.14,31.23,831.04,100\n"
    "osu_allreduce,ring,200,1,100000,851.32,779.69,908.17,100\n"
)

PROLOGUE = (
    "Loading openmpi/4.1.5\nLoading ucx/1.15\n[hpcuser@headnode ~]$ salloc -N2 -n2\nsalloc: Granted job allocation 6\n"
    'SLURM_NNODES=2\n{"not": "a job"}\n2024-03-01 was a Friday\n1 2 3\n'
)

LOGS: dict[str, tuple[str, str, int, int]] = {
    "osu_old": (OSU_OLD, "osu", 24, 24),
    "osu_latency": (PROLOGUE + osu_latency(), "osu", 24, 24),
    "osu_rate": (OSU_RATE, "osu", 23, 23),
    "osu_full": (OSU_FULL, "osu", 13, 13),
    "osu_percentiles": (OSU_PERCENTILES, "osu", 5, 5),
    "osu_validated": (OSU_VALIDATED, "osu", 4, 4),
    "osu_overlap": (OSU_OVERLAP, "osu", 4, 4),
    "osu_one_sided": (OSU_ONE_SIDED, "osu", 47, 47),
    "osu_barrier": (OSU_BARRIER, "osu", 1, 1),
    "osu_mixed_memory": (OSU_MIXED_MEMORY, "osu", 24, 24),
    "osu_no_hash": (OSU_NO_HASH, "osu", 45, 45),
    "osu_python": (OSU_PYTHON, "osu", 13, 13),
    "osu_tagged": (OSU_TAGGED, "osu", 19, 19),
    "osu_flux": (OSU_FLUX, "osu", 17, 17),
    "osu_several": (OSU_SEVERAL, "osu", 85, 85),
    "imb": (IMB, "imb", 80, 80),
    "imb_nbc": (IMB_NBC, "imb", 1, 1),
    "nccl": (NCCL, "nccl-tests", 5, 10),
    "nccl_gather": (NCCL_GATHER, "nccl-tests", 3, 6),
    "nvbandwidth": (NVBANDWIDTH, "nvbandwidth", 3, 4),
    "bandwidthtest": (BANDWIDTHTEST, "bandwidthtest", 2, 2),
    "p2p": (P2P, "p2p", 8, 16),
    "stream": (stream(), "stream", 4, 4),
    "stream_fortran": (STREAM_FORTRAN, "stream", 4, 4),
    "babelstream": (BABELSTREAM, "stream", 5, 5),
    "babelstream_csv": (BABELSTREAM_CSV, "stream", 2, 2),
    "osu_table": (OSU_TABLE, "osu-table", 2, 2),
}
"""Name: text, format, rows, points. All whole: their state is ok."""
