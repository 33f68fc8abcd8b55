"""Files, drops, pastes and lists with what cannot be used: said in a sentence, and nothing is lost."""

import json
import os
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QMimeData
from PySide6.QtGui import QGuiApplication

from engine.geometry.border import Border
from gui.explore.session_file import SessionError, load_session
from gui.page.files import Recent
from gui.shell.preferences import Preferences, load_preferences
from tests.gui.made_window import drop, save_session
from tests.made_runs import make_result
from tests.unreadable_files import CONTENTS, NO_FILES, made


@pytest.fixture
def worked(haloscope):
    """A window with an edit and a result, which both must be there afterwards."""
    haloscope.workspace.change(border=Border.WRAP)
    haloscope.results.add(make_result("tiled", 2.0))
    return haloscope


def paste(haloscope, text=None, pdf=None):
    mime = QMimeData()
    if text is not None:
        mime.setText(text)
    if pdf is not None:
        mime.setData("application/pdf", pdf)
    QGuiApplication.clipboard().setMimeData(mime)
    haloscope.actions["paste"].trigger()


def written(folder, name, content):
    """Return the path of a file, or of a folder where there is no content."""
    path = folder / name
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


DEEP = "[" * 100_000
# What is opened by which road; each is no such file, or a damaged one.
FILES = {
    "picture": [("missing.png", ""), ("words.txt", "hello"), ("work.json", '{"format": "haloscope-session"')],
    "session": [
        ("a.haloscope", None), ("a.haloscope", ""), ("a.haloscope", b"\xff\xfe\0"), ("a.haloscope", DEEP),
        ("a.haloscope", "[1, 2]"), ("a.haloscope", '{"section": "header"}'), ("photo.png", b"\x89PNG\r\n"),
    ],
    "mask": [
        ("m.txt", None), ("m.txt", ""), ("m.txt", "no mask"), ("m.json", '{"format": 3}'),
        ("m.csv", b"\xff\0"), ("m.json", DEEP), ("m.txt", "1 2\n3"), ("m.txt", "9" * 5000),
        ("m.txt", "1 " * 200_000),
    ],
    "chain": [
        ("c.json", None), ("c.json", ""), ("c.json", "{}"), ("c.json", DEEP), ("c.json", b"\xff"),
        ("c.json", '{"format": "haloscope-chain", "version": 99, "steps": []}'),
        ("c.json", '{"format": "haloscope-chain", "version": 1, "steps": 7}'),
    ],
}  # fmt: skip


def open_by(haloscope, kind, path):
    page = haloscope.window.first_page
    files, chains = page.files, page.chain_actions
    roads = {"session": files.open_session, "mask": files.load_mask, "chain": chains.open}
    roads.get(kind, lambda path: drop(haloscope, path))(path)


def state_of(haloscope):
    stack = haloscope.workspace.undo_stack
    own = Path(haloscope.workspace.picture.path or "").name, haloscope.workspace.picture.title
    return haloscope.workspace.state, stack.count(), stack.index(), haloscope.results.results(), own


def assert_said(haloscope, qtbot, do):
    """Do something; a sentence is shown, and all is as before."""
    before, bar = state_of(haloscope), haloscope.window.message_bar
    do()
    qtbot.waitUntil(bar.isVisible)
    said = bar.text
    assert said.endswith("."), said
    assert 20 < len(said) < 600, said
    assert "Traceback" not in said
    assert "Error(" not in said
    assert state_of(haloscope) == before, said
    haloscope.messages.clear(haloscope.messages.newest.source)
    return said


@pytest.mark.parametrize("kind", FILES)
def test_that_a_file_that_is_none_is_said(worked, qtbot, tmp_path, kind):
    for number, (name, content) in enumerate(FILES[kind]):
        (tmp_path / str(number)).mkdir()
        path = written(tmp_path / str(number), name, content)
        for _ in ("as it is", "gone"):
            said = assert_said(worked, qtbot, partial(open_by, worked, kind, path))
            assert name in said, (name, content)
            if path.is_dir():
                path.rmdir()
            else:
                path.unlink(missing_ok=True)


def test_that_a_pipe_and_a_file_that_must_not_be_read_are_said(worked, qtbot, tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe")
    for kind in ("session", "mask", "chain"):
        assert "pipe" in assert_said(worked, qtbot, partial(open_by, worked, kind, tmp_path / "pipe"))
    for name in ("pipe.json", "pipe.txt", "pipe.haloscope"):
        os.mkfifo(tmp_path / name)
        assert "pipe" in assert_said(worked, qtbot, partial(drop, worked, tmp_path / name))
    path = written(tmp_path, "a.haloscope", "")

    def refuse(*_arguments, **_options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    assert "ou may not read it" in assert_said(worked, qtbot, lambda: open_by(worked, "session", path))


TEXTS = {
    "words": "a recipe for soup", "huge": "x" * 1_000_000, "deep": DEEP, "zeros": "\0\0", "ragged": "1 2\n3",
    "path of nothing": "/no/such/picture.png", "too wide": "1 " * 200_000,
}  # fmt: skip


def test_that_a_text_that_is_nothing_is_said_when_it_is_pasted_and_dropped(worked, qtbot):
    for name, text in TEXTS.items():
        said = assert_said(worked, qtbot, lambda text=text: paste(worked, text))
        assert said.startswith("Nothing was pasted."), name
        said = assert_said(worked, qtbot, lambda text=text: drop(worked, text=text))
        assert said.startswith("Nothing was opened."), name


def test_that_other_things_that_cannot_be_pasted_or_dropped_are_said(worked, qtbot):
    assert "empty" in assert_said(worked, qtbot, lambda: paste(worked))
    assert_said(worked, qtbot, lambda: paste(worked, "  \n "))
    assert_said(worked, qtbot, lambda: paste(worked, pdf=b"%PDF"))
    for url in ("https://example.org/a.png", "ftp://x/y", "about:blank"):
        said = assert_said(worked, qtbot, lambda url=url: drop(worked, url=url))
        assert f"{url} is not a file of this computer" in said


def test_that_dropped_numbers_go_into_the_mask_and_of_several_files_one_is_opened(worked, qtbot, tmp_path):
    QGuiApplication.clipboard().setText("something else")
    drop(worked, text="1 2 1\n2 4 2\n1 2 1")
    assert worked.workspace.mask.weights.tolist() == [[1, 2, 1], [2, 4, 2], [1, 2, 1]]
    worked.actions["undo"].trigger()
    assert worked.workspace.settings.border is Border.WRAP
    drop(worked, tmp_path / "one.png", tmp_path / "two.png")
    qtbot.waitUntil(lambda: worked.workspace.picture.title == "one.png")
    said = worked.window.message_bar.text
    assert said.startswith("one.png was opened, of 2 that were dropped.")
    assert "Batch" in said
    worked.actions["undo"].trigger()
    assert worked.workspace.settings.border is Border.WRAP
    # A folder without pictures is reported by the batch.
    before = state_of(worked)
    drop(worked, tmp_path)
    dialog = worked.window.first_page.batch
    qtbot.waitUntil(dialog.isVisible)
    assert state_of(worked) == before
    dialog.close()


def test_that_a_recent_file_that_is_gone_is_said_and_leaves_the_list(worked, qtbot, tmp_path):
    recent, path = worked.window.recent, str(tmp_path / "gone.png")
    for kind in ("picture", "session", "mask"):
        recent._recent._files.insert(0, Recent(kind, path))
        said = assert_said(worked, qtbot, recent.open_last)
        assert said.startswith("gone.png is gone.")
        assert path not in [one.path for one in recent._recent.all()]


def test_that_any_note_is_kept_as_a_line_of_text(worked):
    page, (run,) = worked.window.first_page, worked.results.rows()
    for text in ("", "x" * 100_000, "\0\n\t"):
        page.results_panel.ask_for_note(run)
        dialog = page.results_panel.dialog
        dialog.setTextValue(text)
        dialog.accept()
        note = worked.results.note_of(run.result)
        assert len(note) <= 60
        assert "\n" not in note


def test_that_a_damaged_session_keeps_what_was_done_meanwhile(worked, qtbot, tmp_path):
    path = save_session(worked, tmp_path / "a.haloscope", qtbot)
    lines = path.read_text().splitlines()
    for at in range(1, len(lines)):
        table = json.loads(lines[at])
        for name in list(table):
            if name != "section":
                table[name] = float(np.pi)
        damaged = [*lines[:at], json.dumps(table), *lines[at + 1 :]]
        path.write_text("\n".join(damaged) + "\n")
        before = worked.workspace.state, worked.results.results()
        worked.messages.clear("session")
        count = worked.workspace.undo_stack.index()
        worked.window.first_page.files.open_session(path)
        qtbot.waitUntil(lambda count=count: worked.workspace.undo_stack.index() > count)
        worked.actions["undo"].trigger()
        assert (worked.workspace.state, worked.results.results()) == before, table["section"]


def test_that_a_file_that_cannot_be_read_is_no_session_and_default_preferences(tmp_path):
    for number, what in enumerate((*CONTENTS, *NO_FILES, "huge")):
        (tmp_path / str(number)).mkdir()
        path = made(what, tmp_path / str(number))
        with pytest.raises(SessionError) as caught:
            load_session(path)
        assert caught.value.why, what
        assert caught.value.remedy, what
        assert load_preferences(path)[0] == Preferences(), what
