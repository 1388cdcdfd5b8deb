"""`make figures`: run every script of this folder and print one table of figures, goals and verdicts."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
FIGURE = re.compile(r"FIGURE (?P<name>[^:]+): (?P<value>.*?) \(goal (?P<goal>.*)\) (?P<verdict>PASS|FAIL|SKIP.*)")
LIMIT_S = 300


def main(patterns: list[str]) -> int:
    """Run the scripts whose name contains one of the patterns (all without any); 1 if one misses its goal."""
    scripts = [s for s in sorted(HERE.glob("*.py")) if not s.name.startswith("_")]
    scripts = [s for s in scripts if not patterns or any(p in s.stem for p in patterns)]
    rows: list[tuple[str, str, str, str, str]] = []
    for script in scripts:
        began = time.monotonic()
        print(f"… {script.stem}", file=sys.stderr, flush=True)
        try:
            done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=LIMIT_S)
            output, code = done.stdout, done.returncode
            if code and not FIGURE.search(output):
                print(done.stderr[-2000:], file=sys.stderr)
        except subprocess.TimeoutExpired as late:
            output, code = (late.stdout or b"").decode() if isinstance(late.stdout, bytes) else "", 124
        figures = [m for m in map(FIGURE.fullmatch, output.splitlines()) if m]
        rows += [(script.stem, m["name"], m["value"], m["goal"], m["verdict"]) for m in figures]
        if code and not any(m["verdict"] == "FAIL" for m in figures):
            rows.append((script.stem, "the script itself", f"exit {code}", "exit 0", "FAIL"))
        print(f"  {time.monotonic() - began:.0f} s", file=sys.stderr)
    widths = [max((len(r[i]) for r in rows), default=0) for i in range(5)]
    for row in rows:
        print("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip())
    missed = sum(r[4] == "FAIL" for r in rows)
    print(f"{len(rows) - missed} of {len(rows)} figures reach their goal")
    return 1 if missed or not rows else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
