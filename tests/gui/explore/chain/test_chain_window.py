"""The chain in the whole window: its list, its actions, what is shown and run, and its messages."""

import numpy as np
import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QToolTip

import engine
from engine.course.paper import CourseKernel
from engine.geometry.border import Border
from engine.host.request import Check, Preview, Run
from engine.mask.mask import Mask
from engine.mask.presets import resolve_mask
from engine.work.chain_files import chain_from, save_chain
from engine.work.steps import Chain
from gui.explore.chain.chain_list import NOTE_ROLE, StepRow
from gui.explore.state import COMBINE
from tests.gui.made_window import settle


@pytest.fixture
def page(haloscope, qtbot):
    """The page Explore with its picture, and the ready chains listed."""
    page = haloscope.window.page_of("explore")
    qtbot.waitUntil(lambda: "chain:unsharp" in haloscope.actions.entries)
    return page


@pytest.fixture
def act(haloscope, qtbot):
    """Return a function that triggers actions by their names, and lets all that follows happen."""

    def trigger(*names):
        for name in names:
            haloscope.actions[name].trigger()
            settle()
            qtbot.waitUntil(lambda: haloscope.window.is_complete)

    return trigger


def ids_of(page):
    return [step.id for step in page.workspace.state.steps]


def previews(haloscope):
    return [one.job for one in haloscope.link._client.seen if isinstance(one, Preview)]


def test_that_a_ready_chain_is_one_step_of_undo_and_shown_by_step_or_whole(page, act, haloscope):
    before = page.workspace.state
    act("chain:sobel-magnitude")
    rows = page.chain_list.list.model()
    notes = [f"{rows.index(at, 0).data()} {rows.index(at, 0).data(NOTE_ROLE)}" for at in range(3)]
    assert notes == [
        "Sobel x 3 × 3 from picture · auto · replicate",
        "Sobel y 3 × 3 from picture · auto · replicate",
        "Magnitude from step 1 and step 2",
    ]
    assert page.chain_list.isVisible()
    act("undo")
    assert page.workspace.state == before
    assert not page.chain_list.isVisible()
    act("chain:sobel-magnitude")
    assert previews(haloscope)[-1].step is None
    page.chain_list.list.setCurrentIndex(page.chain_list.list.model().index(0, 0))
    settle()
    # It reads the picture itself: the job is that of the page with this step alone.
    job = previews(haloscope)[-1]
    assert job.filter is not None
    assert job.mask.name == page.workspace.mask.name == "Sobel x"
    act("chain_whole")
    assert previews(haloscope)[-1].shown == ""


def test_that_the_picture_itself_is_the_result_of_steps_that_are_all_off(haloscope, page, act):
    act("chain:unsharp")
    shown = page.chain_list.list
    eye = StepRow.eye_rect(shown.visualRect(shown.model().index(1, 0))).center()
    QTest.mouseClick(shown.viewport(), Qt.MouseButton.LeftButton, pos=eye)
    settle()
    job = previews(haloscope)[-1]
    assert job == page.workspace.job() == haloscope.display.job
    assert not haloscope.state.result_is_earlier
    picture = np.arange(12, dtype=np.uint8).reshape(3, 4)
    result = engine.convolve(picture, job.mask, border=job.filter.border)
    assert np.array_equal(result, picture)


def drag(shown, first, last):
    """Take a row with the left button, and move it over another one; the button stays down."""
    view, left, none = shown.viewport(), Qt.MouseButton.LeftButton, Qt.MouseButton.NoButton
    begin, end = (shown.visualRect(shown.model().index(row, 0)).center() for row in (first, last))
    QTest.mousePress(view, left, pos=begin)
    for at in (begin + (end - begin) / 2, end):
        where = QPointF(at), QPointF(view.mapToGlobal(at))
        moved = QMouseEvent(QEvent.Type.MouseMove, *where, none, left, Qt.KeyboardModifier.NoModifier)
        QCoreApplication.sendEvent(view, moved)
    return end


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)  # the offscreen platform
def test_that_a_row_is_dragged_as_one_step_of_undo_unless_escape_or_a_reader_keeps_it(page, act, qtbot):
    act("chain:denoise-edges")
    shown, left, before = page.chain_list.list, Qt.MouseButton.LeftButton, page.workspace.undo_stack.count()
    QTest.mouseRelease(shown.viewport(), left, pos=drag(shown, 2, 1))
    assert ids_of(page) == ["calm", "y", "x", "edges"]
    assert page.workspace.state.step.id == "y"
    assert page.workspace.undo_stack.count() == before + 1
    act("undo")
    first = ["calm", "x", "y", "edges"]
    assert ids_of(page) == first
    end = drag(shown, 2, 1)
    QTest.keyClick(shown, Qt.Key.Key_Escape)
    QTest.mouseRelease(shown.viewport(), left, pos=end)
    assert ids_of(page) == first
    end = drag(shown, 0, 2)
    qtbot.waitUntil(QToolTip.isVisible)
    assert QToolTip.text() == "Step 2 reads step 1, so it stays after it."
    QTest.mouseRelease(shown.viewport(), left, pos=end)
    assert ids_of(page) == first
    QToolTip.hideText()


def test_that_run_and_run_all_measure_the_chain_once_unless_steps_form_none(haloscope, page, act):
    page.workspace.choose("histogram")
    act("add_step:mask")
    assert "needs a picture" in haloscope.messages.newest.why
    act("undo")
    assert page.workspace.refusal is None
    act("chain:sobel-magnitude")
    page.workspace.select_step(0)
    page.run()
    settle()
    page.run_all()
    settle()
    runs = [one.job for one in haloscope.link._client.seen if isinstance(one, Run)]
    assert [job.kind for job in runs] == [Chain, Chain]
    assert {job.shown for job in runs} == {""}
    [first, _] = page.results.results()
    assert first.problem.chain == "Sobel magnitude"
    assert "runs once" in haloscope.messages.newest.what
    assert "Sobel magnitude · 3 steps" in page.answer_line.problem.text()


def run_save_and_open(page, qtbot, folder):
    page.run()
    qtbot.waitUntil(lambda: page.results.rowCount() == 1)
    page.files.save_session(folder / "work.haloscope")
    page.results.take_out(page.results.kept)
    page.files.open_session(folder / "work.haloscope")
    qtbot.waitUntil(lambda: len(page.results.results()) == 1)


def test_that_runs_of_a_session_are_of_the_chain_while_it_computes_the_same(page, act, qtbot, tmp_path):
    act("chain:unsharp")
    run_save_and_open(page, qtbot, tmp_path)
    (run,) = page.results.results()
    assert not page.results.is_earlier(run)
    tooltip = page.results.index(0, 0).data(Qt.ItemDataRole.ToolTipRole)
    assert "Steps: blur (" in tooltip, "the times of the steps come back too"
    page.workspace.select_step(0)
    page.workspace.change(variant="cpu-serial")
    assert not page.results.is_earlier(run), "a kernel is no other problem"
    mask = page.workspace.mask
    other = mask.weights.copy()
    other[0, 0] += 0.25
    page.workspace.set_mask(Mask(other, mask.anchor, mask.offset, mask.name))
    assert page.results.is_earlier(run), "other weights of the same name are"
    page.workspace.undo_stack.undo()
    assert not page.results.is_earlier(run)
    # The median of this one has "size": 3, which a session does not bring back: it is the default.
    page.results.take_out(page.results.kept)
    act("chain:denoise-edges")
    run_save_and_open(page, qtbot, tmp_path)
    assert not page.results.is_earlier(*page.results.results())
    assert "1 run" in page.answer_line.problem.text()


def test_that_kernels_and_edits_are_of_the_selected_step_and_its_eye_switches_it(haloscope, page, act):
    act("chain:denoise-edges")
    page.workspace.select_step(0)
    settle()
    checked = [one.job for one in haloscope.link._client.seen if isinstance(one, Check)]
    assert checked[-1].operation.operation == "median"
    page.workspace.select_step(1)
    page.workspace.change(border=Border.WRAP)
    assert [str(step.settings.border) for step in page.workspace.state.steps[1:3]] == ["wrap", "replicate"]
    act("chain:denoise-edges")
    shown, left = page.chain_list.list, Qt.MouseButton.LeftButton
    row = shown.visualRect(shown.model().index(0, 0))
    # Of a row that was clicked, too.
    QTest.mouseClick(shown.viewport(), left, pos=row.center())
    for is_on in (False, True, False):
        QTest.mouseClick(shown.viewport(), left, pos=StepRow.eye_rect(row).center())
        assert [step.on for step in page.workspace.state.steps] == [is_on, True, True, True]
    shown.setFocus()
    page.workspace.select_step(2)
    QTest.keyClick(shown, Qt.Key.Key_Up, Qt.KeyboardModifier.AltModifier)
    assert ids_of(page) == ["calm", "y", "x", "edges"]
    QTest.keyClick(shown, Qt.Key.Key_Delete)
    assert ids_of(page) == ["calm", "x", "edges"]


def test_that_a_chain_is_dropped_and_a_damaged_one_refused_in_words(haloscope, page, qtbot, tmp_path):
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    save_chain(chain_from({"title": "Mine", "steps": [{"mask": "sobel-x"}, {"mask": "box-3"}]}), good)
    bad.write_text(good.read_text(encoding="utf-8").replace("sobel-x", "sobel-q"), encoding="utf-8")
    page.files.open_dropped([str(good)])
    qtbot.waitUntil(lambda: page.workspace.state.title == "Mine")
    state = page.workspace.state
    page.files.open_dropped([str(bad)])
    qtbot.waitUntil(
        lambda: haloscope.messages.newest is not None and "bad.json" in haloscope.messages.newest.what
    )
    assert "step 1" in haloscope.messages.newest.why
    assert page.workspace.state == state


def test_that_a_combining_step_has_its_panel_and_a_merger_is_one_step(page, act, qtbot):
    act("add_step:mask")
    page.workspace.set_mask(Mask([[2.0]]))
    qtbot.waitUntil(lambda: page.chain.offer is not None)
    assert page.chain_list.merge_button.isVisible()
    assert "instead of" in page.chain_list.offer.text()
    steps = page.workspace.state.steps
    page.chain_list.merge_button.click()
    assert len(page.workspace.state.steps) < len(steps)
    act("undo")
    assert page.workspace.state.steps == steps
    act("add_step:combine")
    panel = page.operation_choice.stack.currentWidget()
    assert panel.accessibleName() == "Combine panel"
    assert page.workspace.operation == COMBINE
    panel.how.setCurrentIndex(panel.how.findData("blend"))
    panel.how.activated.emit(panel.how.currentIndex())
    count = page.workspace.undo_stack.count()
    for at in (10, 20, -80):
        panel.slider.setValue(at)
    assert page.workspace.settings.parameters == {"how": "blend", "weight": -0.8}
    assert page.workspace.undo_stack.count() == count + 1
    assert page.chain_list.second.isVisible()
    assert not page.kernel_panel.baseline.isEnabled()
    page.workspace.select_step(0)
    assert page.kernel_panel.baseline.isEnabled()


@pytest.mark.parametrize("answer", ["Chain", "Step 1"])
def test_that_saving_asks_for_the_chain_or_its_step(
    haloscope, page, act, qtbot, tmp_path, answer, monkeypatch
):
    saved = []
    monkeypatch.setattr(page.pictures, "save_result", lambda *_, **__: saved.append(page.workspace.job()))
    act("chain:sobel-magnitude")
    whole = page.workspace.job()
    page.workspace.select_step(0)
    step = page.workspace.job()
    qtbot.waitUntil(lambda: not page.display.is_earlier)
    assert "step 1" in page.picture_view.canvas.scene.result_name
    act("save")
    (button,) = [one for one in page.files.question.buttons() if one.text().replace("&", "") == answer]
    assert page.files.question.defaultButton().text().replace("&", "") == "Chain"
    button.click()
    qtbot.waitUntil(lambda: haloscope.files.dialog is not None and haloscope.files.dialog.isVisible())
    name = haloscope.files.dialog.selectedFiles()[0]
    assert ("step-1" in name) is (answer != "Chain")
    haloscope.files.dialog.fileSelected.emit(str(tmp_path / "out.png"))
    haloscope.files.dialog.reject()
    assert saved == [whole if answer == "Chain" else step]


def test_that_what_another_page_loads_replaces_a_chain(haloscope, page, act):
    act("chain:sobel-magnitude")
    chain = page.workspace.state
    for selected in (0, 2):
        page.workspace.select_step(selected)
        here = CourseKernel("a kernel", "", "cpu-serial", mask="box-3", border="mirror")
        assert haloscope.window.offer(here)
        job = page.workspace.job()
        assert (job.mask, job.filter.border) == (resolve_mask("box-3"), Border.MIRROR)
        assert not page.workspace.is_chain
        assert haloscope.messages.of("load") is not None
        act("undo")
        assert page.workspace.state.steps == chain.steps
    assert haloscope.window.offer(Mask([[2.0]]))
    assert page.workspace.job().mask.weights.tolist() == [[2.0]]
