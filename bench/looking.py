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
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from PySide6.QtCore import QEventLoop
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QApplication

from bench.options import parser_of
from engine.host.client import EngineClient
from engine.mask.mask import Mask
from engine.mask.presets import preset
from engine.work.chain_files import chain_named
from gui.engine_link.engine_start import StartedEngine
from gui.explore.picture.canvas import PictureCanvas
from gui.explore.picture.layers import ViewMode
from gui.shell.app import Haloscope

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


class Canvas:
    """The canvas of a window, its frames noted."""

    def __init__(self, canvas: PictureCanvas) -> None:
        self.canvas, self.frames_s = canvas, list[float]()
        paint = canvas.paintEvent

        def noted(event: QPaintEvent) -> None:
            begin = time.perf_counter()
            paint(event)
            self.frames_s.append(time.perf_counter() - begin)

        canvas.paintEvent = noted  # type: ignore[method-assign]


def wait(app: QApplication, condition: Callable[[], bool]) -> None:
    """Let things happen until a condition holds."""
    end = time.perf_counter() + PATIENCE_S
    while not condition():
        app.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 5)
        if time.perf_counter() > end:
            sys.exit("it took too long")


def own_mb(pid: int) -> float:
    """Return the memory of a process, of shared pages its share, MB."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(text.split("Pss:")[1].split()[0]) / 1024


@contextmanager
def watched_memory(pids: tuple[int, int]) -> Iterator[list[float]]:
    """Give a list whose one number is the most memory of both processes in the meantime, MB."""
    most, is_over = [0.0], threading.Event()

    def watch() -> None:
        while not is_over.wait(0.01):
            most[0] = max(most[0], sum(map(own_mb, pids)))

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        yield most
    finally:
        is_over.set()
        watching.join()


def rest(app: QApplication) -> None:
    """Wait until the engine has given back what it kept for the next preview: 2 s after the last one."""
    rested = time.monotonic() + 3.0
    wait(app, lambda: time.monotonic() > rested)


def edit(app: QApplication, page: Any) -> None:
    """Edit the mask a few times, and wait for each result."""
    state = page._services.state
    for number in range(EDITS):
        weights, before = np.full((5, 5), 1 / 25), state.last_result
        weights[0, 0] = number / EDITS
        page.workspace.set_mask(Mask(weights))
        wait(app, lambda before=before: state.last_result is not before and is_shown(state))
        wait(app, lambda: page.picture_view.is_settled)


def run(app: QApplication, page: Any) -> None:
    """Measure the kernel that is chosen, as Ctrl+R does."""
    before = len(page.results.results())
    page.run()
    wait(app, lambda: len(page.results.results()) > before and is_shown(page._services.state))


def run_8_bit(app: QApplication, page: Any) -> None:
    """Measure the same with results of the picture's type."""
    page.workspace.change(result_type="same")
    wait(app, lambda: is_shown(page._services.state))
    run(app, page)
    page.workspace.change(result_type="float32")
    wait(app, lambda: is_shown(page._services.state))


def edit_chain(app: QApplication, page: Any) -> None:
    """Begin a chain of three steps, edit the first a few times, and go back to the mask."""
    undo, state = page.workspace.undo_stack, page._services.state
    before = undo.index()
    page.chain.take(chain_named("sobel-magnitude"), "Sobel magnitude")
    page.workspace.show_whole(True)
    page.workspace.select_step(0)
    wait(app, lambda: is_shown(state) and bool(page.display.step_times))
    edit(app, page)
    undo.setIndex(before)
    wait(app, lambda: is_shown(state))


def save(app: QApplication, page: Any, folder: Path) -> None:
    """Save the result that is shown: as PNG, but as TIFF where it is made in parts."""
    path = folder / ("saved.tif" if page.pictures.saves_in_parts else "saved.png")
    page.pictures.save_result(path)
    wait(app, path.exists)
    path.unlink()


def compare(app: QApplication, page: Any, mode: ViewMode) -> None:
    """Show the difference or the error, and the result again."""
    page.picture_view.set_mode(mode)
    comparison = page.picture_view.comparison
    wait(app, lambda: comparison.words.startswith((mode.value, "no difference")))
    wait(app, lambda: page.picture_view.is_settled)
    page.picture_view.set_mode(ViewMode.SPLIT)


def memory(app: QApplication, page: Any, pids: tuple[int, int], folder: Path) -> Iterator[str]:
    """Return how much both processes take at rest, and at most while something is done."""
    rest(app)
    yield f"at rest {sum(map(own_mb, pids)):.0f}"
    doing: dict[str, Callable[[], None]] = {
        "edited": lambda: edit(app, page),
        "run": lambda: run(app, page),
        "saved": lambda: save(app, page, folder),
    }
    # A picture in parts is not compared, and has no chain.
    if not page.pictures.saves_in_parts:
        doing["run to 8 bit"] = lambda: run_8_bit(app, page)
        doing["chain edited"] = lambda: edit_chain(app, page)
        for mode in (ViewMode.DIFFERENCE, ViewMode.ERROR):
            doing[mode.value] = lambda mode=mode: compare(app, page, mode)
    for words, do in doing.items():
        with watched_memory(pids) as most:
            do()
        yield f"{words} {most[0]:.0f}"
        rest(app)


def steps(app: QApplication, step: Callable[[int], Any], seconds: float) -> str:
    """Take a step 60 times a second; return how many were taken, and the longest gap."""
    begin, taken, longest, most_cpu = time.perf_counter(), 0, 0.0, 0.0
    while (now := time.perf_counter()) < begin + seconds:
        cpu = time.thread_time()
        if (now - begin) * 60 >= taken:
            step(taken)
            taken += 1
        app.processEvents(QEventLoop.ProcessEventsFlag.AllEvents)
        longest = max(longest, time.perf_counter() - now)
        most_cpu = max(most_cpu, time.thread_time() - cpu)
        time.sleep(0.0003)
    return (
        f"{taken / seconds:4.0f} steps/s, longest gap {1e3 * longest:.0f} ms, "
        f"{1e3 * most_cpu:.0f} ms of the processor"
    )


def frames(watched: Canvas, seconds: float) -> str:
    """Return the frames a second and the time that one took to paint."""
    painted = np.sort(watched.frames_s) * 1e3 if watched.frames_s else np.zeros(1)
    rate = len(watched.frames_s) / seconds
    watched.frames_s.clear()
    high = np.percentile(painted, 99)
    return f"{rate:4.0f} frames/s, painted in {np.median(painted):.1f} ms, 99 % in {high:.1f} ms"


def is_shown(state: Any) -> bool:
    """Return whether the result of the present settings is on the screen."""
    return state.last_result is not None and not state.busy and not state.result_is_earlier


def look(app: QApplication, page: Any, watched: Canvas, seconds: float) -> Iterator[str]:
    """Follow a mouse with the lens, under masks of several sizes."""
    page._show_lens()
    for name, mask in MASKS.items():
        page.workspace.set_mask(mask)
        state = page._services.state
        wait(app, lambda state=state: is_shown(state) and not page.display.is_earlier)
        page.lens.point((1, 1))
        wait(app, lambda: page.lens.seen is not None)
        looks = list[int]()
        page.lens.changed.connect(lambda looks=looks: looks.append(1))
        rows, columns, _ = page.picture_view.values.shape

        def hover(number: int, rows: int = rows, columns: int = columns) -> None:
            page.picture_view.canvas.pixel_hovered.emit((number * 7 % rows, number * 11 % columns))

        begin = time.process_time()
        taken = steps(app, hover, seconds)
        exact = "exact" if page.lens.seen.is_equal else "within the bound"
        cpu_ms = 1e3 * (time.process_time() - begin) / max(1, len(looks))
        rate = f"{len(looks) / seconds:4.0f} looks/s of {cpu_ms:.1f} ms of the processor"
        yield f"  lens, {name:12} {rate}, {taken}, {exact}; {frames(watched, seconds)}"


def move(app: QApplication, page: Any, watched: Canvas, seconds: float) -> Iterator[str]:
    """Split and slide at several zooms."""
    canvas = page.picture_view.canvas
    page.bring_to_front("mask")
    turns = itertools.cycle([*range(10, 90, 2), *range(90, 10, -2)])
    for zoom in (0.0, 0.5, 1.0, 4.0):
        canvas.view.fit()
        if zoom:
            canvas.view.zoom_to(zoom, canvas.width() / 2, canvas.height() / 2)
        title = f"{100 * zoom:.0f} %" if zoom else "fitted"
        watched.frames_s.clear()
        taken = steps(app, lambda _n: canvas.handle.set_fraction(next(turns) / 100), seconds)
        yield f"  splitting, {title:7} {frames(watched, seconds)}; {taken}"
        # Never so far that the view stops at the edge: a step that moves nothing paints nothing.
        way = itertools.cycle([11] * 15 + [-11] * 30 + [11] * 15)
        taken = steps(app, lambda _n: canvas.view.pan(step := next(way), step / 2), seconds)  # noqa: B023
        yield f"  sliding,   {title:7} {frames(watched, seconds)}; {taken}"


def look_at_large(
    app: QApplication, page: Any, watched: Canvas, path: Path, seconds: float, pids: tuple[int, int]
) -> Iterator[str]:
    """Open a picture that is larger than memory, and slide at several zooms."""
    shown, begin, most = page.picture_view, time.perf_counter(), 0.0
    page.pictures.open_path(path)
    # The first pixels are painted when the first tiles are there.
    wait(app, lambda: shown._original is not None and bool(shown._original._kept))
    shown.canvas.repaint()
    yield f"first pixels after {time.perf_counter() - begin:.2f} s"
    view, way = shown.canvas.view, itertools.cycle([-23] * 120 + [23] * 120)
    for zoom in LARGE_ZOOMS:
        view.fit()
        view.zoom_to(zoom, shown.canvas.width() / 2, shown.canvas.height() / 2)
        watched.frames_s.clear()
        taken = steps(app, lambda _n: view.pan(step := next(way), step / 2), seconds)
        window_mb, engine_mb = map(own_mb, pids)
        most = max(most, window_mb + engine_mb)
        memory = f"window {window_mb:.0f} MB, engine {engine_mb:.0f} MB"
        yield f"{100 * zoom:6.1f} %: {frames(watched, seconds)}; {taken}; {memory}"
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
        app = QApplication(sys.argv[:1])
        engine = StartedEngine(EngineClient)
        haloscope = Haloscope(app, engine, Path(folder) / "preferences.json", "light")
        haloscope.window.resize(*map(int, asked.window.split("x")))
        haloscope.window.show()
        haloscope.finish()
        wait(app, lambda: haloscope.state.is_ready)
        page: Any = haloscope.window.page_of("explore")
        watched = Canvas(page.picture_view.canvas)
        pids = os.getpid(), engine.client.host_pid or 0
        if asked.large is not None:
            path = Path(asked.large or f"{folder}/large.tif")
            if not asked.large:
                made_large(path)
            for line in look_at_large(app, page, watched, path, asked.seconds, pids):
                print(line, flush=True)
        for size in () if asked.large is not None else asked.sizes.split(","):
            width, height = map(int, size.split("x"))
            path = Path(folder) / f"{size}.png"
            # In a process of its own, whose memory goes with it.
            with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as maker:
                maker.submit(made_photo, path, width, height).result()
            page.pictures.open_path(path)
            wait(app, lambda path=path: page.workspace.picture and page.workspace.picture.title == path.name)
            wait(app, lambda: is_shown(haloscope.state))
            wait(app, lambda: page.picture_view.is_settled)
            picture_mb = width * height * 3 / 2**20
            print(f"{size} RGB, may take {3 * picture_mb + 300:.0f} MB", end="", flush=True)
            for words in memory(app, page, pids, Path(folder)):
                print(f"; {words}", end="", flush=True)
            print(flush=True)
            if not asked.memory_only:
                for line in (
                    *look(app, page, watched, asked.seconds),
                    *move(app, page, watched, asked.seconds),
                ):
                    print(line, flush=True)
            path.unlink()
        haloscope.link.shutdown()


if __name__ == "__main__":
    main()
