"""`make demo`: the main job from end to end, as the commands a user would type."""

from __future__ import annotations

import shlex
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

RANKS = 4
"""Local ranks stand for nodes, one core for a GPU (`--threads 1`): what repeats best on small, shared machines."""
NETWORK = "lenet5"


def commands(folder: Path) -> list[tuple[str, str, tuple[int, ...]]]:
    """(what it shows, command, exit codes that are fine) of every step."""
    first, second = folder / "first.h5", folder / "second.h5"
    profile, prediction = folder / "profile.json", folder / "prediction.json"
    run = f"run --suite quick --ranks {RANKS} --engine numpy --threads 1 --machine demo"
    predict = f"predict {profile} --network"
    small, large = "--nodes 4 --gpus-per-node 2 --sub-batch 16", "--nodes 16 --gpus-per-node 4 --sub-batch 8"
    return [
        ("What is here, and is anything wrong with it?", "doctor", (0, 1)),
        ("Measure: kernels, memory, storage, messages", f"{run} -o {first}", (0,)),
        ("Measure again, to see what repeats", f"{run} -o {second}", (0,)),
        ("Fit the coefficients", f"fit {first} -o {profile}", (0,)),
        ("Predict a network that was measured", f"{predict} {NETWORK} {small}", (0,)),
        ("Predict one that was not", f"{predict} resnet50 {large} --json {prediction}", (0,)),
        ("Compare the two runs", f"compare {first} {second} --changed", (0,)),
    ]  # fmt: skip


def main() -> int:
    """Run every step; stop at the first that fails."""
    folder = Path("results/demo") / datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    folder.mkdir(parents=True)
    began = time.monotonic()
    for title, command, fine in commands(folder):
        print(f"\n== {title}\n$ sprintprof {command}", flush=True)  # noqa: T201
        code = subprocess.run([sys.executable, "-m", "sprintprof", *shlex.split(command)], check=False).returncode
        if code not in fine:
            print(f"\ndemo: this step ended with exit code {code}", file=sys.stderr)  # noqa: T201
            return code
    print(  # noqa: T201
        f"""
== Done in {time.monotonic() - began:.0f} s. In {folder}:
   first.h5 second.h5   results (h5dump or h5py read them): sprintprof show {folder}/first.h5
   profile.json         the machine's coefficients:         sprintprof show {folder}/profile.json
   prediction.json      the last prediction as JSON
Try next, with bin/ of the virtual environment on your PATH:
   sprintprof run --suite standard --ranks {RANKS}              a wider measurement, some minutes
   sprintprof predict {folder}/profile.json --network vgg16 --nodes 8 --gpus-per-node 4 --sub-batch 4
   sprintprof check {folder}/first.h5                  how far to trust it"""
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
