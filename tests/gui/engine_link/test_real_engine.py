"""The real window and the real engine, whose process is killed, or on another machine over an sshd.

All is answered, and the window stays usable.
"""

import os
import signal
from functools import partial

import numpy as np
import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QImage, QPainter

from bench.kills.bench_window import BenchWindow
from engine.host import shared
from engine.image.open import open_image
from engine.mask.mask import Mask
from engine.remote.ssh import RemoteServer
from engine.work.filtering.oracle import correlate
from gui.engine_link.engine_state import LOST
from gui.explore.picture.tiled import TiledLevels, value_text
from gui.shell.machines import RECONNECT, SOURCE
from tests.engine.host import faulty_hosts
from tests.engine.remote.conftest import children_of
from tests.engine.remote.conftest import sshd as sshd
from tests.engine.remote.sshd import PYTHON

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

PATIENCE_S = 60.0
NOTHING, DEADLY, DEADLY_TOO = Mask([[1]]), Mask([[1, 2]]), Mask([[2, 1]])


SIDE = 512


class Window(BenchWindow):
    """A window whose result may be on another machine."""

    def __init__(self, app, remote):
        super().__init__(app, remote)
        # 500 looks in a second are for a bench that kills at random moments.
        self._ticks.setInterval(20)

    @property
    def view(self):
        return self.haloscope.window.first_page.picture_view

    def wait_whole(self):
        """Wait until the result of the settings is shown, and all of it that is seen has come."""
        assert self.wait(lambda: self.shows_the_job and self.view.is_complete, PATIENCE_S), self.describe()

    def pixels(self):
        """Return the result as it is painted in full size."""
        image = QImage(SIDE, SIDE, QImage.Format.Format_RGB32)
        image.fill(0)
        painter = QPainter(image)
        transform = self.view.canvas.view.transform
        self.view.canvas.scene.result.paint(painter, transform, QRectF(0, 0, SIDE, SIDE))
        painter.end()
        return np.array(image.constBits()).reshape(SIDE, SIDE, 4)[..., :3]


@pytest.fixture
def start(qapp, monkeypatch):
    """Start a window with a picture and its preview, on another machine or with another host's code.

    Nothing of it is left at the end.
    """
    made = []

    def make(remote=None, serve=None):
        if serve is not None:
            monkeypatch.setattr("engine.host.link.serve", serve)
        made.append(window := Window(qapp, remote))
        if serve is not None:
            window.show_mask(NOTHING)
        window.haloscope.window.first_page.pictures.open_sample("camera")
        window.wait_whole()
        window.view.canvas.view.zoom_to(1.0, 0, 0)
        window.wait_whole()
        return window

    yield make
    for window in made:
        window.close()
        window.haloscope.window.deleteLater()
        assert (window.segments(), window.client.unanswered()) == ([], [])


def goes_on(window, number):
    """Whether all is answered and a further preview comes out right."""
    if not window.wait(lambda: window.is_at_rest, PATIENCE_S):
        return False
    window.show_mask(Mask([[number, 1, -2]]))
    return window.wait(lambda: window.shows_the_job, PATIENCE_S) and window.result_is_right()


@pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="the system does not list its shared memory")
def test_that_the_window_goes_on_after_kills_before_a_segment_has_a_size(start, monkeypatch, tmp_path):
    last_segment = tmp_path / "the next segment is the last"
    monkeypatch.setenv(faulty_hosts.LAST_SEGMENT, str(last_segment))
    window = start(serve=faulty_hosts.die_at_an_empty_segment)
    explore = window.haloscope.window.first_page
    explore.runs._run_of = partial(explore.runs._run_of, budget_s=0.05)
    for number, start in enumerate(
        (
            lambda: window.show_mask(Mask([[3, 4]])),
            lambda: explore.pictures.open_sample("camera"),
            explore.runs.run_every_variant,
        )
    ):
        last_segment.touch()
        start()
        assert window.wait(lambda: not last_segment.exists(), PATIENCE_S)
        assert goes_on(window, number), (number, window.describe())
    explore.pictures.save_result(tmp_path / "saved.png")
    os.kill(window.client.host_pid, signal.SIGKILL)
    assert goes_on(window, 99), window.describe()
    # An end while a picture is opened is reported for that picture.
    assert len(window.lost) == 3


def test_that_a_preview_that_always_ends_the_engine_is_tried_twice_and_once_where_escape_stops_it(start):
    window = start(serve=faulty_hosts.end_in_real_previews)
    window.show_mask(DEADLY)
    messages = window.haloscope.messages
    # The answer reaches the window after the signals of the two ends.
    assert window.wait(
        lambda: messages.newest is not None and "ended twice" in messages.newest.what, PATIENCE_S
    ), window.describe()
    assert messages.newest.remedy.startswith("It is not tried again until you change")
    # A third host is up, and has got every request that it is to get.
    assert window.wait(lambda: window.is_at_rest, PATIENCE_S), window.describe()
    window.show_mask(NOTHING)
    assert window.wait(lambda: window.shows_the_job, PATIENCE_S), window.describe()
    assert len(window.lost) == 2
    window.show_mask(DEADLY_TOO)
    # A new engine is up in 0.2 s, before the work counts as slow and its action can be chosen.
    assert window.wait(lambda: len(window.lost) == 3, PATIENCE_S)
    window.haloscope.window.cancel()
    assert window.wait(lambda: window.is_at_rest, PATIENCE_S)
    window.wait(lambda: len(window.lost) > 3, 0.1)
    assert len(window.lost) == 3


def test_that_a_machine_is_chosen_lost_found_again_and_left_without_another_picture(start, sshd, tmp_path):
    window, cut = start(), tmp_path / "cut"
    explore, messages = window.haloscope.window.first_page, window.haloscope.messages
    picture, here = explore.workspace.picture, []
    for number in (4, 3):
        window.show_mask(Mask([[1, number, -2]]))
        window.wait_whole()
        here.append(window.pixels())
    machines, canvas = window.haloscope.machines, window.view.canvas
    machines.choose(RemoteServer(sshd.to, PYTHON, sshd.shaped(1, 500, str(cut))))
    assert window.wait(lambda: canvas.scene.result_name.startswith(f"result on {sshd.to}"), PATIENCE_S)
    window.wait_whole()
    assert window.haloscope.state.last_result.tiles
    assert isinstance(canvas.scene.result, TiledLevels)
    assert np.array_equal(window.pixels(), here[1])
    # Values under the cursor and saved ones are fetched.
    texts = window.view.values.texts
    values = correlate(shared.attach(picture.in_memory), Mask([[1, 3, -2]]))
    assert window.wait(lambda: texts("result", 100, 200) not in ((), ("…",)), PATIENCE_S)
    assert texts("result", 100, 200) == (value_text(np.float32(values[100, 200, 0])),)
    explore.pictures.save_result(tmp_path / "saved.png")
    assert window.wait(lambda: (tmp_path / "saved.png").exists() and window.is_at_rest, PATIENCE_S)
    saved = open_image(tmp_path / "saved.png").pixels
    assert np.array_equal(saved, values[..., 0].clip(0, 255).astype(np.uint8))
    # Nothing comes on the line: that is noticed.
    cut.touch()
    window.show_mask(Mask([[1, 5, -2]]))
    assert window.wait(lambda: window.haloscope.state.status == LOST, PATIENCE_S)
    cut.unlink()
    messages.of(SOURCE).act()
    window.wait_whole()
    assert len(window.lost) == 1
    # The line breaks: a message appears, and one button brings the same pixels as before.
    children = children_of(window.client.host_pid).items()
    (ssh,) = [pid for pid, words in children if words.startswith("ssh ") and "slow_pipe" not in words]
    os.kill(ssh, signal.SIGKILL)
    assert window.wait(lambda: messages.of(SOURCE) is not None and messages.of(SOURCE).action, PATIENCE_S)
    assert (window.haloscope.state.status, messages.of(SOURCE).action) == (LOST, RECONNECT)
    window.show_mask(Mask([[1, 4, -2]]))
    messages.of(SOURCE).act()
    window.wait_whole()
    assert np.array_equal(window.pixels(), here[0])
    assert len(window.lost) == 2
    machines.choose(None)
    assert window.wait(lambda: canvas.scene.result_name.split(",")[0] == "result", PATIENCE_S)
    window.wait_whole()
    assert not isinstance(canvas.scene.result, TiledLevels)
    assert np.array_equal(window.pixels(), here[0])
    assert explore.workspace.picture is picture
