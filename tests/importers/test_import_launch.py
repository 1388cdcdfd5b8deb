"""What launcher lines and their kin say: ranks, nodes, ranks per node; what the user says over that."""

from __future__ import annotations

import made_logs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from import_helpers import Reader, one

from sprintprof.importers.launch import parse_launch
from sprintprof.importers.options import Options
from sprintprof.importers.scene import job_specification, marked_lines
from sprintprof.records import InputError

CASES = {
    "mpirun -np 2 -bind-to core -display-map osu_latency": (2, None, None),
    "+ mpirun -np 16 --map-by ppr:4:node -x UCX_TLS=rc ./osu_bw": (16, 4, 4),
    "mpiexec -n 64 -ppn 32 IMB-MPI1 allreduce": (64, 2, 32),
    "mpiexec -H a.example.net:2,b.example.net:2 -np 4 osu_bw": (4, 2, 2),
    "$ srun -N2 --mpi=pmix ./pt2pt/osu_bw --validation D D": (2, 2, 1),
    "$ srun -N2 -t5 --ntasks-per-node=4 /nccl-tests/build/all_reduce_perf -b 8": (8, 2, 4),
    "srun -N1 -n2 --mpi=pmix osu_bw": (2, 1, 2),
    "time jsrun -n 32 -a 1 -c 1 -r 1 -l cpu-cpu osu_allreduce": (32, 32, 1),
    "jsrun -n 4 -a 6 -r 2 osu_allreduce": (24, 2, 12),
    "time flux run -N4 --tasks-per-node=96 -o cpu-affinity=per-task singularity exec x.sif osu_barrier": (384, 4, 96),
    "flux run -N2 -n2 osu_latency": (2, 2, 1),
    "aprun -n 48 -N 24 ./osu_alltoall": (48, 2, 24),
    "torchrun --nnodes 2 --nproc_per_node 4 osu_bw.py": (8, 2, 4),
    "[k@login 03]$ OMPI_MCA_x=0 $JSC_SUBMIT_CMD -n 4 osu_allreduce -M 16777216 -m 16777216:16777216": (4, None, None),
    "osu_bw": (None, None, None),
}


@pytest.mark.parametrize("line", CASES)
def test_command_lines(line: str) -> None:
    launch = parse_launch(line)
    assert launch is not None
    assert (launch.ranks, launch.nodes, launch.ranks_per_node) == CASES[line]


@pytest.mark.parametrize("line", [
    "mpiexec detected that one or more processes exited with non-zero status", "which mpirun", "running the suite", "srun: error: node1",
    "mpirun noticed that process rank 1 with PID 0 on node x exited on signal 11", "",
])  # fmt: skip
def test_prose_is_no_launch(line: str) -> None:
    assert parse_launch(line) is None


def test_variables_and_options_of_the_program() -> None:
    launch = parse_launch(
        "UCX_TLS=rc HOME=/x mpirun -np 4 -x NCCL_ALGO=Ring --mca pml ucx osu_allreduce -i 100 -m 4:8 -d cuda"
    )
    assert launch is not None
    assert launch.variables == {"UCX_TLS": "rc", "NCCL_ALGO": "Ring", "OMPI_MCA_pml": "ucx"}
    assert (launch.option("-i", "--iterations"), launch.option("-m"), launch.option("-W")) == ("100", "4:8", None)
    assert launch.command.startswith("UCX_TLS=rc HOME=/x mpirun")


@given(st.text(max_size=300))
def test_any_line_is_read(line: str) -> None:
    launch = parse_launch("mpirun " + line)
    assert launch is None or launch.launcher in ("mpirun", "mpiexec", "srun", "flux") or launch.program or launch.ranks
    job_specification(line)
    job_specification(f'{{"resources": {line}')


@given(
    st.lists(
        st.sampled_from(["mpirun -n 2 osu_bw", "noise", "", "export UCX_TLS=rc", "run of the mill", "x srun y"]),
        min_size=1,
    )
)
def test_marked_lines_are_found(lines: list[str]) -> None:
    found = marked_lines("\n".join(lines) + "\n")
    assert found == [i for i, line in enumerate(lines) if any(w in line for w in ("run ", "osu_", "export "))]


def test_a_job_specification_behind_the_table_counts(read: Reader) -> None:
    m = one(read(made_logs.OSU_FLUX), size_bytes=1024)
    assert (m.point.benchmark, m.point.ranks, m.extra["nodes"]) == ("alltoall", 16 * 96, 16)
    assert m.extra["launched"] == "/opt/mpi/collective/osu_alltoall"


def test_an_allocation_counts_where_the_launcher_says_nothing(read: Reader) -> None:
    job = read("$ salloc -N2 -n8\n$ mpiexec hostname\nnode1\n$ mpiexec osu_allreduce\n" + made_logs.osu_collective())
    m = one(job, size_bytes=4)
    assert (m.point.ranks, m.extra["nodes"]) == (8, 2)
    slurm = read("SLURM_NNODES=4\nSLURM_NTASKS=64\n" + made_logs.osu_collective())
    assert (one(slurm, size_bytes=4).point.ranks, one(slurm, size_bytes=4).extra["nodes"]) == (64, 4)


def test_full_host_names_tell_nodes_apart(read: Reader) -> None:
    """Case U31: w.1.example.net and w.2.example.net are two nodes."""
    maps = "".join(f" Data for node: w.{n}.example.net   Num slots: 2   Max slots: 0    Num procs: 1\n" for n in (1, 2))
    m = one(read(f"mpirun -display-map osu_latency\n{maps}" + made_logs.osu_latency()), size_bytes=8)
    assert (m.extra["nodes"], m.point.parameters["placement"]) == (2, "spread")


def test_options_say_what_the_log_does_not(read: Reader) -> None:
    text = made_logs.osu_collective() + made_logs.osu_latency()
    silent = read(text)
    unknown = one(silent, benchmark="allreduce", size_bytes=4)
    assert unknown.flags == ("ranks-unknown",)
    assert (unknown.extra["ranks"], unknown.extra["nodes"]) == ("missing(not in log)", "missing(not in log)")
    assert silent.report.files[0].unknown_ranks == 19
    told = read(text, nodes=32, ranks_per_node=1)
    m = one(told, benchmark="allreduce", size_bytes=4)
    assert (m.point.ranks, m.extra["nodes"], m.point.parameters["placement"], m.flags) == (32, 32, "spread", ())
    pair = one(told, benchmark="pingpong", size_bytes=4)
    assert (pair.point.ranks, pair.extra["nodes"], pair.point.parameters["placement"]) == (2, 2, "spread")
    assert one(read(text, ranks=8), benchmark="allreduce", size_bytes=4).point.ranks == 8
    over = read("mpirun -np 4 osu_allreduce\n" + text, nodes=3, ranks_per_node=2)
    assert one(over, benchmark="allreduce", size_bytes=4).point.ranks == 6  # the user's word holds


def test_options_that_disagree() -> None:
    with pytest.raises(InputError, match="is not 2 nodes · 3 ranks per node"):
        Options(ranks=4, nodes=2, ranks_per_node=3).checked()
    with pytest.raises(InputError, match="--nodes"):
        Options(nodes=0).checked()


def test_a_library_counts_only_where_one_is_named(read: Reader) -> None:
    one_library = read("module load openmpi/4.1.5\nmpirun -np 2 osu_latency\n" + made_logs.osu_latency())
    assert one(one_library, size_bytes=8).extra["mpi_library"] == "openmpi-4.1.5"
    two = read(
        "/opt/openmpi-4.1.5/bin /opt/openmpi-3.1.6/bin\nx /opt/openmpi-3.1.6/bin\nmpirun -np 2 osu_latency\n"
        + made_logs.osu_latency()
    )
    assert "mpi_library" not in one(two, size_bytes=8).extra
    chosen = read("openmpi/4.1.5\n" + made_logs.osu_latency(), only=(("mpi_library", "openmpi-9"),))
    assert (chosen.report.points, chosen.report.files[0].state) == (0, "no data")
