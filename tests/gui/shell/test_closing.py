"""Closing the window while a file is being saved."""

from unittest.mock import MagicMock

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton

from engine.course.messages import CourseRequest
from engine.errors import FileWriteError
from engine.host.protocol import SaveResult
from gui.shell.app import Haloscope

FULL = FileWriteError("x.png cannot be written", "the disk is full", "Free some space.")


@pytest.fixture
def saving(open_window, tmp_path):
    """A window whose engine is at saving x.png."""
    haloscope: Haloscope = open_window()
    haloscope.link._client.automatic = False
    haloscope.pictures.save_result(tmp_path / "x.png")
    return haloscope


def press(qtbot, dialog, text):
    (button,) = (found for found in dialog.findChildren(QPushButton) if found.text().replace("&", "") == text)
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def test_that_closing_during_a_save_waits_until_it_is_written(qtbot, saving, tmp_path):
    window = saving.window
    # Its layout is kept once, and only when it closes.
    with qtbot.assertNotEmitted(window.closing):
        for close in (window.close, saving.actions["quit"].trigger):
            for key in (None, Qt.Key.Key_Escape, Qt.Key.Key_Return):
                close()
                assert window.isVisible()
                dialog = saving.closing.question
                assert dialog.isVisible()
                assert dialog.text() == "Saving x.png…"
                if key is None:
                    press(qtbot, dialog, "Cancel")
                else:
                    qtbot.keyClick(dialog, key)
                assert window.isVisible()
                assert saving.closing.question is None
                assert saving.link.files_being_saved == ("x.png",)
            # Enter waits; a person who would rather go on says so.
            saving.messages.newest.act()
        assert not saving.link._client.cancelled
        window.close()
        press(qtbot, saving.closing.question, "Wait")
        assert window.isVisible()
    with qtbot.waitSignal(window.closing):
        saving.link._client.answer()
    qtbot.waitUntil(lambda: not window.isVisible())
    assert (tmp_path / "x.png").exists()


def test_that_after_cancel_or_an_error_of_the_save_the_window_stays_open(qtbot, saving, tmp_path):
    saving.window.close()
    press(qtbot, saving.closing.question, "Cancel")
    saving.link._client.answer()
    qtbot.waitUntil(lambda: not saving.link.files_being_saved)
    assert (tmp_path / "x.png").exists()
    assert saving.window.isVisible()
    saving.pictures.save_result(tmp_path / "x.png")
    saving.window.close()
    press(qtbot, saving.closing.question, "Wait")
    saving.link._client.fail(FULL)
    qtbot.waitUntil(lambda: not saving.link.files_being_saved)
    assert saving.window.isVisible()
    assert "The disk is full" in saving.window.message_bar.text
    assert saving.window.close()


@pytest.mark.parametrize("how", ["window", "ctrl-c"])
def test_that_a_window_closes_at_once_when_nothing_is_being_saved(haloscope, qtbot, capsys, how):
    if how == "window":
        assert haloscope.window.close()
    else:
        haloscope.closing.interrupted.emit()
        qtbot.waitUntil(lambda: not haloscope.window.isVisible())
    assert haloscope.closing.question is None
    assert capsys.readouterr().err == ""


def test_that_all_files_are_waited_for(qtbot, saving, tmp_path):
    saving.courses.save("lab", tmp_path)
    saving.link._client.answer_all(CourseRequest)
    saving.window.close()
    assert saving.closing.question.text() == "Saving x.png and 1 more…"
    saving.link._client.answer()
    qtbot.waitUntil(lambda: saving.closing.question.text() == "Saving lab-tables…")
    saving.link._client.answer()
    qtbot.waitUntil(lambda: not saving.window.isVisible())


def test_that_discard_closes_at_once(qtbot, saving, tmp_path):
    saving.window.close()
    press(qtbot, saving.closing.question, "Discard")
    assert not saving.window.isVisible()
    assert not (tmp_path / "x.png").exists()


def test_that_ctrl_c_waits_for_the_save_unless_it_comes_twice(qtbot, saving, capsys):
    saving.closing.interrupted.emit()
    qtbot.waitUntil(lambda: saving.messages.newest is not None)
    assert saving.window.isVisible()
    assert capsys.readouterr().err == (
        "Saving x.png: the window closes when that is done. Ctrl+C again discards it.\n"
    )
    saving.closing.interrupted.emit()
    qtbot.waitUntil(lambda: not saving.window.isVisible())
    assert len(saving.link._client.waiting(SaveResult)) == 1


def test_that_the_end_of_the_session_is_held_up_while_a_file_is_being_saved(qtbot, saving):
    # Stands in for QSessionManager, which only the platform can make.
    session, later = MagicMock(), MagicMock()
    saving.closing.end_session(session)
    session.cancel.assert_called_once()
    saving.link._client.answer()
    qtbot.waitUntil(lambda: not saving.window.isVisible())
    saving.closing.end_session(later)
    later.cancel.assert_not_called()
