"""Hostile network and machine files: how long until they are refused, and how much memory that takes."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path

GOAL_S, GOAL_BYTES = 5.0, 1 << 30
CASES = Path(__file__).resolve().parent.parent / "networks" / "test_network_files.py"
CHILD = """
import pathlib, resource, sys, time
from sprintprof.machine import load_machine
from sprintprof.networks import load_network
from sprintprof.records import InputError
started = time.perf_counter()
for load in (load_network, load_machine):
    try:
        load(pathlib.Path(sys.argv[1]))
    except InputError:
        continue
    sys.exit("accepted")
print((time.perf_counter() - started) / 2, 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def hostile() -> dict[str, bytes]:
    """The texts of the tests and some that are too large for a test."""
    spec = importlib.util.spec_from_file_location("network_files", CASES)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = {name: text.encode() for name, text in module.HOSTILE.items()}
    found["10 MB of comments"] = b"# comment\n" * 1_000_000
    found["10 MB of layers"] = b"input = [3, 8, 8]\nlayers = [\n" + b'{ kind = "relu" },\n' * 500_000 + b"]\n"
    found["512 KiB of layers"] = b"input = [3, 8, 8]\nlayers = [\n" + b'{ kind = "relu" },\n' * 27_000 + b"]\n"
    found["512 KiB of tables"] = b"".join(b"[a%d.b]\nc = 1\n" % i for i in range(30_000))
    found["10 MB of noise"] = bytes(range(256)) * 40_000
    found["one long line"] = b'title = "' + b"x" * 500_000 + b'"'
    return found


def main() -> int:
    """Print the figures; 1 where one misses its goal."""
    times, sizes = [], []
    with tempfile.TemporaryDirectory() as folder:
        for name, text in hostile().items():
            path = Path(folder, "hostile.toml")
            path.write_bytes(text)
            done = subprocess.run([sys.executable, "-c", CHILD, str(path)], capture_output=True, text=True, timeout=80)
            if done.returncode:
                print(f"FIGURE hostile file refused ({name}): 0 1 (goal 1) FAIL")
                return 1
            time_s, size_bytes = map(float, done.stdout.split())
            times.append((time_s, name))
            sizes.append((size_bytes, name))
    (time_s, slowest), (size_bytes, largest) = max(times), max(sizes)
    passed = time_s <= GOAL_S and size_bytes <= GOAL_BYTES
    verdicts = ["PASS" if ok else "FAIL" for ok in (time_s <= GOAL_S, size_bytes <= GOAL_BYTES)]
    print(f"FIGURE hostile file refused ({slowest}): {time_s:.2f} s (goal {GOAL_S:.0f}) {verdicts[0]}")
    print(f"FIGURE hostile file memory ({largest}): {size_bytes / 2**20:.0f} MiB (goal 1024) {verdicts[1]}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
