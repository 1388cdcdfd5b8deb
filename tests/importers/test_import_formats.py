"""Every shape of log: counts, values, parameters, units, what the log says about itself."""

from __future__ import annotations

import math
from typing import Any

import made_logs
import pytest
from import_helpers import Reader, one

from sprintprof.bench.messages.rates import bus_factor
from sprintprof.bench.registry import all_benchmarks
from sprintprof.importers.collect import lines_of
from sprintprof.importers.formats import _nccl_facts
from sprintprof.importers.names import AXES, USUAL, declared_bytes


@pytest.mark.parametrize("name", made_logs.LOGS)
def test_counts(read: Reader, name: str) -> None:
    text, kind, rows, points = made_logs.LOGS[name]
    for asked in ("auto", kind):
        job = read(text, asked)
        found = [(f.what, f.rows, f.points, f.state) for f in job.report.files]
        assert found == [(kind, rows, points, "ok")], list(lines_of(job.report))
        assert job.report.exit_code == 0
        assert all(
            m.extra["log"] and m.extra["line"] and m.extra["tool"] and m.extra["statistic"] for m in job.measurements
        )


def test_names_and_axes_are_those_of_the_benchmarks() -> None:
    registered = {b.name: b for b in all_benchmarks()}
    for name, axes in AXES.items():
        assert axes == tuple(a.name for a in registered[name].axes), name
        for axis in registered[name].axes:
            if axis.name in USUAL:
                assert USUAL[axis.name] == axis.default or (name, axis.name) in {
                    ("memory_copy", "precision"),
                    ("triad", "precision"),
                }
    for name in ("allreduce", "allgather", "reduce_scatter", "broadcast", "reduce"):
        for ranks in (2, 3, 16):
            assert _nccl_facts.bus_factor(name, ranks) == pytest.approx(bus_factor(name, ranks).value)


@pytest.mark.parametrize("name", made_logs.LOGS)
def test_points_fit_the_registry(read: Reader, name: str) -> None:
    """A point of a registered benchmark has its axes, with their types; more only where it says how it differs."""
    registered = {b.name: b for b in all_benchmarks()}
    for m in read(made_logs.LOGS[name][0]).measurements:
        known = registered.get(m.point.benchmark)
        if known:
            axes = {a.name: a.type for a in known.axes}
            assert {k: type(v) for k, v in m.point.parameters.items() if k in axes} == axes
            assert set(m.point.parameters) - set(axes) <= {
                "buffers",
                "library",
                "in_place",
                "root",
                "redop",
                "algorithm",
            }
            if known.ranks_of and m.point.ranks > 0:
                assert known.ranks_of(m.point.parameters) == m.point.ranks


def test_osu_values(read: Reader) -> None:
    latency = one(read(made_logs.LOGS["osu_latency"][0]), benchmark="pingpong", size_bytes=1024)
    assert latency.median_s == pytest.approx(1.59e-6)  # 1.5 + 1024/12000, two digits
    assert (latency.point.ranks, latency.point.engine, latency.bytes) == (2, "numpy", 1024.0)
    assert list(latency.samples.time_s) == [latency.median_s]
    assert latency.extra["iterations"] == "missing(not in log)"
    rate = one(read(made_logs.OSU_RATE), benchmark="message_rate", size_bytes=4096)
    assert rate.median_s == pytest.approx(0.5e-6)
    assert rate.point.parameters == {"size_bytes": 4096, "window": 64, "pairs": 16, "placement": "spread"}
    assert (rate.point.ranks, rate.extra["nodes"]) == (32, 32)
    full = one(read(made_logs.OSU_FULL), size_bytes=4096)
    assert full.median_s == pytest.approx(6.10e-6)
    assert full.extra["max_latency_s"] == pytest.approx(7.55e-6)
    assert (full.point.ranks, full.extra["nodes"], full.extra["iterations"]) == (32, 4, 1000)
    tails = one(read(made_logs.OSU_PERCENTILES), size_bytes=64)
    assert (tails.extra["p90_latency_s"], tails.extra["p99_latency_s"]) == (
        pytest.approx(6.64e-6),
        pytest.approx(9.64e-6),
    )
    assert (tails.point.ranks, tails.point.parameters["precision"]) == (64, "int32")
    overlap = one(read(made_logs.OSU_OVERLAP), size_bytes=16)
    assert (overlap.point.benchmark, overlap.median_s) == ("iallreduce", pytest.approx(5.8e-6))
    assert (overlap.extra["overlap"], overlap.extra["overall_s"]) == (pytest.approx(0.4), pytest.approx(12.6e-6))
    barrier = one(read(made_logs.OSU_BARRIER), benchmark="barrier")
    assert (barrier.median_s, barrier.point.ranks, math.isnan(barrier.bytes)) == (pytest.approx(12.57e-6), 384, True)


def test_osu_bandwidth_is_time_a_message(read: Reader) -> None:
    job = read("mpirun -np 2 osu_bw -W 32\n" + made_logs.osu_bandwidth())
    m = one(job, size_bytes=1 << 22)
    printed = round((1 << 22) / (0.3 + (1 << 22) / 12000.0), 2)
    assert m.bytes / m.median_s == pytest.approx(printed * 1e6)  # MB are 10^6 bytes in OSU
    assert m.point.parameters["window"] == 32
    both = read(made_logs.OSU_VALIDATED)
    assert one(both, size_bytes=8).point.parameters["directions"] == 2
    assert one(both, size_bytes=8).point.engine == "cupy"
    failed = one(both, size_bytes=4)
    assert (failed.status, failed.reason) == ("failed", "validation failed")
    assert math.isnan(failed.median_s)


def test_few_digits_are_said(read: Reader) -> None:
    """0.06 MB/s may be off by 8 %: flagged, kept; 0.00 MB/s has no time at all."""
    rows = made_logs.osu_row(1, 0.0) + made_logs.osu_row(2, 0.06) + made_logs.osu_row(4, 12.0)
    job = read(f"osu_bw -m 1:4\n# OSU MPI Bandwidth Test v5.8\n# Size      Bandwidth (MB/s)\n{rows}")
    assert one(job, size_bytes=1).status == "skipped"
    assert "0" in one(job, size_bytes=1).reason
    assert one(job, size_bytes=2).flags == ("under-resolution",)
    assert one(job, size_bytes=2).extra["rounding"] == pytest.approx(0.005 / 0.06)
    assert one(job, size_bytes=4).flags == ()


def test_memory_and_one_sided(read: Reader) -> None:
    mixed = one(read(made_logs.OSU_MIXED_MEMORY), size_bytes=8)
    assert (mixed.point.engine, mixed.point.parameters["buffers"]) == ("cupy", "H D")
    put = one(read(made_logs.OSU_ONE_SIDED), benchmark="put_latency", size_bytes=8)
    assert put.point.parameters["synchronization"] == "MPI_Win_flush"
    assert one(read(made_logs.OSU_ONE_SIDED), benchmark="fetch_and_op_latency").median_s == pytest.approx(1.23e-6)


def test_vectors_become_blocks(read: Reader) -> None:
    """OSU prints the whole vector of reduce_scatter, the benchmark's axis is one rank's block; 4 bytes make no 16 blocks."""
    job = read(made_logs.OSU_SEVERAL)
    block = one(job, benchmark="reduce_scatter", size_bytes=64)
    assert (block.extra["log_size_bytes"], block.point.ranks, block.bytes) == (1024, 16, 1024.0)
    assert one(job, benchmark="reduce_scatter_uneven", size_bytes=4).status == "ok"
    assert one(job, benchmark="allreduce", size_bytes=1024).extra["nodes"] == 4
    assert one(job, benchmark="pingpong", size_bytes=0).point.parameters["placement"] == "spread"


def test_imb(read: Reader) -> None:
    job = read(made_logs.IMB)
    assert one(job, benchmark="pingpong", size_bytes=4096).median_s == pytest.approx(1.66e-6)
    four = one(job, benchmark="allreduce", size_bytes=1024, ranks=4)
    assert four.median_s == pytest.approx(5.28e-6)  # t_avg
    assert (four.extra["t_max_s"], four.extra["iterations"]) == (pytest.approx(5.46e-6), 1000)
    assert one(job, benchmark="allreduce", size_bytes=1024, ranks=2).median_s == pytest.approx(3.28e-6)
    assert one(job, benchmark="barrier").median_s == pytest.approx(1.23e-6)
    assert one(job, benchmark="reduce_scatter", size_bytes=16).extra["log_size_bytes"] == 64
    rate = one(job, benchmark="message_rate", size_bytes=1024)
    assert (rate.median_s, rate.point.parameters["pairs"]) == (pytest.approx(1 / 20.8e6), 4)
    no_memory, no_time = (
        one(job, benchmark="alltoall", size_bytes=524288),
        one(job, benchmark="alltoall", size_bytes=1048576),
    )
    assert (no_memory.status, no_memory.reason[:10]) == ("skipped", "out-of-mem")
    assert (no_time.status, no_time.reason[:8]) == ("failed", "time-out")
    nbc = one(read(made_logs.IMB_NBC), size_bytes=8)
    assert (nbc.point.benchmark, nbc.median_s, nbc.extra["overlap"]) == (
        "ibroadcast",
        pytest.approx(1.7e-6),
        pytest.approx(0.0941),
    )


def test_nccl_keeps_both_rates_apart_and_stores_neither_as_the_time(read: Reader) -> None:
    """Case U33: bytes and time are stored, the bus rate's formula is named; its factor is 1.875 on 16 ranks, 1 on 2."""
    m = one(read(made_logs.NCCL), size_bytes=1 << 26, in_place=None)
    assert (m.point.ranks, m.extra["nodes"], m.point.parameters["library"]) == (16, 2, "nccl")
    assert m.median_s == pytest.approx(462.4e-6)
    assert m.bytes / m.median_s == pytest.approx(m.extra["log_algbw_Bps"], rel=1e-4)
    assert m.extra["log_busbw_Bps"] == pytest.approx(1.875 * m.bytes / m.median_s, rel=1e-3)
    assert m.extra["busbw_formula"] == "algbw · 2(p−1)/p"
    assert one(read(made_logs.NCCL), size_bytes=1 << 26, in_place=True).median_s == pytest.approx(485.5e-6)
    assert _nccl_facts.bus_factor("allreduce", 2) == 1.0


def test_nccl_zero_bytes_with_a_time_are_suspicious(read: Reader) -> None:
    zero = [m for m in read(made_logs.NCCL).measurements if m.point.parameters["size_bytes"] == 0]
    assert len(zero) == 2
    assert all("suspicious" in m.flags and "no bytes" in str(m.extra["suspicious"]) for m in zero)


def test_nccl_blocks_and_roots(read: Reader) -> None:
    gather = one(read(made_logs.NCCL_GATHER), size_bytes=1 << 18, in_place=None)
    assert (gather.point.benchmark, gather.point.ranks, gather.bytes) == ("allgather", 4, float(1 << 20))
    job = read(made_logs.NCCL_ROOTS)
    assert {m.point.parameters["root"] for m in job.measurements} == {0, 1}


def test_nccl_excerpt_without_devices_says_ranks_by_its_rates(read: Reader) -> None:
    rows = "".join(made_logs.nccl_row(1 << i, 20 + (1 << i) / 98e3, 2 * 31 / 32, "     sum") for i in range(20, 33))
    head = (
        "#       size         count      type   redop     time   algbw   busbw  error     time   algbw   busbw  error\n"
    )
    units = "#        (B)    (elements)                       (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n"
    job = read(head + units + rows + made_logs._average(rows))
    assert {m.point.ranks for m in job.measurements} == {32}
    assert {m.point.benchmark for m in job.measurements} == {"allreduce"}
    assert {m.extra["ranks_from"] for m in job.measurements} == {"busbw / algbw"}
    wrong = read(head + units.replace("(us)", "(ms)") + rows)
    assert (wrong.report.points, wrong.report.files[0].state) == (0, "no data")
    assert "units" in wrong.report.files[0].troubles[0].why


def test_device_copies(read: Reader) -> None:
    job = read(made_logs.BANDWIDTHTEST)
    up = one(job, benchmark="copy_h2d")
    # the version that prints MB/s divides by 2^20 and multiplies by 2^10: its unit is 1,024,000 B/s
    assert up.bytes / up.median_s == pytest.approx(11618.3 * 1.024e6)
    inside = one(job, benchmark="memory_copy")
    assert inside.bytes == 2 * 33554432
    assert inside.bytes / inside.median_s == pytest.approx(765048.1 * 1.024e6)
    assert inside.flags == ()  # under the 900 GB/s of a V100
    fast = read(made_logs.BANDWIDTHTEST.replace("765048.1", "965048.1"))
    assert one(fast, benchmark="memory_copy").flags == ("above-peak",)
    assert fast.report.files[0].suspicious == 1
    modern = made_logs.BANDWIDTHTEST.replace("MB/s", "GB/s").replace("11618.3", "26.8").replace("765048.1", "765.0")
    assert one(read(modern), benchmark="copy_h2d").extra["log_bandwidth_Bps"] == pytest.approx(26.8e9)
    odd = read(made_logs.BANDWIDTHTEST.replace("Bandwidth(MB/s)", "Bandwidth(furlongs)"))
    assert (odd.report.points, "unit 'furlongs'" in odd.report.files[0].troubles[0].why) == (0, True)


def test_matrices(read: Reader) -> None:
    cell = one(read(made_logs.NVBANDWIDTH), benchmark="nvbandwidth_device_to_device_memcpy_read_ce", row=1, column=0)
    assert cell.bytes / cell.median_s == pytest.approx(395.08e9)
    assert "512 MiB" in str(cell.extra["size_from"])
    job = read(made_logs.P2P)
    remote = one(job, benchmark="p2p_bandwidth", source=0, target=1, directions=1)
    assert remote.extra["copied_bytes"] / remote.median_s == pytest.approx(22.02e9)
    assert one(job, benchmark="p2p_latency", source=1, target=0, clock="cpu").median_s == pytest.approx(5.49e-6)
    local = one(job, benchmark="p2p_bandwidth", source=0, target=0, directions=2)
    assert local.extra["copied_bytes"] == 4 * 160_000_000


def test_stream(read: Reader) -> None:
    job = read(made_logs.stream(threads=4))
    triad = one(job, benchmark="stream_triad")
    assert (triad.point.parameters["threads"], triad.point.parameters["size_bytes"]) == (4, 80_000_000)
    assert triad.bytes / triad.min_s == pytest.approx(triad.extra["best_rate_Bps"], rel=1e-3)
    assert triad.flop == 2 * 10_000_000
    serial = one(read(made_logs.stream(threads=1)), benchmark="triad")
    assert serial.point.parameters == {"size_bytes": 80_000_000, "precision": "fp64"}
    gpu = one(read(made_logs.BABELSTREAM), benchmark="memory_copy")
    assert (gpu.point.engine, gpu.point.parameters["size_bytes"]) == ("cupy", 1 << 28)
    assert gpu.extra["device"] == "NVIDIA A100-SXM4-80GB"


def test_bytes_of_an_operation() -> None:
    assert declared_bytes("gather", 100, 5, {}) == 400.0
    assert declared_bytes("allgather", 100, 5, {}) == 500.0
    assert math.isnan(declared_bytes("gather", 100, -1, {}))
    assert math.isnan(declared_bytes("barrier", None, 4, {}))


def test_tables_that_others_made(read: Reader) -> None:
    job = read(made_logs.OSU_TABLE, name="t.csv")
    ring: Any = one(job, benchmark="allreduce")
    assert (ring.point.parameters["algorithm"], ring.point.ranks, ring.extra["nodes"]) == ("ring", 200, 200)
    assert (ring.median_s, ring.extra["max_latency_s"]) == (pytest.approx(851.32e-6), pytest.approx(908.17e-6))
    assert one(job, benchmark="reduce").point.parameters["placement"] == "spread"
