"""How long the window waits, and an edit takes to its pixels in it, with the engine on another machine.

    python -m bench.remote_window [--edits 50]

The window of 1280 x 800 is not on a screen. A timer of 5 ms says how long its event loop was kept: the
longest gap between two ticks. Edits are made one after the other, each when the pixels of the one before are
painted, and then 20 ms apart, as in a drag. A server is this machine, over an sshd that the script
starts: as it is, and behind a pipe with a delay and 50 Mbit/s.
"""

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import numpy as np
from PySide6.QtWidgets import QApplication

from bench.kills.bench_window import BenchWindow
from bench.options import parser_of
from bench.whole.pictures import save
from bench.window import Ticks
from engine.mask.mask import Mask
from engine.remote.ssh import RemoteServer
from tests.engine.remote.sshd import PYTHON, Sshd

PATIENCE_S = 60.0
DRAG_MS = 20


def mask_of(number):
    weights = np.array([[1, 2, 1], [2, 4 + number % 100, 2], [1, 2, 1]], float)
    return Mask(weights / weights.sum())


def measure(title, window, edits):
    """Print the longest gap, and the medians to the first and to the exact pixels."""
    page = window.haloscope.window.first_page

    def is_shown():
        return not page.display.is_earlier

    def is_whole():
        return is_shown() and page.picture_view.is_complete

    for number in range(8):
        window.show_mask(mask_of(number))
        assert window.wait(is_whole, PATIENCE_S), window.describe()
    ticks, first_ms, exact_ms = Ticks(), [], []
    for number in range(edits):
        begin = time.perf_counter()
        window.show_mask(mask_of(number))
        window.wait(is_shown, PATIENCE_S)
        page.picture_view.canvas.repaint()
        first_ms.append((time.perf_counter() - begin) * 1e3)
        window.wait(is_whole, PATIENCE_S)
        exact_ms.append((time.perf_counter() - begin) * 1e3)
    ticks.enter("dragged")
    shown = []
    note = window.haloscope.state.filtered.connect(lambda _: shown.append(1))
    for number in range(edits):
        window.show_mask(mask_of(number + 50))
        end = time.perf_counter() + DRAG_MS / 1e3
        window.wait(lambda end=end: time.perf_counter() >= end, PATIENCE_S)
    begin = time.perf_counter()
    window.wait(is_shown, PATIENCE_S)
    window.haloscope.state.filtered.disconnect(note)
    after_ms = (time.perf_counter() - begin) * 1e3
    window.wait(is_whole, PATIENCE_S)
    print(
        f"{title:34} first pixels {statistics.median(first_ms):6.1f} ms  exact "
        f"{statistics.median(exact_ms):6.1f}  longest gap {max(ticks.gaps['start']):5.1f}  dragged: gap "
        f"{max(ticks.gaps['dragged']):5.1f}, {len(shown)} of {edits} shown, the last after {after_ms:6.1f}",
        flush=True,
    )


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--edits", type=int, default=50)
    asked = parser.parse_args()
    app = QApplication(sys.argv[:1])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path, sshd = folder / "photo.png", Sshd(folder)
        save(str(path), 1920, 1080)
        try:
            for title, options in (
                ("this computer", None),
                ("loopback", sshd.options()),
                ("20 ms round trip, 50 Mbit/s", sshd.shaped(10, 50)),
                ("20 ms each way, 50 Mbit/s", sshd.shaped(20, 50)),
            ):
                window = BenchWindow(app, options and RemoteServer(sshd.to, PYTHON, options))
                page = window.haloscope.window.first_page
                page.pictures.open_path(path)
                assert window.wait(lambda: window.shows_the_job, PATIENCE_S), window.describe()  # noqa: B023
                for place in ("fitted", "at full size"):
                    if place == "at full size":
                        page.picture_view.canvas.view.show_actual()
                    measure(f"{title}, {place}", window, asked.edits)
                window.close()
        finally:
            sshd.close()


if __name__ == "__main__":
    main()
