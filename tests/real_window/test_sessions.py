"""A session is saved and opened again; the program is quit at any moment and started again."""

import pytest

from tests.real_window.conftest import Journey, kept

pytestmark = pytest.mark.slow


def test_that_a_session_saved_in_one_start_is_opened_in_another(start, program, tmp_path):
    other = start()
    other.press("ctrl+alt+3")
    other.wait_until(lambda: not other.title.startswith("astronaut"), "another picture")
    document = other.title
    other.click_on("first cell")
    other.type("7\n")
    saved = other.session(tmp_path / "one.json")
    assert saved["step"]["mask"]["weights"][0][0] == 7
    assert other.quit() == 0
    program.wait_for_turn()
    program.press("ctrl+shift+o")
    program.answer("Open", tmp_path / "one.json")
    program.wait_until(lambda: program.title == document, f"the title {document}")
    program.wait_for_rest()
    assert program.session(tmp_path / "two.json") == saved


def test_that_it_quits_while_everything_is_run(program):
    program.press("ctrl+shift+r")
    program.wait_until(lambda: not program.is_idle, "the run")
    assert program.quit() == 0


def test_that_it_quits_while_a_picture_opens(start):
    program = start()
    program.press("ctrl+alt+4", "ctrl+q")
    assert program.wait_for_end() == 0


def test_that_a_killed_program_loses_no_edit_that_was_kept(start, screen, tmp_path):
    home = tmp_path / "killed"
    killed = Journey(screen, home)
    killed.click_on("first cell")
    killed.type("7")
    killed.press("Return")
    killed.wait_until(lambda: b"[[7" in kept(home), "the edit in a file")
    killed.crash()
    killed.kill()
    (home / "said.txt").unlink()
    program = start(home=home)
    program.click_on("Restore")
    program.wait_for_rest()
    assert program.weights(tmp_path / "restored.haloscope")[0][0] == 7
    assert program.quit() == 0, "all is in a session, so nothing is asked"
    assert kept(home) == b""
