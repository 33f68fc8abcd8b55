"""The fields of a worked example: the table follows, bad values are refused there, the lecture's return."""

import dataclasses

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from engine.course.recorded import recorded_paper
from engine.course.tables import counted_tables
from engine.course.worked_examples import CHANGED, EXAMPLES, HERE, LECTURE
from engine.gpu_attributes import GpuAttributes
from engine.host.messages import Ready
from gui.course.course_controller import CourseController
from gui.course.course_model import CourseModel
from gui.course.tables_panel import TablesPanel
from gui.engine_link.engine_state import EngineState
from gui.widgets.tab_stops import focus_next
from tests.gui.made_results import CPU_DEVICE, CUDA_DEVICE, MISSING_CUDA_DEVICE, NO_CUDA, make_engine_state

BANDWIDTHS, *_, OCCUPANCY = EXAMPLES
GPU = GpuAttributes(132, 2048, 32, 65536, 233472, 1024, 1024, 1980.0, 4800.0, 3200.0, 6000, lanes=128)


@pytest.fixture
def course(qapp):
    course = CourseModel()
    course.choose("performance")
    course.set_counted("performance", counted_tables("performance"))
    return course


@pytest.fixture
def panel(qtbot, course):
    panel = TablesPanel(course, make_engine_state())
    qtbot.addWidget(panel)
    panel.resize(900, 600)
    panel.show()
    panel.choice.setCurrentIndex(OCCUPANCY.number)
    return panel


def field(panel, key):
    return next(one for one in panel.inputs.fields if one.input.key == key)


def type_text(qtbot, panel, key, text):
    edit = field(panel, key).edit
    edit.setFocus()
    edit.selectAll()
    qtbot.keyClicks(edit, text)
    return edit


def named(panel):
    """Return the shown texts by (block, GPU)."""
    return {
        (row[0].printed, row[1].printed): [cell.here or cell.reason for cell in row[2:]]
        for row in panel.shown.rows
    }


def test_that_only_a_worked_example_has_fields_with_the_lectures_values(panel):
    assert {one.input.key: one.text for one in panel.inputs.fields} == OCCUPANCY.texts
    assert panel.inputs.isVisible()
    assert not panel.inputs.reset.isEnabled()
    panel.choice.setCurrentIndex(0)
    assert panel.inputs.isHidden()
    panel.choice.setCurrentIndex(BANDWIDTHS.number)
    assert [one.input.key for one in panel.inputs.fields] == ["clock", "width", "rate"]
    for one in panel.inputs.fields:
        assert one.edit.accessibleName() == one.label.text()
        assert one.label.buddy() is one.edit
        assert one.edit.accessibleDescription() == one.edit.toolTip() == one.input.explanation


def test_that_the_table_follows_each_key(qtbot, panel):
    edit = type_text(qtbot, panel, "threads", "1536")
    assert named(panel)["16 × 16", CHANGED][1] == "3"  # registers
    type_text(qtbot, panel, "per_thread", "0")
    assert named(panel)["16 × 16", CHANGED][1:3] == ["6", "1536"]
    # Another table is looked at meanwhile.
    panel.choice.setCurrentIndex(0)
    panel.choice.setCurrentIndex(OCCUPANCY.number)
    assert field(panel, "threads").text == "1536"
    qtbot.mouseClick(panel.inputs.reset, Qt.MouseButton.LeftButton)
    assert {one.input.key: one.text for one in panel.inputs.fields} == OCCUPANCY.texts
    assert named(panel)["16 × 16", LECTURE][1] == "3"
    assert not panel.inputs.reset.isEnabled()
    edit = type_text(qtbot, panel, "threads", "99")
    qtbot.keyClick(edit, Qt.Key.Key_Escape)
    assert edit.text() == "768"
    assert ("16 × 16", LECTURE) in named(panel)


def test_that_a_bad_value_leaves_the_table(qtbot, panel):
    before = panel.shown
    edit = type_text(qtbot, panel, "threads", "many")
    refused = field(panel, "threads").refusal
    assert refused.isVisible()
    assert "'many': it is not a number" in refused.text()
    assert edit.accessibleDescription() == refused.text()
    assert panel.shown == before
    assert QApplication.focusWidget() is edit
    type_text(qtbot, panel, "threads", "1024")
    assert not refused.isVisible()
    assert named(panel)["8 × 8", CHANGED][2] == "512"


def test_that_a_narrow_panel_cuts_no_word(qtbot, panel):
    # The size in a window of 1024 x 640.
    panel.resize(697, 346)
    panel.choice.setCurrentIndex(0)
    panel.choice.setCurrentIndex(OCCUPANCY.number)
    type_text(qtbot, panel, "threads", "9" * 60)
    type_text(qtbot, panel, "blocks", "8x8, 20x")
    QApplication.processEvents()
    assert panel.minimumSizeHint().width() <= 697
    for one in panel.inputs.fields:
        for label in (one.label, one.refusal):
            assert not label.isVisible() or label.height() >= label.heightForWidth(label.width()), (
                label.text()
            )


@pytest.mark.parametrize(
    ("devices", "wanted"),
    [
        ((CPU_DEVICE, dataclasses.replace(CUDA_DEVICE, attributes=GPU)), "32"),
        ((CPU_DEVICE, MISSING_CUDA_DEVICE), f"There is no GPU here. {NO_CUDA}"),
    ],
)
def test_that_this_device_stands_beside_the_lecture_before_anything_is_measured(
    bench, course, panel, devices, wanted
):
    state = EngineState()
    parts = course, state, bench.link, bench.jobs, bench.messages, lambda intent: False
    bench.courses = CourseController(*parts)
    assert named(panel)["8 × 8", HERE][1] == "not measured yet"
    state.set_ready(Ready((), devices))
    assert named(panel)["8 × 8", HERE][1] == wanted
    # What is saved is what is seen.
    assert panel.shown in course.tables("performance")


def test_that_tab_goes_from_the_tables_buttons_by_the_values_to_the_table(panel, qtbot):
    type_text(qtbot, panel, panel.inputs.fields[0].input.key, "not the lecture's")
    panel.save_button.setFocus()
    met = []
    for _ in range(len(panel.inputs.fields) + 2):
        focus_next(panel, is_forward=True)
        met.append(QApplication.focusWidget())
    assert met == [*(one.edit for one in panel.inputs.fields), panel.inputs.reset, panel.table]


def test_that_recorded_figures_stand_beside_the_lectures_values_only(course):
    course.set_recorded("performance", recorded_paper("performance"))
    course.show_recorded(True)
    before = course.tables("performance")[OCCUPANCY.number]
    course.type_values("performance", before.title, OCCUPANCY.texts | {"registers": "11"})
    after = course.tables("performance")[OCCUPANCY.number]
    recorded = [any(cell.recorded for row in table.rows for cell in row) for table in (before, after)]
    assert recorded == [True, False]
