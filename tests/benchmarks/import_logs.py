"""Real logs of many sites, by `auto`: every file with its rows, or with the reason why it has none or not all.

Rows were counted with grep, not with the importers: lines that begin with a size (or, without one, with a time in the
table's layout), as `grep -cP '^\\s*[0-9]+(\\s+-?[0-9]+\\.[0-9]{2})+(\\s+[0-9]+|\\s+Pass)?\\s*$'` and its like find them.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

DATA = Path(os.environ.get("SPRINTPROF_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))

EXPECTED: dict[str, tuple[str, int, str, str]] = {
    "imb/azurehpc_simple_slurm_1.log": ("imb", 24, "ok", ""),
    "imb/nrel_imb2018_rawdat.log": ("imb", 290, "ok", ""),  # 275 with numbers, 14 out of memory, 1 out of time
    "nccl/aws_awsome_nccl_1.log": ("nccl-tests", 7, "partial", "do not average"),  # rows were replaced by dots
    "nccl/coreweave_nccl_1.log": ("nccl-tests", 5, "ok", ""),
    "nccl/coreweave_nccl_3.log": ("nccl-tests", 6, "ok", "rank 143"),
    "nccl/cscs_nccl_gh200_1.log": ("nccl-tests", 25, "ok", ""),
    "nccl/deepops_network_operator_1.log": ("nccl-tests", 30, "ok", ""),
    "nccl/deepops_slurm_1.log": ("nccl-tests", 13, "ok", ""),
    "osu/archer2_container_1.log": ("osu", 19, "ok", "ranks of 19 points"),
    "osu/cscs_mpich_gh200_2.log": ("osu", 23, "ok", ""),
    "osu/cscs_mpich_gh200_4.log": ("osu", 23, "ok", ""),
    "osu/cscs_openmpi_gh200_10.log": ("osu", 21, "ok", ""),
    "osu/cscs_openmpi_gh200_2.log": ("osu", 23, "ok", ""),
    "osu/cscs_openmpi_gh200_4.log": ("osu", 23, "ok", ""),
    "osu/cscs_openmpi_gh200_6.log": ("osu", 23, "ok", ""),
    "osu/cscs_openmpi_gh200_8.log": ("osu", 21, "ok", ""),
    "osu/lassen_osu_32_nodes.out": ("osu", 1320, "ok", ""),  # 20 × (23 + 24 + 19)
    "osu/lassen_osu_4_nodes.out": ("osu", 1320, "ok", ""),
    "osu/ps_aws_eks_cpu_size256_osu_osu-256-iter-1-1999022063616.out": ("osu", 19, "ok", ""),
    "osu/ps_aws_eks_cpu_size32-noefa_osu_osu-32-iter-5-10764043681792.out": ("osu", 19, "ok", ""),
    "osu/ps_aws_eks_gpu_size16_osu_osu-4-iter-5-39880264515584.out": ("osu", 19, "ok", ""),
    "osu/ps_azure_aks_cpu_size64-placement_no-placement_osu_null-1962917494784.out": (
        "",
        0,
        "no data",
        "nothing of a known benchmark",
    ),
    "osu/ps_azure_aks_gpu_size32_osu_osu-32-iter-1-1506426224640.out": ("osu", 19, "ok", ""),
    "osu/ps_azure_cyclecloud_gpu_size16_osu-dd_osu-16n-304-iter-5.out": (
        "osu",
        1354,
        "ok",
        "ranks of 38 points",
    ),  # 28 pairs × 47 + 2 × 19
    "osu/ps_azure_cyclecloud_gpu_size8_osu-hh_osu-8n-508-osu-hh-8n.out": ("osu", 1411, "ok", "ranks of 95 points"),
    "osu/ps_google_compute-engine_cpu_size256_osu_osu-256-iter-1-29939780812800.out": ("osu", 19, "ok", ""),
    "osu/ps_google_compute-engine_gpu_size16_osu-fixed_osu-2-iter-9-6434246885376.out": ("osu", 23, "ok", ""),
    "osu/ps_google_compute-engine_gpu_size4_osu_osu-4-iter-2-16360386068480.out": ("osu", 19, "ok", ""),
    "osu/ps_google_gke_cpu_size128_osu_osu-2-iter-9-6345965174784.out": ("osu", 23, "ok", ""),
    "osu/ps_google_gke_gpu_size32_osu_osu-32-iter-5-3151348367360.out": ("osu", 19, "ok", ""),
    "osu/ucc_userguide_2.log": ("osu", 1, "ok", "ranks of 1 points"),
    "osu/usernetes_azure_4_nodes_1.log": ("osu", 1, "ok", ""),
    "osu/usernetes_azure_experiments_1.log": ("osu", 24, "ok", ""),
    "osu/usernetes_azure_experiments_3.log": ("osu", 1, "ok", ""),
    "osu/usernetes_azure_experiments_5.log": ("osu", 24, "ok", ""),
    "osu/usernetes_azure_experiments_7.log": ("osu", 1, "ok", ""),
    "osu/wukan_openmpi_mpich_all_osu_5.6.3.log": (
        "osu",
        7329,
        "ok",
        "ranks of 4680 points",
    ),  # 7302 + 18 barriers + 9 inits
    "stream/nrel_stream_out.dat": ("stream", 576, "ok", ""),
    "transcribed/bandwidthTest_gtx780ti_MBps.log": ("bandwidthtest", 3, "ok", ""),
    "transcribed/bandwidthTest_rtx6000ada_GBps_d2d_suspicious.log": ("bandwidthtest", 3, "ok", ""),
    "transcribed/nvbandwidth_0.5_gh200.log": ("nvbandwidth", 1, "ok", ""),
    "transcribed/omb_py_torch_gloo_bw.log": ("osu", 15, "ok", ""),
    "transcribed/osu_4.1_latency_vader_sharedmem.log": ("osu", 24, "ok", ""),
    "transcribed/osu_4.4.1_latency_jobmap_truncated.log": ("osu", 8, "partial", "ends at 64 bytes"),
    "transcribed/osu_5.9_latency_bcast_f_headers_without_hash.log": ("osu", 45, "ok", "ranks of 21 points"),
    "transcribed/osu_6.2_200nodes_by_algorithm.csv": ("osu-table", 78, "ok", ""),
    "transcribed/osu_7.0_cuda_allreduce_full_jsc.log": ("osu", 2, "ok", "iterations is cut"),
    "transcribed/osu_7.5_cuda_bibw_validation_excerpt.log": ("osu", 14, "partial", "ends at 8192 bytes"),
    "transcribed/p2pBandwidthLatencyTest_2x4090.log": ("p2p", 16, "ok", ""),
}
"""File: format, rows, state, and a part of what must be said about it."""
SUSPICIOUS = {"nccl/aws_awsome_nccl_1.log": 2, "transcribed/bandwidthTest_rtx6000ada_GBps_d2d_suspicious.log": 1}


def main() -> int:
    """Print every file and the figure; 0 when all are as expected."""
    from sprintprof.importers.collect import import_logs, lines_of
    from sprintprof.importers.options import Options
    from sprintprof.importers.report import ImportReport

    folder = DATA / "logs"
    if not folder.is_dir():
        print(f"FIGURE real logs read as expected: – of {len(EXPECTED)} (goal all) SKIP no {folder}")
        return 0
    report = import_logs("auto", [folder], Options()).report
    found = {str(Path(f.file).relative_to(folder)): f for f in report.files}
    good = 0
    for name in sorted(EXPECTED.keys() | found.keys()):
        file, (what, rows, state, said) = found.get(name), EXPECTED.get(name, ("", 0, "", "not expected at all"))
        if file is None:
            print(f"MISSED {name}: not found")
            continue
        words = " ".join(lines_of(ImportReport("auto", [file])))
        right = (file.what, file.rows, file.state) == (what, rows, state) and said in words
        right = right and file.suspicious == SUSPICIOUS.get(name, 0)
        good += right
        print(
            f"{'ok    ' if right else 'WRONG '} {name}: {file.what} {file.rows} rows, {file.state}{': ' + words[-150:] if said else ''}"
        )
    passed = good == len(EXPECTED) == len(found) and len(report.files) == len(found)
    print(f"FIGURE real logs read as expected: {good} of {len(EXPECTED)} (goal all) {'PASS' if passed else 'FAIL'}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
