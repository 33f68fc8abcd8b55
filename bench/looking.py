"""Looking at a picture in the window: the lens under the mouse, splitting, sliding, and memory.

Each step is one of 60 a second, as a mouse has them. A gap is the longest time in which the window took
nothing in; the processor's time of its thread tells whether that was its own work, or other programs'.
Memory is what both processes have of their own, with their share of what they share.

`--large` has a picture of 20 GB instead: the time to its first pixels, and sliding. The file is a tiled
BigTIFF without a pyramid, made here in a second: its 300,000 tiles are 8 that lie in the file once, so it
takes 5 MB of the disk, and every tile is read and decoded as any other.
"""

from gui import qt_import  # noqa: F401 - before all that imports Qt

# isort: split
import itertools
import multiprocessing
import os
import struct
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from PySide6.QtCore import QEventLoop
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QApplication

from bench.kills.bench_window import BenchWindow
from bench.options import parser_of
from engine.mask.mask import Mask
from engine.mask.presets import preset
from engine.work.chain_files import chain_named
from gui.explore.picture.layers import ViewMode

SIZES = "1920x1080,3840x2160,4000x3000,6000x4000,8000x6000,12000x12000"
EDITS = 8
PATIENCE_S = 60.0
# Of the large picture.
SIDE, TILE, KINDS = 141_000, 256, 8
LARGE_ZOOMS = (1.0, 0.7, 0.3, 0.12, 0.02)
MASKS = {
    "Sobel 3 × 3": preset("sobel-x"),
    "9 × 9": Mask(np.random.default_rng(1).standard_normal((9, 9))),
    "31 × 31": Mask(np.random.default_rng(2).standard_normal((31, 31))),
    "63 × 63": Mask(np.random.default_rng(3).standard_normal((63, 63))),
}


def made_photo(path: Path, width: int, height: int) -> None:
    """Write a smooth colour picture with some noise; blocks of rows, so that it takes little memory."""
    random = np.random.default_rng(0)
    noise = random.integers(0, 24, (256, width, 3), np.uint8)
    across = np.linspace(0, 200, width)[np.newaxis, :, np.newaxis]
    pixels = np.empty((height, width, 3), np.uint8)
    for top in range(0, height, 256):
        rows = pixels[top : top + 256]
        down = np.linspace(top / height, min(1.0, (top + 256) / height), len(rows))[:, np.newaxis, np.newaxis]
        rows[...] = (across * (0.5 + 0.5 * down)).astype(np.uint8) + noise[: len(rows)]
    Image.MAX_IMAGE_PIXELS = None
    Image.fromarray(pixels).save(path, compress_level=1)


def made_large(path: Path) -> None:
    """Write a BigTIFF of SIDE x SIDE pixels of 8 bit, whose tiles are KINDS different ones."""
    down, across = np.mgrid[0:TILE, 0:TILE]
    tiles = [
        zlib.compress(((across * (kind + 1) // 4 + down * (8 - kind) // 4) % 256).astype(np.uint8).tobytes())
        for kind in range(KINDS)
    ]
    side = -(-SIDE // TILE)
    begin = 16 + 8 + 10 * 20 + 8
    offsets = begin + np.cumsum([0, *map(len, tiles)])
    lists = int(offsets[-1])
    tags = [(256, 4, 1, SIDE), (257, 4, 1, SIDE), (258, 3, 1, 8), (259, 3, 1, 8), (262, 3, 1, 1)]
    tags += [(277, 3, 1, 1), (322, 3, 1, TILE), (323, 3, 1, TILE)]
    tags += [(324, 16, side * side, lists), (325, 16, side * side, lists + 8 * side * side)]
    rows, columns = np.divmod(np.arange(side * side), side)
    kinds = (rows // 40 * 3 + columns // 40 * 5) % KINDS
    with path.open("wb") as file:
        file.write(struct.pack("<2sHHHQQ", b"II", 43, 8, 0, 16, len(tags)))
        for tag in tags:
            file.write(struct.pack("<HHQQ", *tag))
        file.write(struct.pack("<Q", 0) + b"".join(tiles))
        file.write(offsets[:-1].astype("<u8")[kinds].tobytes())
        file.write(np.array([*map(len, tiles)], "<u8")[kinds].tobytes())


def own_mb(pid: int) -> float:
    """Return the memory of a process, of shared pages its share, MB."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(text.split("Pss:")[1].split()[0]) / 1024


class Looking(BenchWindow):
    """The window, what is done in it, and its frames."""

    def __init__(self, app: QApplication, size: str, seconds: float, folder: Path) -> None:
        super().__init__(app, preferences=folder / "preferences.json")
        self.haloscope.window.resize(*map(int, size.split("x")))
        self.app, self.seconds, self.folder = app, seconds, folder
        self.page: Any = self.haloscope.window.first_page
        self.until(lambda: self.haloscope.state.is_ready)
        self.pids = os.getpid(), self.client.host_pid or 0
        self.frames_s = list[float]()
        canvas = self.page.picture_view.canvas
        paint = canvas.paintEvent

        def noted(event: QPaintEvent) -> None:
            begin = time.perf_counter()
            paint(event)
            self.frames_s.append(time.perf_counter() - begin)

        canvas.paintEvent = noted

    def until(self, condition: Callable[[], bool]) -> None:
        """Let things happen until a condition holds."""
        if not self.wait(condition, PATIENCE_S):
            sys.exit(f"it took too long: {self.describe()}")

    @property
    def is_shown(self) -> bool:
        """Whether the result of the present settings is on the screen."""
        state = self.haloscope.state
        return state.last_result is not None and not state.busy and not state.result_is_earlier

    @property
    def is_complete(self) -> bool:
        """Whether every pixel that is shown is exact."""
        return bool(self.page.picture_view.is_complete)

    # What is done.

    def open(self, path: Path) -> None:
        """Open a picture, and wait for its result."""
        self.page.pictures.open_path(path)
        workspace = self.page.workspace
        self.until(lambda: workspace.picture and workspace.picture.title == path.name)
        self.until(lambda: self.is_shown and self.is_complete)

    def edit(self) -> None:
        """Edit the mask a few times, and wait for each result."""
        state = self.haloscope.state
        for number in range(EDITS):
            weights, before = np.full((5, 5), 1 / 25), state.last_result
            weights[0, 0] = number / EDITS
            self.show_mask(Mask(weights))
            self.until(lambda before=before: state.last_result is not before and self.is_shown)  # type: ignore[misc]
            self.until(lambda: self.is_complete)

    def run(self) -> None:
        """Measure the kernel that is chosen, as Ctrl+R does."""
        before = len(self.page.results.results())
        self.page.run()
        self.until(lambda: len(self.page.results.results()) > before and self.is_shown)

    def run_8_bit(self) -> None:
        """Measure the same with results of the picture's type."""
        self.page.workspace.change(result_type="same")
        self.until(lambda: self.is_shown)
        self.run()
        self.page.workspace.change(result_type="float32")
        self.until(lambda: self.is_shown)

    def edit_chain(self) -> None:
        """Begin a chain of three steps, edit the first a few times, and go back to the mask."""
        page, undo = self.page, self.page.workspace.undo_stack
        before = undo.index()
        page.chain.take(chain_named("sobel-magnitude"), "Sobel magnitude")
        page.workspace.show_whole(True)
        page.workspace.select_step(0)
        self.until(lambda: self.is_shown and bool(page.display.step_times))
        self.edit()
        undo.setIndex(before)
        self.until(lambda: self.is_shown)

    def save(self) -> None:
        """Save the result that is shown: as PNG, but as TIFF where it is made in parts."""
        path = self.folder / ("saved.tif" if self.page.pictures.saves_in_parts else "saved.png")
        self.page.pictures.save_result(path)
        self.until(path.exists)
        path.unlink()

    def compare(self, mode: ViewMode) -> None:
        """Show the difference or the error, and the result again."""
        shown = self.page.picture_view
        shown.set_mode(mode)
        self.until(lambda: shown.comparison.words.startswith((mode.value, "no difference")))
        self.until(lambda: self.is_complete)
        shown.set_mode(ViewMode.SPLIT)

    # What is measured.

    def memory(self) -> Iterator[str]:
        """Yield how much both processes take at rest, and at most while something is done."""
        doing: dict[str, Callable[[], None]] = {"at rest": lambda: None}
        doing |= {"edited": self.edit, "run": self.run, "saved": self.save}
        # A picture in parts is not compared, and has no chain.
        if not self.page.pictures.saves_in_parts:
            doing |= {"run to 8 bit": self.run_8_bit, "chain edited": self.edit_chain}
            doing |= {
                mode.value: partial(self.compare, mode) for mode in (ViewMode.DIFFERENCE, ViewMode.ERROR)
            }
        for words, do in doing.items():
            # The engine gives back what it kept for the next preview 2 s after the last one.
            rested = time.monotonic() + 3.0
            self.until(lambda rested=rested: time.monotonic() > rested)  # type: ignore[misc]
            yield f"{words} {self.most_mb(do):.0f}"

    def most_mb(self, do: Callable[[], None]) -> float:
        """Return the most memory of both processes while something is done, MB."""
        most, is_over = [0.0], threading.Event()

        def watch() -> None:
            while True:
                most[0] = max(most[0], sum(map(own_mb, self.pids)))
                if is_over.wait(0.01):
                    return

        watching = threading.Thread(target=watch)
        watching.start()
        try:
            do()
        finally:
            is_over.set()
            watching.join()
        return most[0]

    def steps(self, step: Callable[[int], Any]) -> str:
        """Take a step 60 times a second; return how many were taken, and the longest gap."""
        begin, taken, longest, most_cpu = time.perf_counter(), 0, 0.0, 0.0
        self.frames_s.clear()
        while (now := time.perf_counter()) < begin + self.seconds:
            cpu = time.thread_time()
            if (now - begin) * 60 >= taken:
                step(taken)
                taken += 1
            self.app.processEvents(QEventLoop.ProcessEventsFlag.AllEvents)
            longest = max(longest, time.perf_counter() - now)
            most_cpu = max(most_cpu, time.thread_time() - cpu)
            time.sleep(0.0003)
        painted = np.sort(self.frames_s) * 1e3 if self.frames_s else np.zeros(1)
        return (
            f"{len(self.frames_s) / self.seconds:4.0f} frames/s, painted in {np.median(painted):.1f} ms, "
            f"99 % in {np.percentile(painted, 99):.1f} ms; {taken / self.seconds:4.0f} steps/s, "
            f"longest gap {1e3 * longest:.0f} ms, {1e3 * most_cpu:.0f} ms of the processor"
        )

    def look(self) -> Iterator[str]:
        """Follow a mouse with the lens, under masks of several sizes."""
        page, looks = self.page, list[int]()
        page._show_lens()
        self.until(lambda: page.lens.is_visible)
        page.lens.changed.connect(lambda: looks.append(1))
        for name, mask in MASKS.items():
            self.show_mask(mask)
            self.until(lambda: self.is_shown and not page.display.is_earlier)
            page.lens.point((1, 1))
            self.until(lambda: page.lens.seen is not None)
            rows, columns, _ = page.picture_view.values.shape

            def hover(number: int, rows: int = rows, columns: int = columns) -> None:
                page.picture_view.canvas.pixel_hovered.emit((number * 7 % rows, number * 11 % columns))

            looks.clear()
            begin = time.process_time()
            taken = self.steps(hover)
            cpu_ms = 1e3 * (time.process_time() - begin) / max(1, len(looks))
            exact = "exact" if page.lens.seen.is_equal else "within the bound"
            rate = f"{len(looks) / self.seconds:4.0f} looks/s of {cpu_ms:.1f} ms of the processor, {exact}"
            yield f"  lens, {name:12} {rate}; {taken}"

    def move(self) -> Iterator[str]:
        """Split and slide at several zooms."""
        canvas = self.page.picture_view.canvas
        self.page.bring_to_front("mask")
        turns = itertools.cycle([*range(10, 90, 2), *range(90, 10, -2)])
        for zoom in (0.0, 0.5, 1.0, 4.0):
            canvas.view.fit()
            if zoom:
                canvas.view.zoom_to(zoom, canvas.width() / 2, canvas.height() / 2)
            title = f"{100 * zoom:.0f} %" if zoom else "fitted"
            taken = self.steps(lambda _: canvas.handle.set_fraction(next(turns) / 100))
            yield f"  splitting, {title:7} {taken}"
            # Never so far that the view stops at the edge: a step that moves nothing paints nothing.
            yield f"  sliding,   {title:7} {self.slid(11, 15)}"

    def slid(self, step: int, count: int) -> str:
        """Slide to and fro."""
        view = self.page.picture_view.canvas.view
        way = itertools.cycle([step] * count + [-step] * 2 * count + [step] * count)
        return self.steps(lambda _: view.pan(by := next(way), by / 2))

    def look_at_large(self, path: Path) -> Iterator[str]:
        """Open a picture that is larger than memory, and slide at several zooms."""
        shown, begin, most = self.page.picture_view, time.perf_counter(), 0.0
        self.page.pictures.open_path(path)
        # The first pixels are painted when the first tiles are there.
        self.until(lambda: shown._original is not None and bool(shown._original._kept))
        shown.canvas.repaint()
        yield f"first pixels after {time.perf_counter() - begin:.2f} s"
        for zoom in LARGE_ZOOMS:
            shown.canvas.view.fit()
            shown.canvas.view.zoom_to(zoom, shown.canvas.width() / 2, shown.canvas.height() / 2)
            taken = self.slid(-23, 120)
            window_mb, engine_mb = map(own_mb, self.pids)
            most = max(most, window_mb + engine_mb)
            yield f"{100 * zoom:6.1f} %: {taken}; window {window_mb:.0f} MB, engine {engine_mb:.0f} MB"
        yield f"most memory: {most:.0f} MB"


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--sizes", default=SIZES, help=f"of pictures; default {SIZES}")
    parser.add_argument("--window", default="1280x800")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each measurement")
    parser.add_argument("--memory-only", action="store_true", help="measure memory alone")
    parser.add_argument("--large", nargs="?", const="", help="a large picture: one made here, or PATH")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        window = Looking(QApplication(sys.argv[:1]), asked.window, asked.seconds, Path(folder))
        if asked.large is not None:
            path = Path(asked.large or f"{folder}/large.tif")
            if not asked.large:
                made_large(path)
            for line in window.look_at_large(path):
                print(line, flush=True)
        for size in () if asked.large is not None else asked.sizes.split(","):
            width, height = map(int, size.split("x"))
            path = Path(folder) / f"{size}.png"
            # In a process of its own, whose memory goes with it.
            with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as maker:
                maker.submit(made_photo, path, width, height).result()
            window.open(path)
            allowed_mb = 3 * width * height * 3 / 2**20 + 300
            print(f"{size} RGB, may take {allowed_mb:.0f} MB", end="", flush=True)
            for words in window.memory():
                print(f"; {words}", end="", flush=True)
            print(flush=True)
            for line in () if asked.memory_only else (*window.look(), *window.move()):
                print(line, flush=True)
            path.unlink()
        window.close()


if __name__ == "__main__":
    main()
