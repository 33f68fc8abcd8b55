"""A session is saved and opened again; the program is quit at any moment and started again."""

import pytest

pytestmark = pytest.mark.slow


def test_that_a_session_saved_in_one_start_is_opened_in_the_next(start, tmp_path):
    program = start()
    program.press("ctrl+alt+3")
    program.wait_until(lambda: not program.title.startswith("astronaut"), "another picture")
    document = program.title
    program.click_on("first cell")
    program.type("7\n")
    saved = program.session(tmp_path / "one.json")
    assert saved["mask"]["weights"][0][0] == 7
    assert program.quit() == 0
    again = start()
    again.press("ctrl+shift+o")
    again.answer("Open", tmp_path / "one.json")
    again.wait_until(lambda: again.title == document, f"the title {document}")
    again.wait_for_rest()
    assert again.session(tmp_path / "two.json") == saved


def test_that_it_quits_while_everything_is_run(start):
    program = start()
    program.press("ctrl+shift+r")
    program.wait_until(lambda: not program.is_idle, "the run")
    assert program.quit() == 0


def test_that_it_quits_while_a_picture_opens(start):
    program = start()
    program.press("ctrl+alt+4", "ctrl+q")
    assert program.wait_for_end() == 0
