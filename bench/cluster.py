"""1,000 small photos over two worker processes, beside plain `batch` with the same two cores, in turns.

    taskset -c 0,1 python -m bench.cluster --count 1000 --rounds 3 --json FILE

The ratio is the throughput of the cluster over that of plain `batch`, without and with the cluster's start;
`cpu_ratio` is that of the processor time of all processes, which other programs disturb less.
"""

import ctypes
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np
from PIL import Image

import engine
from bench.options import parser_of

ROOT = Path(__file__).parents[1]
MASK = "gaussian:9:1.5"
PR_SET_CHILD_SUBREAPER = 36


def photos(folder: Path, count: int) -> None:
    """Write photos of 1024 x 768, JPEG and PNG in turns, none like another."""
    sample = Image.open(ROOT / "assets" / "samples" / "astronaut.png").convert("RGB").resize((1024, 768))
    pixels = np.asarray(sample)
    for number in range(count):
        photo = np.roll(pixels, 7 * number, axis=1)
        engine.save_image(photo, folder / f"{number:05}.{'png' if number % 2 else 'jpg'}")


def batch(source: Path, *options: str) -> dict[str, float]:
    """Return what `batch` says of itself as JSON."""
    with tempfile.TemporaryDirectory(dir=source.parent) as out:
        command = [sys.executable, "main.py", "batch", str(source), "--out", out, "--mask", MASK, "--json"]
        before = cpu_s()
        done = subprocess.run([*command, *options], cwd=ROOT, capture_output=True, text=True, check=True)
    document: dict[str, float] = json.loads(done.stdout)
    assert document["failed"] == 0
    return document | {"cpu_s": cpu_s() - before}


def cpu_s() -> float:
    """Return the processor time of all processes that have ended, also of those that others left."""
    with suppress(ChildProcessError):
        while True:
            os.wait()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    if sys.platform == "linux":
        # This process then waits for those that its children leave: workers have another parent.
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    parser = parser_of(__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scheduler", default="local:2")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    rounds = []
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "photos"
        source.mkdir()
        photos(source, asked.count)
        batch(source)  # compiles, and fills the system's cache of files
        for _ in range(asked.rounds):
            plain, spread = batch(source), batch(source, "--scheduler", asked.scheduler)
            found = {
                "plain_s": plain["elapsed_s"],
                "cluster_s": spread["elapsed_s"],
                "start_s": spread["start_s"],
                "plain_cpu_s": plain["cpu_s"],
                "cluster_cpu_s": spread["cpu_s"],
                "cpu_ratio": plain["cpu_s"] / spread["cpu_s"],
                "ratio": plain["elapsed_s"] / (spread["elapsed_s"] - spread["start_s"]),
                "ratio_with_start": plain["elapsed_s"] / spread["elapsed_s"],
            }
            rounds.append(found)
            print("  ".join(f"{name} {value:.3f}" for name, value in found.items()), flush=True)
    for name in ("ratio", "ratio_with_start", "cpu_ratio"):
        print(
            f"{name}: median {statistics.median(one[name] for one in rounds):.3f} of {asked.count} pictures"
        )
    if asked.json:
        asked.json.write_text(json.dumps({"count": asked.count, "mask": MASK, "rounds": rounds}, indent=1))


if __name__ == "__main__":
    main()
