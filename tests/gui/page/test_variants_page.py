"""Pages with a row for each variant: their runs are cleared with a way back, and are in sessions."""

import json

import pytest
from PySide6.QtWidgets import QWidget

from gui.explore.session_file import load_session
from tests.gui.made_network import made_run
from tests.gui.made_window import save_session
from tests.made_runs import made_product, made_rows, make_result


def add_products(haloscope):
    matmul = haloscope.matmul
    for row in made_rows(matmul.settings.product, matmul.settings.tiles)[:2]:
        matmul.add(made_product(row))


def add_stages(haloscope):
    for stage in ("network-serial", "network-cpu"):
        haloscope.network.add(made_run(stage))


PAGES = {"matrices": ("matmul", add_products), "network": ("network", add_stages)}


@pytest.fixture(params=PAGES)
def key(request):
    return request.param


def show(haloscope, key, qtbot):
    """Show a page; return its state once it is listed."""
    haloscope.window.show_page(key)
    state = getattr(haloscope, PAGES[key][0])
    qtbot.waitUntil(lambda: bool(state.results()))
    return state


@pytest.fixture
def ran(haloscope, key, qtbot):
    """The window with two runs on the page, and the state of the page."""
    state = show(haloscope, key, qtbot)
    PAGES[key][1](haloscope)
    return haloscope, state


def runs_of(state):
    """Return all runs of a page, by what tells them apart."""
    return {(run.problem, run.result.variant, run.result.block): run.whole for run in state.task_runs}


# Both pages do it by the same code.
on_one_page = pytest.mark.parametrize("key", ["matrices"])


@on_one_page
def test_that_clear_is_undone_by_the_menu(ran):
    haloscope, state = ran
    before = runs_of(state), state.results()
    haloscope.actions["clear_results"].trigger()
    assert not state.kept
    assert state.last is None
    assert not haloscope.actions["clear_results"].isEnabled()
    haloscope.actions["undo"].trigger()
    assert (runs_of(state), state.results()) == before
    haloscope.actions["redo"].trigger()
    assert not state.kept
    # A run after Clear is not replaced by the one that comes back.
    PAGES[haloscope.window.page.objectName()][1](haloscope)
    again = [id(run) for run in state.kept]
    haloscope.actions["undo"].trigger()
    assert [id(run) for run in state.kept] == again
    haloscope.actions["redo"].trigger()
    assert [id(run) for run in state.kept] == again, "Clear forgot the earlier ones"


@on_one_page
def test_that_clear_leaves_the_runs_of_other_settings(ran):
    haloscope, state = ran
    runs = runs_of(state)
    state.change(device="simulator")
    assert not state.runs
    haloscope.window.page.clear_results()
    assert not state.undo_stack.count()
    state.change(device="auto")
    assert list(state.runs.values()) == list(runs.values())


def test_that_runs_are_in_a_session_and_closing_asks_about_them(ran, qtbot, tmp_path, key):
    haloscope, state = ran
    assert haloscope.window.unsaved == "2 results"
    save_session(haloscope, tmp_path / "work.haloscope", qtbot)
    runs = runs_of(state)
    haloscope.actions["clear_results"].trigger()
    assert haloscope.window.unsaved == "1 edit"
    haloscope.reset(qtbot)
    show(haloscope, key, qtbot)
    haloscope.window.first_page.files.open_session(tmp_path / "work.haloscope")
    qtbot.waitUntil(lambda: bool(state.kept))
    assert runs_of(state) == runs
    assert list(state.runs.values()) == list(runs.values())
    qtbot.waitUntil(lambda: not haloscope.window.unsaved)
    haloscope.actions["undo"].trigger()
    assert not state.kept
    assert haloscope.window.unsaved == "1 edit"


def test_that_pages_first_shown_after_their_session_are_saved(haloscope, qtbot, tmp_path, open_window):
    runs, paths = {}, [tmp_path / name for name in ("work.haloscope", "again.haloscope")]
    for key, (name, add) in PAGES.items():
        show(haloscope, key, qtbot)
        add(haloscope)
        runs[key] = runs_of(getattr(haloscope, name))
    haloscope.network.drawing.clear()
    haloscope.network.drawing.dot((14.0, 9.0))
    haloscope.network.change(stage="network-cpu", batch=3)
    save_session(haloscope, paths[0], qtbot)
    other = open_window()
    other.window.first_page.files.open_session(paths[0])
    qtbot.waitUntil(lambda: set(PAGES) <= set(other.window.session_parts()))
    # It is kept also where the pages are never shown.
    save_session(other, paths[1], qtbot)
    assert load_session(paths[0]).pages == load_session(paths[1]).pages
    assert other.window.findChild(QWidget, "network") is None
    assert {key: runs_of(show(other, key, qtbot)) for key in PAGES} == runs
    assert not other.window.unsaved
    assert other.network.settings == haloscope.network.settings
    assert (other.network.drawing.ink == haloscope.network.drawing.ink).all()


@on_one_page
def test_that_a_run_that_ends_while_the_session_is_written_is_not_saved(ran, qtbot, tmp_path):
    haloscope, state = ran
    written = haloscope.window.saving()
    PAGES[haloscope.window.page.objectName()][1](haloscope)
    written()
    assert haloscope.window.unsaved == "2 results"
    assert state.undo_stack.isClean()


def test_that_of_a_session_with_damaged_runs_the_others_open(ran, qtbot, tmp_path, key):
    haloscope, state = ran
    path = save_session(haloscope, tmp_path / "work.haloscope", qtbot)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    (part,) = [line["part"] for line in lines if line.get("key") == key]
    before = runs_of(state)
    first = part["runs"][0]
    part["runs"][1:1] = {}, first | {"device": 7}, first | {"result": make_result("tiled", 2.0).as_json()}
    part["brightness"] = 3
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    haloscope.window.first_page.files.open_session(path)
    qtbot.waitUntil(lambda: "was opened as far as possible" in haloscope.window.message_bar.text)
    said = haloscope.window.message_bar.text
    assert all(f"result {number} was left out" in said for number in (2, 3, 4))
    assert '"brightness" is not known to this version' in said
    assert runs_of(state) == before
    # Of a session without runs nothing is missing.
    for name in ("runs", "brightness"):
        del part[name]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert load_session(path).left_out == ()
    haloscope.messages.clear(haloscope.messages.newest.source)
    haloscope.window.first_page.files.open_session(path)
    qtbot.waitUntil(lambda: not state.kept)
    assert haloscope.window.message_bar.text == ""
    haloscope.actions["undo"].trigger()
    assert len(state.kept) == 2


def test_that_each_run_that_replaces_another_is_the_one_that_is_saved(haloscope, qtbot):
    matmul = show(haloscope, "matrices", qtbot)
    row = made_rows(matmul.settings.product, (8,), cuda=True)[0]
    for number in range(1, 60):
        # The one before is freed, and this one may lie in its place.
        matmul.add(made_product(row, float(number)))
        (table,) = haloscope.window.page.session_part["runs"]
        assert table["result"]["timing"]["kernel"]["median_ms"] == number


def test_that_runs_are_kept_against_a_crash_and_come_back(restart, qtbot, tmp_path, key):
    haloscope = restart()
    state = show(haloscope, key, qtbot)
    PAGES[key][1](haloscope)
    runs = runs_of(state)

    def kept():
        return [load_session(path).pages for path in (tmp_path / "kept").glob("*.haloscope")]

    qtbot.waitUntil(lambda: bool(kept()) and len(kept()[0][key]["runs"]) == 2)
    haloscope.crash()
    show(restart(), key, qtbot)
    haloscope.recovery.restore()
    qtbot.waitUntil(lambda: bool(state.kept))
    assert runs_of(state) == runs
    assert "2 results" in haloscope.window.unsaved
