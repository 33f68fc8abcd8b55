"""How smooth the window stays, and how soon an edit of the mask is seen. The real window and the real engine.

With --first-looks: how long it keeps from answering when a panel or a page is shown for the first time. A
turn is what the event loop of the window does between two waits. Counted is the time of the processor in its
thread, so that other programs do not count; time in which another thread of the window held Python's lock is
in the wall clock alone.

python -m bench.window [--json FILE]
python -m bench.window --first-looks [--rounds N] [--json FILE]
"""

from gui import qt_import  # noqa: F401 - before all that imports Qt

# isort: split
import gc
import json
import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from PySide6.QtCore import QAbstractEventDispatcher, QEvent, QEventLoop, QObject, Qt, QTimer
from PySide6.QtWidgets import QApplication, QWidget

from bench.markers import TABLES, DocumentTable
from bench.options import parser_of
from engine.geometry.block import Block
from engine.host.client import EngineClient
from engine.host.protocol import OpenPicture
from engine.host.request import Availability
from engine.image.save import save_image
from engine.mask.mask import Mask
from engine.work.chain_files import chain_named
from gui.engine_link.engine_start import FirstPicture, StartedEngine
from gui.page.contract import Begin
from gui.shell.app import FREEZE_AFTER_MS, Haloscope, make_application
from gui.shell.pages import PAGES
from gui.style.metrics import set_letter_size

EDITS = 40
PICTURE = (1080, 1920, 3)
TICK_MS = 5
CELLS = 200
LONG_MS = 50


def make_picture(path: Path) -> None:
    """Save a colour picture of smooth shapes and noise, as a photograph has them."""
    rows, columns = np.mgrid[0 : PICTURE[0], 0 : PICTURE[1]]
    shapes = 120 + 80 * np.sin(rows[..., None] / (40 + 10 * np.arange(3)) + columns[..., None] / 60)
    noise = np.random.default_rng(0).normal(0, 12, PICTURE)
    save_image(np.clip(shapes + noise, 0, 255).astype(np.uint8), path)


class Ticks:
    """Gaps between the ticks of a precise timer, ms, under the name of what goes on."""

    def __init__(self) -> None:
        self.gaps: dict[str, list[float]] = {}
        self.enter("start")
        self._timer = QTimer(timerType=Qt.TimerType.PreciseTimer, interval=TICK_MS)
        self._timer.timeout.connect(self._tick)
        self._timer.start()

    def _tick(self) -> None:
        now = time.perf_counter()
        self.gaps.setdefault(self.phase, []).append((now - self._last) * 1e3)
        self._last = now

    def enter(self, phase: str) -> None:
        """Count the gaps from now on under another name."""
        self.phase, self._last = phase, time.perf_counter()


class ResultWatch(QObject):
    """Counts the results that have been painted."""

    def __init__(self, surface: QWidget) -> None:
        super().__init__(surface)
        self.painted = 0
        self._new_result = False
        surface.installEventFilter(self)

    def note_result(self, _: object) -> None:
        """Remember that the next paint shows a new result."""
        self._new_result = True

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Paint and self._new_result:
            self._new_result = False
            self.painted += 1
        return False


def wait_until(happened: Callable[[], bool], limit_s: float = 120.0) -> None:
    """Let the window live until something has happened."""
    loop = QEventLoop()
    poll = QTimer()
    poll.timeout.connect(lambda: happened() and loop.quit())
    poll.start(1)
    QTimer.singleShot(int(limit_s * 1000), loop.quit)
    loop.exec()
    if not happened():
        raise SystemExit("the window did not get there in time")


def started(app: QApplication, picture: Path) -> tuple[Haloscope, StartedEngine]:
    """Return a window that is to begin with a picture, and its engine."""
    engine = StartedEngine(EngineClient)
    haloscope = Haloscope(app, engine)
    request = OpenPicture(path=str(picture))
    haloscope.window.offer(Begin(FirstPicture(request, engine.client.submit(request))))
    haloscope.window.painted.connect(lambda: QTimer.singleShot(FREEZE_AFTER_MS, gc.freeze))
    haloscope.window.resize(1600, 1000)
    return haloscope, engine


def measure(folder: Path) -> dict[str, object]:
    """Drive the window through a start, edits, a run, a run of every variant; return what was measured."""
    picture = folder / "picture.png"
    make_picture(picture)
    haloscope, engine = started(make_application(), picture)
    haloscope.window.show()

    page = haloscope.window.first_page
    watch = ResultWatch(page.surface)
    haloscope.state.filtered.connect(watch.note_result)

    wait_until(lambda: watch.painted >= 1)
    # To read it takes this thread, and is not the window's work.
    chain = chain_named("sobel-magnitude")
    ticks = Ticks()
    ticks.enter("idle")
    settle(1.0)

    ticks.enter("edits of the mask")
    shown = edits(page, watch, 5)

    ticks.enter("a chain of three steps begins")
    page.chain.take(chain, "Sobel magnitude")
    page.workspace.show_whole(True)
    page.workspace.select_step(0)
    # What computes it is compiled by now.
    wait_until(lambda: bool(page.display.step_times))
    settle(1.0)
    ticks.enter("edits of the first of three steps (Sobel magnitude)")
    of_chain = edits(page, watch, 3)
    page.workspace.undo_stack.setIndex(0)

    ticks.enter("a run of cpu-serial (compiles, verifies, samples)")
    page.workspace.change(variant="cpu-serial")
    settle(0.3)
    page.runs.run()
    wait_until(lambda: not haloscope.state.busy)

    ticks.enter("every variant that can run here")
    page.runs.run_every_variant()
    wait_until(lambda: not haloscope.state.busy)

    ticks.enter(f"{CELLS} cells of a run of several blocks, one after the other")
    feed_cells(page)

    ticks.enter("end")

    found = {
        "edit_to_pixels_ms": spread_of(shown),
        "edit_of_chain_to_pixels_ms": spread_of(of_chain),
        "timer_gap_ms": {
            phase: {"max": max(gaps), "median": statistics.median(gaps)}
            for phase, gaps in ticks.gaps.items()
            if phase not in ("start", "end") and gaps
        },
    }
    haloscope.window.close()
    engine.client.shutdown()
    return found


def spread_of(times: list[float]) -> dict[str, object]:
    """Return the median, the 80th percentile and the most of some times, with all of them."""
    middle, p80 = statistics.median(times), sorted(times)[int(0.8 * len(times))]
    return {"median": middle, "p80": p80, "max": max(times), "all": times}


def edits(page: Any, watch: ResultWatch, side: int) -> list[float]:
    """Edit the mask of the selected step; return how long each took until its result was painted, ms."""
    shown = []
    for edit in range(EDITS):
        weights = np.full((side, side), 1 / side**2)
        weights[0, 0] = edit / EDITS
        painted_before = watch.painted
        begin = time.perf_counter()
        page.workspace.set_mask(Mask(weights))
        wait_until(lambda before=painted_before: watch.painted > before)
        shown.append((time.perf_counter() - begin) * 1e3)
        settle(0.05)
    return shown


def feed_cells(page: Any) -> None:
    """Have the results of a run of 4 kernels with 50 blocks arrive, each with a time, on any machine."""
    kernels = ("naive", "tiled", "cached", "constant")
    blocks = [Block(x, y) for x in (4, 8, 12, 16, 20, 24, 32, 48, 64, 128) for y in (1, 2, 4, 6, 8)]
    assert len(kernels) * len(blocks) == CELLS
    example = next(run.result for run in page.results.rows() if run.result.kernel_ms)
    page.workspace.change(blocks=tuple(blocks))
    page.bring_to_front("blocks")
    entries = [Availability(kernel, block=block) for kernel in kernels for block in blocks]
    page.cells.plan(page.workspace.job(), entries)
    for number, entry in enumerate(entries):
        kernel = replace(example.timing.kernel, samples_ms=(0.1 + 1 / (1 + entry.block.threads),))
        timing = replace(example.timing, kernel=kernel)
        fields = {"variant": entry.variant, "block": entry.block, "timing": timing, "seed": number}
        page.results.add(replace(example, layout="pitched", device="cuda:0", **fields))
        settle(0.06)
    page.cells.end_plan()
    settle(0.2)


def settle(seconds: float) -> None:
    """Let the window live for a while."""
    until = time.perf_counter() + seconds
    wait_until(lambda: time.perf_counter() >= until)


def tables(found: dict[str, Any]) -> list[DocumentTable]:
    """Return the table of the edits and of the timer's gaps."""
    edit = found["edit_to_pixels_ms"]
    lines = [
        "| what | median | p80 | longest |",
        "|---|---:|---:|---:|",
        f"| mask edit to pixels, 1920 × 1080 RGB, 5 × 5, {len(edit['all'])} edits "
        f"| {edit['median']:.1f} ms | {edit['p80']:.1f} ms | {edit['max']:.1f} ms |",
    ]
    # Results that were kept before there were chains have none.
    if chain := found.get("edit_of_chain_to_pixels_ms"):
        lines.append(
            f"| the same with three steps (Sobel magnitude), the first edited | {chain['median']:.1f} ms "
            f"| {chain['p80']:.1f} ms | {chain['max']:.1f} ms |"
        )
    for phase, gap in found["timer_gap_ms"].items():
        during = f"gaps of a {TICK_MS} ms timer during: {phase}"
        lines.append(f"| {during} | {gap['median']:.1f} ms | | {gap['max']:.1f} ms |")
    return [DocumentTable(TABLES, "window", lines)]


class TurnTimes:
    """The longest turn of this thread's event loop since `begin`, ms of the processor."""

    def __init__(self) -> None:
        self.begin()
        QAbstractEventDispatcher.instance().aboutToBlock.connect(self._note)

    def begin(self) -> None:
        """Forget the turns until now."""
        self.longest = 0.0
        self._cpu: float | None = None

    def _note(self) -> None:
        # This comes before each wait; the wait itself takes no time of the processor.
        cpu = time.thread_time()
        if self._cpu is not None:
            self.longest = max(self.longest, (cpu - self._cpu) * 1e3)
        self._cpu = cpu


def first_looks(folder: str) -> dict[str, float]:
    """Look at everything once, in a window that has just been opened; return the longest turns, ms."""
    os.environ["NUMBA_CACHE_DIR"] = folder
    app = make_application()
    haloscope, engine = started(app, Path(folder) / "picture.png")
    window, page = haloscope.window, haloscope.window.first_page
    painted: list[bool] = []
    window.painted.connect(lambda: painted.append(True))
    window.show()
    wait_until(lambda: bool(painted))
    turns, found = TurnTimes(), dict[str, float]()

    def look(what: str, act: Callable[[], object], seconds: float = 1.5) -> None:
        turns.begin()
        QTimer.singleShot(0, act)
        settle(seconds)
        while haloscope.state.busy:
            settle(0.5)
        found[what] = turns.longest

    look("after the first paint", lambda: None, 4)
    for panel in page.panels:
        look(f"panel {panel.objectName()}", panel.bring_to_front)
    for entry in PAGES[1:]:
        look(f"page {entry.key}", lambda key=entry.key: window.show_page(key), 2)
    look("back to the first page", lambda: window.show_page(PAGES[0].key))
    for percent in (125, 100):
        look(f"letters of {percent} %", lambda percent=percent: set_letter_size(app, percent))
    window.close()
    engine.client.shutdown()
    return found


def look_at_all(rounds: int) -> list[dict[str, float]]:
    """Open so many windows, look at everything, and print the longest turns; return them."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        make_picture(Path(folder) / "picture.png")
        for _ in range(rounds):
            with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
                found.append(process.submit(first_looks, folder).result())
    print("| what | longest turn, ms of the processor: median | all |\n|---|---:|---:|")
    for what in found[0]:
        times = sorted(one[what] for one in found)
        mark = " *" if statistics.median(times) > LONG_MS else ""
        print(f"| {what} | {statistics.median(times):.0f}{mark} | {', '.join(f'{t:.0f}' for t in times)} |")
    return found


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--first-looks", action="store_true", help="measure first looks instead")
    parser.add_argument("--rounds", type=int, default=3, help="windows that are opened; default 3")
    parser.add_argument("--json", type=Path, help="also write everything as JSON")
    arguments = parser.parse_args()
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    if arguments.first_looks:
        found: object = look_at_all(arguments.rounds)
    else:
        with tempfile.TemporaryDirectory() as folder:
            # A fresh cache of compiled code: the run has to compile while the timer ticks.
            os.environ["NUMBA_CACHE_DIR"] = folder
            measured = measure(Path(folder))
        print("\n".join(tables(measured)[0].lines))
        found = measured
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
