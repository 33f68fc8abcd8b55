"""A server instead of this computer: the list, the dialog, the lost line; with a fake engine."""

import json

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from engine.errors import ResultGone
from engine.host.protocol import OpenPicture, SaveResult, WantedTiles, WantedValues
from engine.host.request import Preview
from engine.mask.mask import Mask
from engine.remote.ssh import RemoteServer
from engine.results.columns import device_text
from gui.engine_link.engine_state import CONNECTING, LOST, READY
from gui.shell.machines import SOURCE, TRY_AGAIN
from gui.shell.preferences import load_preferences

SERVER = RemoteServer("me@server")
OTHER = RemoteServer("me@other", "python3.12")


@pytest.fixture
def window(request, haloscope, qtbot):
    """The window, and its fake engine as `fake`; this computer computes again at the end."""
    haloscope.fake = haloscope.link._client
    haloscope.view = haloscope.window.first_page.picture_view
    yield haloscope
    if request.node.get_closest_marker("fresh_window"):
        return
    haloscope.fake.automatic = True
    haloscope.machines.choose(None)
    haloscope.fake.become_ready()
    qtbot.waitUntil(lambda: haloscope.state.is_ready)
    haloscope.state.set_servers(())
    for record in (haloscope.fake.connected, haloscope.fake.superseded):
        record.clear()


@pytest.fixture
def there(window, qtbot):
    """The window with a result on a server."""
    window.machines.choose(SERVER)
    window.fake.become_ready()
    qtbot.waitUntil(lambda: bool(window.state.last_result.tiles) and window.view.is_complete)
    return window


def box_of(window):
    return window.window.first_page.kernel_panel.device


def texts(box):
    return [box.itemText(position) for position in range(box.count())]


def choose(box, text):
    box.activated.emit(texts(box).index(text))


def asked(window, kind):
    return [request for request in window.fake.seen if isinstance(request, kind)]


def test_that_choosing_a_server_connects_which_keys_do_not_and_leaves_the_picture(window, qtbot):
    picture = window.workspace.picture
    window.fake.become_ready()
    window.state.set_servers((SERVER,))
    for _ in range(8):
        qtbot.keyClick(box_of(window), Qt.Key.Key_Down)
    assert window.fake.connected == []
    choose(box_of(window), "me@server")
    QApplication.processEvents()
    # What the engine said before it was left is not heard.
    assert (window.fake.connected, window.state.status) == ([SERVER], CONNECTING)
    assert window.workspace.picture is picture


def test_that_what_a_server_computes_is_named_with_it_shown_saved_and_explained(there, qtbot, tmp_path):
    assert any(text.endswith("on me@server") for text in texts(box_of(there))[1:])
    assert there.view.canvas.scene.result_name == "result on me@server"
    seen = asked(there, Preview)[-1].seen
    assert (seen.rows, seen.columns) == ((0, 36), (0, 48))
    there.view.canvas.pixel_hovered.emit((3, 4))
    qtbot.waitUntil(lambda: "…" not in there.view.readout.words)
    wanted = asked(there, WantedValues)[-1]
    assert wanted.rows[0] <= 3 < wanted.rows[1]
    there.pictures.save_result(tmp_path / "saved.png")
    request = asked(there, SaveResult)[-1]
    assert (request.values, request.result) == (None, there.state.last_result.screen)
    there.runs.run()
    qtbot.waitUntil(lambda: len(there.results.rows()) > 0)
    result, roofline = there.results.rows()[-1].result, there.window.first_page.roofline
    assert device_text(result) == "cpu on me@server"
    assert roofline.limits_are_of(result)
    choose(box_of(there), "This computer")
    assert not roofline.limits_are_of(result), "of another machine"
    there.fake.become_ready()
    qtbot.waitUntil(lambda: there.view.canvas.scene.result_name == "result")
    assert there.fake.remote is None


@pytest.mark.fresh_window
def test_that_a_result_that_the_server_has_let_go_of_is_computed_again(there, qtbot):
    there.fake.automatic = False
    there.view.canvas.scene.result._kept.clear()
    there.view.canvas.update()
    qtbot.waitUntil(lambda: bool(there.fake.waiting(WantedTiles)))
    before = len(asked(there, Preview))
    there.fake.fail(ResultGone("This result is not there any more"), there.fake.waiting(WantedTiles)[0])
    qtbot.waitUntil(lambda: len(asked(there, Preview)) == before + 1)
    assert there.messages.of("picture file") is None


def test_that_a_newer_edit_leaves_the_older_preview_out_or_what_it_has_not_brought_yet(there, qtbot):
    there.fake.automatic = False
    for number in (2.0, 3.0, 4.0):
        there.workspace.set_mask(Mask([[number]]))
        qtbot.waitUntil(lambda: len(there.fake.waiting(Preview)) == 1)
    qtbot.waitUntil(lambda: bool(there.fake.superseded))
    assert there.fake.superseded[0].job.mask == Mask([[2.0]])
    # One that comes late is seen, and no more of it is requested.
    before = there.state.last_result
    there.fake.answer(there.fake.waiting(Preview)[0])
    qtbot.waitUntil(lambda: there.state.last_result is not before)
    qtbot.waitUntil(lambda: len(there.fake.waiting(Preview)) == 1)
    assert there.display.is_earlier
    assert there.fake.waiting(WantedTiles) == []


def test_that_nothing_is_asked_of_a_lost_line_and_that_reconnecting_brings_preview_and_picture(there, qtbot):
    there.fake.lose_line()
    qtbot.waitUntil(lambda: there.state.status == LOST)
    before = len(there.fake.seen)
    there.workspace.set_mask(Mask([[2.0]]))
    there.view.canvas.view.zoom_by(1)
    for _ in range(20):
        QApplication.processEvents()
    assert len(there.fake.seen) == before
    assert there.messages.count == 1
    there.pictures.open_sample("camera")
    QApplication.processEvents()
    there.messages.of(SOURCE).act()
    assert there.state.status == CONNECTING
    there.fake.become_ready()
    qtbot.waitUntil(lambda: there.state.status == READY and not there.display.is_earlier)
    qtbot.waitUntil(lambda: there.workspace.picture.sample == "camera")
    assert asked(there, Preview)[-1].job.mask == Mask([[2.0]])
    assert [request.sample for request in asked(there, OpenPicture)].count("camera") == 1


@pytest.fixture
def dialog(window, qtbot):
    choose(box_of(window), "Another machine…")
    dialog = window.machines.dialog
    qtbot.waitUntil(dialog.isVisible)
    dialog.server.setText("me@server")
    dialog.python.clear()
    return dialog


def test_that_the_dialog_connects_to_what_was_typed_unless_it_is_an_option(dialog, window):
    dialog.server.setText("-oProxyCommand=x")
    dialog.connect_button.click()
    assert window.fake.connected == []
    assert "it is not the name of a server" in dialog.refusal.text()
    dialog.server.setText("me@server")
    dialog.python.setText("python3.12")
    dialog.connect_button.click()
    assert window.fake.connected == [RemoteServer("me@server", "python3.12")]


def test_that_a_message_says_whether_a_server_is_reached(dialog, window, qtbot):
    dialog.connect_button.click()
    assert not dialog.isVisible()
    refusal = SERVER.refusal({"version": "0.1"}, 0, "")
    window.fake._on_lost(refusal)
    qtbot.waitUntil(lambda: window.messages.of(SOURCE) is not None)
    assert SERVER.install_command in window.messages.of(SOURCE).remedy
    assert (window.fake.connected, window.messages.of(SOURCE).action) == ([SERVER, None], TRY_AGAIN)
    window.fake.become_ready()
    window.messages.of(SOURCE).act()
    window.fake.become_ready()
    qtbot.waitUntil(lambda: window.state.servers == (SERVER,))


def test_that_a_server_that_was_used_is_known_the_next_time(window, monkeypatch, tmp_path, qtbot):
    monkeypatch.setattr(window.preferences, "_path", tmp_path / "preferences.json")
    window.machines.choose(OTHER)
    window.fake.become_ready()
    qtbot.waitUntil(lambda: window.state.is_ready)
    window.window.close()
    assert load_preferences(tmp_path / "preferences.json")[0].servers == (("me@other", "python3.12"),)
    # Those that are none are not used.
    for servers in ["x", [["a"]], [["-oX", "python3"]], [["", "python3"]], [[1, 2]]]:
        path = tmp_path / "others.json"
        path.write_text(json.dumps({"version": 1, "servers": servers}))
        assert load_preferences(path)[0].servers == ()
