"""The real window and the real engine on another machine, over an sshd that the test starts."""

import os
import signal

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
from tests.engine.remote.conftest import children_of
from tests.engine.remote.conftest import sshd as sshd
from tests.engine.remote.sshd import PYTHON

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

PATIENCE_S = 60.0
SIDE = 512


class Window(BenchWindow):
    """A window whose result may be on another machine."""

    @property
    def view(self):
        return self.haloscope.window.first_page.picture_view

    @property
    def is_whole(self):
        """Whether the result of the settings is shown, and all of it that is seen has come."""
        return self.shows_the_job and self.view.is_settled

    def wait_whole(self):
        assert self.wait(lambda: self.is_whole, PATIENCE_S), self.describe()

    def pixels(self):
        """Return the result as it is painted in full size."""
        image = QImage(SIDE, SIDE, QImage.Format.Format_RGB32)
        image.fill(0)
        painter = QPainter(image)
        self.view.canvas.scene.result.paint(
            painter, self.view.canvas.view.transform, QRectF(0, 0, SIDE, SIDE)
        )
        painter.end()
        return np.array(image.constBits()).reshape(SIDE, SIDE, 4)[..., :3]


@pytest.fixture
def start(qapp):
    made = []

    def make(remote=None):
        window = Window(qapp, remote)
        made.append(window)
        window.haloscope.window.first_page.pictures.open_sample("camera")
        window.wait_whole()
        window.view.canvas.view.zoom_to(1.0, 0, 0)
        window.wait_whole()
        return window

    yield make
    for window in made:
        window.close()
        window.haloscope.window.deleteLater()
        assert window.segments() == []


def server_of(sshd, *, slow=False):
    return RemoteServer(sshd.to, PYTHON, sshd.shaped(20, 50) if slow else sshd.options())


def edited(window, number):
    window.show_mask(Mask([[1, number, -2]]))
    window.wait_whole()
    return window.pixels()


def kill_ssh(window):
    """End the ssh of its connection, as a line that breaks does."""
    (pid,) = [
        pid
        for pid, words in children_of(window.client.host_pid).items()
        if words.startswith("ssh ") and "slow_pipe" not in words
    ]
    os.kill(pid, signal.SIGKILL)


def test_that_a_lost_line_is_said_and_one_button_brings_the_same_pixels_as_before(start, sshd):
    here, there = start(), start(server_of(sshd))
    assert there.haloscope.state.last_result.tiles
    assert isinstance(there.view.canvas.scene.result, TiledLevels)
    assert np.array_equal(edited(there, 3), edited(here, 3))
    kill_ssh(there)
    messages = there.haloscope.messages
    assert there.wait(lambda: messages.of(SOURCE) is not None and messages.of(SOURCE).action, PATIENCE_S)
    assert (there.haloscope.state.status, messages.of(SOURCE).action) == (LOST, RECONNECT)
    there.show_mask(Mask([[1, 4, -2]]))
    messages.of(SOURCE).act()
    there.wait_whole()
    assert np.array_equal(there.pixels(), edited(here, 4))
    assert len(there.lost) == 1


def test_that_a_line_on_which_nothing_comes_is_noticed(start, sshd, tmp_path):
    cut = tmp_path / "cut"
    window = start(RemoteServer(sshd.to, PYTHON, sshd.shaped(1, 500, str(cut))))
    cut.touch()
    window.show_mask(Mask([[1, 4, -2]]))
    assert window.wait(lambda: window.haloscope.state.status == LOST, PATIENCE_S)
    cut.unlink()
    window.haloscope.messages.of(SOURCE).act()
    window.wait_whole()


def test_that_a_machine_is_chosen_and_left_without_another_picture(start, sshd, tmp_path):
    window = start()
    here, picture = edited(window, 3), window.haloscope.window.first_page.workspace.picture
    machines = window.haloscope.machines
    machines.choose(server_of(sshd))
    there = f"result on {sshd.to}"
    assert window.wait(lambda: window.view.canvas.scene.result_name.startswith(there), PATIENCE_S)
    window.wait_whole()
    assert np.array_equal(window.pixels(), here)
    # Values under the cursor and saved ones are fetched.
    texts = window.view._values.texts
    values = correlate(shared.attach(picture.in_memory), Mask([[1, 3, -2]]))
    assert window.wait(lambda: texts("result", 100, 200) not in ((), ("…",)), PATIENCE_S)
    assert texts("result", 100, 200) == (value_text(np.float32(values[100, 200, 0])),)
    window.haloscope.window.first_page.pictures.save_result(tmp_path / "saved.png")
    assert window.wait(lambda: (tmp_path / "saved.png").exists() and window.is_at_rest, PATIENCE_S)
    saved = open_image(tmp_path / "saved.png").pixels
    assert np.array_equal(saved, values[..., 0].clip(0, 255).astype(np.uint8))
    machines.choose(None)
    assert window.wait(lambda: window.view.canvas.scene.result_name.split(",")[0] == "result", PATIENCE_S)
    window.wait_whole()
    assert not isinstance(window.view.canvas.scene.result, TiledLevels)
    assert np.array_equal(window.pixels(), here)
    assert window.haloscope.window.first_page.workspace.picture is picture
