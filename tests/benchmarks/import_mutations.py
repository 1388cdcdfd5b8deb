"""10,000 damaged logs: no traceback, no hang, no value that was not in the log."""

from __future__ import annotations

import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "importers"))

from made_logs import LOGS
from mutations import mutate, printed, problems, values

COUNT = 10_000
SLOWEST_S = 5.0


def main(count: int = COUNT) -> int:
    """Print the figure; 0 when no log is read wrongly."""
    rng = random.Random(20240301)
    wrong = errors = slow = 0
    with tempfile.TemporaryDirectory() as place:
        path = Path(place, "made.log")
        known = {}
        for name, (text, *_) in LOGS.items():
            path.write_text(text)
            known[name] = values(path) | printed(text)
        names = sorted(LOGS)
        for number in range(count):
            name = names[number % len(names)]
            path.write_bytes(mutate(LOGS[name][0], rng))
            began = time.process_time()
            try:
                found = problems(path, known[name])
            except Exception as error:  # noqa: BLE001  (that is what is looked for)
                errors += 1
                print(f"ERROR {name} (log {number}): {type(error).__name__}: {error}")
                continue
            slow += time.process_time() - began > SLOWEST_S
            wrong += bool(found)
            if found:
                print(f"WRONG {name} (log {number}): {'; '.join(found[:3])}")
    passed = wrong == errors == slow == 0
    print(
        f"FIGURE damaged logs read wrongly: {wrong + errors + slow} of {count} (goal 0) {'PASS' if passed else 'FAIL'}"
    )
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
