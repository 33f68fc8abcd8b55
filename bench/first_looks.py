"""How long the window keeps from answering when a panel or a page is looked at for the first time.

A turn is what the event loop of the window does between two waits. Counted is the time of the processor in
its thread, so that other programs do not count; time in which another thread of the window held Python's
lock is in the wall clock alone.

python -m bench.first_looks [--rounds N] [--json FILE]
"""

from gui import qt_import  # noqa: F401 - before all that imports Qt

# isort: split
import json
import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from PySide6.QtCore import QAbstractEventDispatcher, QTimer

from bench.options import parser_of
from bench.window import make_picture, settle, wait_until
from engine.host.client import EngineClient
from engine.host.protocol import OpenPicture
from gui.engine_link.engine_start import FirstPicture, StartedEngine
from gui.page.contract import Begin
from gui.shell.app import Haloscope, freeze_start, make_application
from gui.shell.pages import PAGES
from gui.style.metrics import set_letter_size

LONG_MS = 50


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
    picture = Path(folder) / "picture.png"
    os.environ["NUMBA_CACHE_DIR"] = folder
    app = make_application()
    engine = StartedEngine(EngineClient)
    haloscope = Haloscope(app, engine)
    window, page = haloscope.window, haloscope.window.first_page
    request = OpenPicture(path=str(picture))
    window.offer(Begin(FirstPicture(request, engine.client.submit(request))))
    window.painted.connect(freeze_start)
    window.resize(1600, 1000)
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


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="windows that are opened; default 3")
    parser.add_argument("--json", type=Path, help="also write everything as JSON")
    arguments = parser.parse_args()
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    rounds: list[dict[str, Any]] = []
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        make_picture(Path(folder) / "picture.png")
        for _ in range(arguments.rounds):
            with ProcessPoolExecutor(1, context) as process:
                rounds.append(process.submit(first_looks, folder).result())
    print("| what | longest turn, ms of the processor: median | all |\n|---|---:|---:|")
    for what in rounds[0]:
        times = sorted(one[what] for one in rounds)
        mark = " *" if statistics.median(times) > LONG_MS else ""
        print(f"| {what} | {statistics.median(times):.0f}{mark} | {', '.join(f'{t:.0f}' for t in times)} |")
    if arguments.json:
        arguments.json.write_text(json.dumps(rounds, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
