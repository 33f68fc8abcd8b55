"""The window with a picture of 20 GB: time to its first pixels, frames while it is panned, memory.

The file is a tiled BigTIFF without a pyramid, made here in a second: its 300,000 tiles are 8 that lie in the
file once, so it takes 5 MB of the disk, and every tile is read and decoded as any other. A path measures a
file of one's own.
"""

import argparse
import os
import struct
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PySide6.QtCore import QEventLoop
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QApplication

from engine.host.client import EngineClient
from gui.engine_link.engine_start import StartedEngine
from gui.explore.picture.canvas import PictureCanvas
from gui.shell.app import Haloscope

SIDE, TILE, KINDS = 141_000, 256, 8
ZOOMS = (1.0, 0.7, 0.3, 0.12, 0.02)
PATIENCE_S = 60.0


def make_file(path: Path) -> None:
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


def pan(app: QApplication, watched: Canvas, zoom: float, seconds: float) -> str:
    """Drag the picture to and fro at 60 steps a second; return what was seen of it."""
    view = watched.canvas.view
    view.fit()
    view.zoom_to(zoom, watched.canvas.width() / 2, watched.canvas.height() / 2)
    watched.frames_s.clear()
    longest, begin, step = 0.0, time.perf_counter(), 0
    while (now := time.perf_counter()) < begin + seconds:
        if (now - begin) * 60 >= step:
            way = 23 if step % 240 < 120 else -23
            view.pan(-way, -way / 2)
            step = int((now - begin) * 60) + 1
        app.processEvents()
        longest = max(longest, time.perf_counter() - now)
        time.sleep(0.0005)
    frames = np.sort(watched.frames_s) * 1e3
    return (
        f"{100 * zoom:6.1f} %: {len(frames) / seconds:4.0f} frames/s, painted in {np.median(frames):.1f} ms, "
        f"99 % in {np.percentile(frames, 99):.1f} ms; longest gap {1e3 * longest:.0f} ms"
    )


def memory_mb(pid: int) -> float:
    """Return the memory of a process, shared pages included, MB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.large_window", description=__doc__)
    parser.add_argument("path", nargs="?", type=Path)
    parser.add_argument("--size", default="1280x800")
    parser.add_argument("--seconds", type=float, default=5.0, help="of panning at each zoom")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = asked.path or Path(folder) / "large.tif"
        if asked.path is None:
            make_file(path)
        app = QApplication(sys.argv[:1])
        engine = StartedEngine(EngineClient)
        haloscope = Haloscope(app, engine, Path(folder) / "preferences.json", "light")
        window = haloscope.window
        window.resize(*map(int, asked.size.split("x")))
        window.show()
        haloscope.finish()
        wait(app, lambda: haloscope.state.is_ready)
        page = window.page_of("explore")
        shown = page.picture_view  # type: ignore[attr-defined]
        begin = time.perf_counter()
        page.pictures.open_path(path)  # type: ignore[attr-defined]
        # The first pixels are painted when the first tiles are there.
        wait(app, lambda: shown._original is not None and bool(shown._original._kept))
        shown.canvas.repaint()
        print(f"first pixels after {time.perf_counter() - begin:.2f} s")
        watched = Canvas(shown.canvas)
        most = 0.0
        for zoom in ZOOMS:
            print(pan(app, watched, zoom, asked.seconds))
            parts = memory_mb(os.getpid()), memory_mb(engine.client.host_pid or 0)
            most = max(most, sum(parts))
            print(
                f"          window {parts[0]:.0f} MB, engine {parts[1]:.0f} MB, together {sum(parts):.0f} MB"
            )
        print(f"most memory: {most:.0f} MB")
        haloscope.link.shutdown()


if __name__ == "__main__":
    main()
