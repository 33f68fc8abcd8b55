"""SIGKILL for the engine at random moments: in the start of a preview, run, save, course or opening.

After every kill: each request answered, the window at rest, and a further preview equal to the oracle's
result. At the end: no segment of shared memory, no process and no `.part` file left. Linux only. The last
line is the outcome as JSON.

python -m bench.kills --count 1000
python -m bench.kills --count 50 --device-faults 20     (with a CUDA device: faults of the device as well)
"""

import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

from bench.kills import hosts
from bench.kills.bench_window import BenchWindow, children, open_files
from bench.options import parser_of
from engine.host import link
from engine.image.save import save_image
from engine.mask.mask import Mask
from gui.shell.app import UNEXPECTED, make_application

# A start takes 1 to 2 s on a busy core, three in a row may fail; what takes longer is taken to hang.
PATIENCE_S = 60.0
PICTURES = {
    "grey.png": (40, 56),
    "colours.png": (64, 48, 3),
    "alpha.png": (48, 64, 4),
    "deep.tif": (33, 47),
    "large.png": (256, 320, 3),
}


class Kills:
    """The loop. One random generator chooses every step, so that a seed repeats it, save for the times."""

    def __init__(self, window: BenchWindow, folder: Path, seed: int) -> None:
        self.window = window
        self.folder = folder
        self.random = random.Random(seed)
        self.failures: list[str] = []
        self.kills: Counter[str] = Counter()
        self.in_the_work = self.at_an_empty_segment = self.while_starting = 0
        self.gpu_given_up = 0
        generator = np.random.default_rng(0)
        for name, shape in PICTURES.items():
            # Sums stay below 2^24, so that float32 holds each of them.
            most, dtype = (4095, np.uint16) if name.startswith("deep") else (255, np.uint8)
            save_image(generator.integers(0, most, shape, dtype), folder / name)
        self.pictures = [folder / name for name in PICTURES]
        self.papers = [paper.key for paper in window.haloscope.window.page_of("course").course.papers]

    def prepare(self) -> None:
        """Open a picture and have a paper's tables counted."""
        self.window.haloscope.window.first_page.pictures.open_path(self.pictures[0])
        self.window.haloscope.window.page_of("course").course.choose(self.papers[0])
        assert self.window.wait(lambda: self.window.shows_the_job, PATIENCE_S), self.window.describe()

    def new_mask(self) -> Mask:
        """Return a mask of whole numbers that was not there before."""
        side = self.random.choice((3, 3, 5, 7))
        return Mask([[self.random.randint(-9, 9) for _ in range(side)] for _ in range(side)])

    def start_something(self) -> str:
        """Begin one of the kinds of work; return its name."""
        page = self.window.haloscope.window.first_page
        courses = self.window.haloscope.window.page_of("course").courses
        name = self.folder / self.random.choice(("a.png", "b.tif", "c.webp"))
        works: dict[str, tuple[int, Callable[[], object]]] = {
            "preview": (4, lambda: self.window.show_mask(self.new_mask())),
            "run": (2, page.runs.run),
            "run all": (1, page.runs.run_every_variant),
            "save": (2, lambda: page.pictures.save_result(name)),
            "course": (1, lambda: courses.measure(self.papers[0])),
            "course save": (1, lambda: courses.save(self.papers[0], self.folder)),
            "open": (3, lambda: page.pictures.open_path(self.random.choice(self.pictures))),
        }
        work = self.random.choices([*works], [weight for weight, _ in works.values()])[0]
        works[work][1]()
        return work

    def kill_once(self) -> None:
        """Kill the host in the middle of something, and look."""
        before = set(self.window.segments())
        work = self.start_something()
        aims = self.random.random()
        if aims < 0.4:
            # As soon as there is a segment without a size.
            self.window.wait(lambda: self._empty_segment(before), 0.1)
        else:
            # Most of what a job does at its start lies in the first 20 ms.
            most_s = self.random.choice((0.002, 0.02, 0.02, 0.3))
            self.window.wait(lambda: False, most_s * self.random.random())
        pid = self.window.client.host_pid
        self.in_the_work += bool(self.window.client.unanswered())
        self._kill(pid)
        self.at_an_empty_segment += self._empty_segment(before)
        self.kills[work] += 1
        if self.random.random() < 0.05:
            self.window.wait(lambda: self.window.client.host_pid not in (None, pid), 1.0)
            self._kill(self.window.client.host_pid)
            self.while_starting += 1
        self.check(work)

    def _kill(self, pid: int | None) -> None:
        if pid is not None:
            os.kill(pid, signal.SIGKILL)

    def _empty_segment(self, before: set[str]) -> bool:
        for name in self.window.segments():
            try:
                if name not in before and not os.stat(f"/dev/shm/{name}").st_size:
                    return True
            except FileNotFoundError:
                continue
        return False

    def check(self, work: str) -> None:
        """Every request is answered, the window at rest, and a further preview comes out right."""
        window = self.window
        if unexpected := window.haloscope.messages.of(UNEXPECTED):
            self._failed(f"unexpected after {work}: {unexpected}")
            window.haloscope.messages.clear(UNEXPECTED)
        if not window.wait(lambda: window.is_at_rest, PATIENCE_S):
            self._failed(f"not at rest after {work}")
            return
        if not window.haloscope.link.uses_cuda:
            self.gpu_given_up += 1
            window.haloscope.machines.try_gpu_again()
            window.wait(lambda: not window.haloscope.state.is_ready, PATIENCE_S)
        window.show_mask(self.new_mask())
        if not window.wait(lambda: window.shows_the_job, PATIENCE_S):
            self._failed(f"no further preview after {work}")
        elif not window.result_is_right():
            self._failed(f"a wrong preview after {work}")

    def fault_once(self, number: int) -> None:
        """Lose the device in a preview, or in a run, and look whether the next run is right."""
        window, haloscope = self.window, self.window.haloscope
        window.wait(lambda: window.is_at_rest, PATIENCE_S)
        lost = len(window.lost)
        window.show_mask(Mask([[hosts.FAULTY_WEIGHT, number]]))
        if number % 2:
            # Its successor has it too: a preview ends two hosts, and is not tried again; or the third fault
            # gave the GPU up.
            window.wait(lambda: len(window.lost) >= lost + 2 or window.shows_the_job, PATIENCE_S)
        else:
            haloscope.window.first_page.runs.run()
            window.wait(lambda: len(window.lost) > lost, PATIENCE_S)
        if not any("GPU failed" in reason for reason in window.lost[lost:]):
            self._failed(f"no fault of the device was met: {window.lost[lost:]}")
        window.show_mask(self.new_mask())
        self.check("a fault of the device")
        results = haloscope.window.first_page.results
        rows = results.rowCount()
        haloscope.window.first_page.runs.run()
        if not window.wait(lambda: window.is_at_rest and results.rowCount() > rows, PATIENCE_S):
            self._failed("no run after a fault of the device")
            return
        result = results.results()[-1]
        verified = result.verification is not None and result.verification.passed
        if not verified or not window.result_is_right() or not result.device.startswith("cuda"):
            self._failed(f"a run on {result.device} after a fault: {result.failure or verified}")

    def _failed(self, what: str) -> None:
        text = f"kill {sum(self.kills.values())}: {what}: {self.window.describe()}"
        self.failures.append(text)
        print("FAILED", text, flush=True)

    def end(self) -> dict[str, object]:
        """Save once more where killed saves have left their parts, close the window, and say what is left."""
        window = self.window
        if not window.client.unanswered():
            window.haloscope.window.first_page.pictures.save_result(self.folder / "last.png")
            window.haloscope.window.page_of("course").courses.save(self.papers[0], self.folder)
            window.wait(lambda: window.is_at_rest, PATIENCE_S)
        window.close()
        return {
            "blocks_left": window.segments(),
            "processes_left": children(),
            "parts_left": len(list(self.folder.rglob("*.part"))),
            "unanswered": len(window.client.unanswered()),
        }


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
