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


def server_of(sshd):
    return RemoteServer(sshd.to, PYTHON, sshd.options())


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


def test_that_a_line_on_which_nothing_comes_is_noticed(start, sshd, tmp_path):
    cut = tmp_path / "cut"
    window = start(RemoteServer(sshd.to, PYTHON, sshd.shaped(1, 500, str(cut))))
    cut.touch()
    window.show_mask(Mask([[1, 4, -2]]))
    assert window.wait(lambda: window.haloscope.state.status == LOST, PATIENCE_S)
    cut.unlink()
    window.haloscope.messages.of(SOURCE).act()
    window.wait_whole()


def test_that_a_machine_is_chosen_lost_found_again_and_left_without_another_picture(start, sshd, tmp_path):
    window = start()
    explore, messages = window.haloscope.window.first_page, window.haloscope.messages
    here, picture = [edited(window, number) for number in (4, 3)], explore.workspace.picture
    machines, canvas = window.haloscope.machines, window.view.canvas
    machines.choose(server_of(sshd))
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
    # The line breaks: it is said, and one button brings the same pixels as before.
    kill_ssh(window)
    assert window.wait(lambda: messages.of(SOURCE) is not None and messages.of(SOURCE).action, PATIENCE_S)
    assert (window.haloscope.state.status, messages.of(SOURCE).action) == (LOST, RECONNECT)
    window.show_mask(Mask([[1, 4, -2]]))
    messages.of(SOURCE).act()
    window.wait_whole()
    assert np.array_equal(window.pixels(), here[0])
    assert len(window.lost) == 1
    machines.choose(None)
    assert window.wait(lambda: canvas.scene.result_name.split(",")[0] == "result", PATIENCE_S)
    window.wait_whole()
    assert not isinstance(canvas.scene.result, TiledLevels)
    assert np.array_equal(window.pixels(), here[0])
    assert explore.workspace.picture is picture
