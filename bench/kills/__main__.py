"""SIGKILL for the engine at random moments: in the start of a preview, run, save, course or opening.

After every kill: each request answered, the window at rest, and a further preview equal to the oracle's
result. At the end: no segment of shared memory, no process and no `.part` file left. Linux only. The last
line is the outcome as JSON.

python -m bench.kills --count 1000
python -m bench.kills --count 50 --device-faults 20     (with a CUDA device: faults of the device as well)
"""

import json
import os
import sys
import tempfile
import threading
import time
from pathlib import Path

from bench.kills import hosts
from bench.kills.bench_window import BenchWindow, open_files
from bench.kills.loop import Kills
from bench.options import parser_of
from engine.host import link
from gui.shell.app import make_application


def main() -> int:
    """Kill as often as asked; return 1 if anything was lost or left."""
    parser = parser_of(__doc__)
    parser.add_argument("--count", type=int, default=100, help="kills (default %(default)s)")
    parser.add_argument("--device-faults", type=int, default=0, help="faults of the CUDA device besides")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    link.serve = hosts.serve_slowly

    app = make_application()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        kills = Kills(BenchWindow(app), Path(folder), options.seed)
        kills.window.haloscope.errors.install()
        kills.prepare()
        files = threads = 0
        for number in range(1, options.count + 1):
            kills.kill_once()
            if number == min(20, options.count):
                files, threads = open_files(), threading.active_count()
            if number % 10 == 0:
                print(f"{number} kills in {time.monotonic() - begin:.0f} s, {len(kills.failures)} failures")
        more_files, more_threads = open_files() - files, threading.active_count() - threads
        for number in range(options.device_faults):
            kills.fault_once(number)
            print(f"{number + 1} faults of the device, {len(kills.failures)} failures", flush=True)
        left = kills.end()
    outcome = {
        "kills": sum(kills.kills.values()),
        "by_work": dict(kills.kills),
        "in_the_work": kills.in_the_work,
        "at_an_empty_block": kills.at_an_empty_segment,
        "successors_killed_while_starting": kills.while_starting,
        "device_faults": options.device_faults,
        "hosts_lost": len(kills.window.lost),
        "gpu_given_up_and_tried_again": kills.gpu_given_up,
        "requests": kills.window.client.asked,
        "failures": len(kills.failures),
        **left,
        "more_open_files": more_files,
        "more_threads": more_threads,
        "seconds": round(time.monotonic() - begin, 1),
    }
    print(json.dumps(outcome))
    clean = not any((kills.failures, *(left.values())))
    return 0 if clean and outcome["kills"] == options.count else 1


if __name__ == "__main__":
    sys.exit(main())
