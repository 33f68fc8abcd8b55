"""Closing asks about files that are being saved and work; work is kept against a crash and offered again."""

import os
import shutil
import time
from unittest.mock import MagicMock

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton

from engine.course.papers import CourseRequest
from engine.errors import FileWriteError
from engine.geometry.border import Border
from engine.host.protocol import SaveResult
from gui.explore.mask.grid import MaskGrid
from gui.page.files import MOST_OF_A_KIND, RecentFiles
from gui.shell import closing
from gui.shell.closing import MOST_FILES, OLDEST_S
from tests.made_runs import make_result

FULL = FileWriteError("x.png cannot be written", "the disk is full", "Free some space.")


def press(dialog, text):
    (button,) = (one for one in dialog.findChildren(QPushButton) if one.text().replace("&", "") == text)
    button.click()


def save_at_question(haloscope, qtbot, path):
    press(haloscope.closing.question, "Save session…")
    qtbot.waitUntil(lambda: haloscope.files.dialog is not None and haloscope.files.dialog.isVisible())
    assert haloscope.window.isVisible()
    haloscope.files.dialog.fileSelected.emit(str(path))
    haloscope.files.dialog.close()


@pytest.fixture
def saving(haloscope, qtbot, tmp_path):
    """A window whose engine is at saving x.png."""
    haloscope.start_again(qtbot, None)
    haloscope.link._client.automatic = False
    haloscope.pictures.save_result(tmp_path / "x.png")
    return haloscope


def test_that_closing_during_a_save_waits_until_it_is_written(qtbot, saving, tmp_path):
    window = saving.window
    # Its layout is kept once, and only when it closes.
    with qtbot.assertNotEmitted(window.closing):
        for close in (window.close, saving.actions["quit"].trigger):
            for key in (None, Qt.Key.Key_Escape, Qt.Key.Key_Return):
                close()
                assert window.isVisible()
                dialog = saving.closing.question
                assert "x.png" in dialog.text()
                if key is None:
                    press(dialog, "Cancel")
                else:
                    qtbot.keyClick(dialog, key)
                assert saving.closing.question is None
                assert saving.link.files_being_saved == ("x.png",)
            # Enter waits; a person who would rather go on says so.
            saving.messages.newest.act()
        window.close()
        press(saving.closing.question, "Wait")
        assert window.isVisible()
    with qtbot.waitSignal(window.closing):
        saving.link._client.answer()
    qtbot.waitUntil(lambda: not window.isVisible())
    assert (tmp_path / "x.png").exists()


def test_that_after_cancel_or_an_error_of_the_save_the_window_stays_open(qtbot, saving, tmp_path):
    saving.window.close()
    press(saving.closing.question, "Cancel")
    saving.link._client.answer()
    qtbot.waitUntil(lambda: not saving.link.files_being_saved)
    assert (tmp_path / "x.png").exists()
    assert saving.window.isVisible()
    for name, choice in (("y.png", "Wait"), ("z.png", "Discard")):
        assert saving.window.isVisible()
        saving.pictures.save_result(tmp_path / name)
        saving.window.close()
        press(saving.closing.question, choice)
        if choice == "Wait":
            saving.link._client.fail(FULL)
            qtbot.waitUntil(lambda: not saving.link.files_being_saved)
            assert "The disk is full" in saving.window.message_bar.text
    assert not saving.window.isVisible()
    assert not (tmp_path / "z.png").exists()


def test_that_all_files_are_waited_for(qtbot, saving, tmp_path):
    saving.courses.save("lab", tmp_path)
    saving.link._client.answer_all(CourseRequest)
    saving.window.close()
    assert saving.closing.question.text() == "Saving x.png and 1 more…"
    saving.link._client.answer()
    qtbot.waitUntil(lambda: saving.closing.question.text() == "Saving lab-tables…")
    saving.link._client.answer()
    qtbot.waitUntil(lambda: not saving.window.isVisible())


def test_that_ctrl_c_and_the_end_of_the_session_wait_for_a_save_once(qtbot, saving, capsys):
    # Replaces QSessionManager, which only the platform can make.
    session, later = MagicMock(), MagicMock()
    saving.closing.end_session(session)
    session.cancel.assert_called_once()
    saving.closing.interrupted.emit()
    qtbot.waitUntil(lambda: saving.messages.newest is not None)
    assert saving.window.isVisible()
    assert capsys.readouterr().err.startswith("Saving x.png: ")
    saving.closing.interrupted.emit()
    qtbot.waitUntil(lambda: not saving.window.isVisible())
    assert len(saving.link._client.waiting(SaveResult)) == 1
    saving.link._client.answer()
    qtbot.waitUntil(lambda: not saving.link.files_being_saved)
    saving.closing.end_session(later)
    later.cancel.assert_not_called()


def kept(folder):
    return sorted((folder / "kept").glob("*.haloscope"))


def test_that_work_of_a_crash_is_offered_and_restored(restart, tmp_path, qtbot):
    first = restart()
    first.workspace.change(border=Border.WRAP)
    first.results.add(make_result("tiled", 2.0))
    qtbot.waitUntil(lambda: bool(kept(tmp_path)) and b'"result"' in kept(tmp_path)[0].read_bytes())
    (left,) = kept(tmp_path)
    assert left.stat().st_mode & 0o077 == 0
    first.crash()
    second = restart()
    assert second.messages.newest.what == "Haloscope was not closed properly"
    second.recovery.restore()
    qtbot.waitUntil(lambda: second.workspace.undo_stack.count() == 1)
    assert second.workspace.settings.border is Border.WRAP
    assert second.results.rowCount() == 1
    assert second.window.unsaved
    qtbot.waitUntil(lambda: kept(tmp_path) and left not in kept(tmp_path))


def test_that_work_of_a_window_that_lives_is_left_and_of_a_crash_discarded(restart, tmp_path):
    other = tmp_path / "kept" / "other.haloscope"
    other.parent.mkdir()
    other.touch()
    its_lock = closing._lock_of(other)
    assert its_lock.tryLock(0)
    assert restart().messages.of("recovery") is None
    its_lock.unlock()
    restart().recovery.discard()
    assert kept(tmp_path) == []


def test_that_nothing_is_kept_of_a_picture_that_was_opened_nor_of_saved_work(restart, tmp_path, qtbot):
    haloscope = restart()
    haloscope.pictures.open_sample("camera")
    qtbot.waitUntil(lambda: haloscope.workspace.undo_stack.count() == 1)
    assert not haloscope.window.unsaved
    haloscope.workspace.change(border=Border.WRAP)
    qtbot.waitUntil(lambda: bool(kept(tmp_path)))
    haloscope.window.first_page.files.save_session(tmp_path / "work.haloscope")
    qtbot.waitUntil(lambda: not haloscope.window.unsaved)
    haloscope.window.edited.emit()
    qtbot.waitUntil(lambda: not kept(tmp_path))
    haloscope.window.close()
    assert not haloscope.window.isVisible(), "nothing is asked"


def test_that_old_work_is_removed_and_a_folder_that_cannot_be_written_is_said(restart, tmp_path, qtbot):
    (tmp_path / "kept").mkdir()
    for number in range(MOST_FILES + 2):
        path = tmp_path / "kept" / f"{number}.haloscope"
        path.write_text("")
        os.utime(path, (time.time() - number,) * 2)
    os.utime(tmp_path / "kept" / "1.haloscope", (time.time() - OLDEST_S - 9,) * 2)
    haloscope = restart()
    assert len(kept(tmp_path)) <= MOST_FILES
    haloscope.messages.clear("recovery")
    shutil.rmtree(tmp_path / "kept")
    (tmp_path / "kept").write_text("a file, no folder")
    haloscope.workspace.change(border=Border.WRAP)
    qtbot.waitUntil(lambda: haloscope.messages.newest is not None)
    assert haloscope.messages.newest.what == "Your work is not kept against a crash"


def test_that_closing_asks_about_work_and_a_run_only(restart, capsys):
    for work in ("edit", "run", ""):
        haloscope = restart()
        if work == "edit":
            haloscope.workspace.change(flip=True)
            haloscope.results.add(make_result("tiled", 2.0))
        elif work == "run":
            haloscope.link._client.automatic = False
            haloscope.actions["run"].trigger()
        if work:
            haloscope.actions["quit"].trigger()
            press(haloscope.closing.question, "Cancel")
            assert haloscope.window.isVisible()
            assert haloscope.closing.question is None
        haloscope.window.close()
        if work:
            press(haloscope.closing.question, "Discard")
        assert not haloscope.window.isVisible()
    assert capsys.readouterr().err == ""


def test_that_a_weight_that_is_being_typed_is_asked_about_and_saved_at_the_question(restart, tmp_path, qtbot):
    haloscope = restart()
    grid = haloscope.window.findChild(MaskGrid)
    grid.setFocus()
    qtbot.keyClicks(grid, "7")
    haloscope.window.close()
    assert haloscope.workspace.mask.weights[1, 1] == 7
    save_at_question(haloscope, qtbot, tmp_path / "work.haloscope")
    qtbot.waitUntil(lambda: not haloscope.window.isVisible())
    assert (tmp_path / "work.haloscope").exists()
    assert kept(tmp_path) == []


def test_that_an_answer_about_a_file_is_none_about_edits(restart, tmp_path, qtbot):
    haloscope = restart()
    asked = haloscope.closing
    haloscope.workspace.change(flip=True)
    haloscope.link.begin_writing("/somewhere/out")
    for _ in range(2):
        # Nor is an answer of an earlier time one now.
        haloscope.actions["quit"].trigger()
        press(asked.question, "Discard")
        assert haloscope.window.isVisible()
        press(asked.question, "Cancel")
        qtbot.waitUntil(lambda: len(kept(tmp_path)) == 1)
    # Nor is it asked less after the file was waited for.
    haloscope.window.close()
    press(asked.question, "Wait")
    haloscope.link.end_writing("/somewhere/out", is_done=True)
    assert haloscope.window.isVisible()
    press(asked.question, "Cancel")
    haloscope.link.begin_writing("/somewhere/out")
    haloscope.window.close()
    press(asked.question, "Discard")
    press(asked.question, "Discard")
    assert not haloscope.window.isVisible()
    assert kept(tmp_path) == []


def test_that_edits_made_while_a_session_was_saved_are_asked_about(restart, tmp_path, qtbot):
    haloscope = restart()
    haloscope.workspace.change(flip=True)
    haloscope.window.close()
    save_at_question(haloscope, qtbot, tmp_path / "work.haloscope")
    haloscope.workspace.change(border=Border.WRAP)
    qtbot.waitUntil(lambda: haloscope.closing.question is not None)
    assert haloscope.window.isVisible()
    press(haloscope.closing.question, "Discard")
    assert not haloscope.window.isVisible()


@pytest.mark.parametrize("end", ["ctrl-c", "ctrl-c while a file is saved", "session"])
def test_that_whatever_ends_the_window_leaves_edits(restart, tmp_path, qtbot, end):
    haloscope = restart()
    haloscope.recovery._timer.setInterval(1 << 30)
    haloscope.workspace.change(flip=True)
    if end == "session":
        # Replaces QSessionManager, which only the platform can make.
        haloscope.closing.end_session(MagicMock())
        assert len(kept(tmp_path)) == 1, "before the screen goes"
        haloscope.window.close()
    else:
        if "file" in end:
            haloscope.link.begin_writing("/somewhere/out")
        haloscope.closing.interrupted.emit()
        haloscope.closing.interrupted.emit()
    qtbot.waitUntil(lambda: not haloscope.window.isVisible())
    assert len(kept(tmp_path)) == 1


def test_that_the_oldest_file_of_a_kind_leaves_the_list():
    recent = RecentFiles()
    for number in range(MOST_OF_A_KIND + 1):
        recent.note("picture", f"/{number}")
    recent.note("picture", "/4")
    assert recent.of("picture") == ("/4", "/8", "/7", "/6", "/5", "/3", "/2", "/1")
