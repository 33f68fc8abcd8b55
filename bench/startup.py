"""First paint and first result of the window, from the start of the process: fresh and warm code cache.

python -m bench.startup [--repeats 5]
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.options import parser_of

MAIN = Path(__file__).parents[1] / "main.py"


def start_once(cache: str) -> dict[str, float]:
    """Start the window once with this cache of compiled code."""
    environment = os.environ | {"NUMBA_CACHE_DIR": cache}
    environment.setdefault("QT_QPA_PLATFORM", "offscreen")
    command = [sys.executable, str(MAIN), "--measure-startup"]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(answer.stdout)


def main() -> None:
    """Start with a fresh cache and again with the warm one, as often as asked."""
    parser = parser_of(__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    starts: dict[str, list[dict[str, float]]] = {"fresh": [], "warm": []}
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as cache:
            starts["fresh"].append(start_once(cache))
            starts["warm"].append(start_once(cache))
    for name, measured in starts.items():
        for moment in ("first_paint_ms", "first_result_ms"):
            values = [start[moment] for start in measured]
            print(f"{name:5} {moment:16} median {statistics.median(values):7.0f}  longest {max(values):7.0f}")


if __name__ == "__main__":
    main()
