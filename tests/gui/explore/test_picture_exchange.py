from pathlib import Path

import pytest
from PySide6.QtCore import QByteArray, QMimeData, QPoint, Qt, QUrl
from PySide6.QtGui import QColor, QGuiApplication, QImage

from engine.host.protocol import SaveResult
from engine.image.open import open_image
from gui.explore import picture_exchange
from gui.explore.picture_exchange import PictureMime, keep_picture, pasted_folder, picture_on


@pytest.fixture
def clipboard(qapp):
    yield QGuiApplication.clipboard()
    QGuiApplication.clipboard().clear()


@pytest.fixture
def put(clipboard):
    """Put something on the clipboard, by the names of `QMimeData`."""

    def put(**what):
        mime = QMimeData()
        for name, value in what.items():
            if name == "png":
                mime.setData("image/png", value)
            else:
                getattr(mime, f"set{name.capitalize()}")(value)
        clipboard.setMimeData(mime)

    return put


def waited(haloscope, qtbot, title):
    qtbot.waitUntil(lambda: haloscope.workspace.picture.title == title)


def message(haloscope):
    return haloscope.window.message_bar.text


def test_that_a_picture_or_numbers_pasted_on_any_page_are_opened_where_they_belong(haloscope, put, qtbot):
    haloscope.window.show_page("network")
    put(png=b"the bytes of another program")
    haloscope.actions["paste"].trigger()
    waited(haloscope, qtbot, "Clipboard.png")
    assert haloscope.window.page.objectName() == "explore"
    assert Path(haloscope.workspace.picture.path).read_bytes() == b"the bytes of another program"
    assert "newest pasted pictures are kept" in message(haloscope)
    put(text="1 2 1\n2 4 2\n1 2 1")
    haloscope.actions["paste"].trigger()
    assert haloscope.workspace.mask.weights.tolist() == [[1, 2, 1], [2, 4, 2], [1, 2, 1]]


def test_that_pasted_pixels_are_written_as_they_are_and_the_newest_kept(clipboard, put, monkeypatch):
    image = QImage(5, 3, QImage.Format.Format_RGB888)
    image.fill(QColor(10, 20, 30))
    clipboard.setImage(image)
    picture = open_image(keep_picture(picture_on(clipboard.mimeData())))
    assert picture.pixels.shape == (3, 5, 3)
    assert (picture.pixels == (10, 20, 30)).all()
    monkeypatch.setattr(picture_exchange, "MOST_KEPT", 2)
    put(png=b"bytes")
    paths = [keep_picture(picture_on(clipboard.mimeData())) for _ in range(3)]
    assert [path.exists() for path in paths] == [False, True, True]
    assert paths[-1].is_relative_to(pasted_folder())


def test_that_a_file_is_pasted_and_what_cannot_be_is_said_in_words(window_of_file, put, qtbot, tmp_path):
    for name, kind, form in (
        ("urls", "urls", lambda path: [QUrl.fromLocalFile(str(path))]),
        ("text", "text", "{}\n".format),
        ("quoted", "text", '"{}"'.format),
        ("address", "text", lambda path: QUrl.fromLocalFile(str(path)).toString()),
    ):
        path = tmp_path / f"a photo {name}.png"
        path.write_bytes(b"x")
        put(**{kind: form(path)})
        window_of_file.actions["paste"].trigger()
        waited(window_of_file, qtbot, path.name)
    haloscope = window_of_file
    before, no_path = haloscope.workspace.mask, "neither a picture, nor a file's path"
    for what, words in (
        ({}, "the clipboard is empty"),
        ({"text": "a recipe for soup"}, f"“a recipe for soup” is {no_path}, nor"),
        ({"urls": [QUrl("https://example.org/a.png")]}, "is not a file of this computer"),
        *(({"text": text}, no_path) for text in ("/no/such/file.png", "/\0/x.png", "x" * 100_000)),
        ({"html": "<b>words</b>"}, "neither a picture"),
    ):
        assert not message(haloscope).startswith("Nothing")
        put(**what)
        haloscope.actions["paste"].trigger()
        assert message(haloscope).startswith("Nothing was pasted.")
        assert words in message(haloscope).replace("The clipboard", "the clipboard")
        assert haloscope.workspace.mask is before
        haloscope.messages.clear(haloscope.messages.newest.source)


def test_that_result_and_original_are_copied_as_png_by_the_engine_and_pasted_unread(
    haloscope, clipboard, qtbot, tmp_path, monkeypatch
):
    for what, name in (("picture", "astronaut-sharpen.png"), ("original", "astronaut-original.png")):
        clipboard.clear()
        haloscope.actions[f"copy_{what}"].trigger()
        qtbot.waitUntil(lambda: (clipboard.mimeData() or QMimeData()).hasFormat("image/png"))
        *_, asked = (one for one in haloscope.link._client.seen if isinstance(one, SaveResult))
        assert asked.values == (haloscope.state.last_result.values if what == "picture" else None)
        assert Path(asked.path).name == name
    path, read = tmp_path / "copied.png", []
    path.write_bytes(b"36 MB")
    monkeypatch.setattr(PictureMime, "retrieveData", lambda *asked: read.append(asked) or QByteArray())
    clipboard.setMimeData(PictureMime(path, with_file=False))
    haloscope.actions["paste"].trigger()
    waited(haloscope, qtbot, "Clipboard.png")
    assert Path(haloscope.workspace.picture.path).read_bytes() == b"36 MB"
    assert read == []


def dragged(haloscope, qtbot, monkeypatch):
    """Press the handle, move away, release; return what was dragged."""
    handle, drags = haloscope.window.page.picture_view.drag_handle, []
    monkeypatch.setattr(type(handle), "run_drag", lambda self, drag: drags.append(drag.mimeData()))
    qtbot.mousePress(handle, Qt.MouseButton.LeftButton)
    qtbot.mouseMove(handle, QPoint(200, 200))
    return handle, drags


def test_that_the_result_is_dragged_out_unless_the_button_is_up_before(haloscope, qtbot, monkeypatch):
    _, drags = dragged(haloscope, qtbot, monkeypatch)
    qtbot.waitUntil(lambda: len(drags) == 1)
    assert drags[0].hasFormat("image/png")
    assert drags[0].urls()[0].fileName() == "astronaut-sharpen.png"
    haloscope.link._client.automatic = False
    handle, drags = dragged(haloscope, qtbot, monkeypatch)
    qtbot.mouseRelease(handle, Qt.MouseButton.LeftButton)
    haloscope.link._client.answer_all(SaveResult)
    qtbot.wait(5)
    assert drags == []
