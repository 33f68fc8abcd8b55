from dataclasses import replace

import pytest
from pytestqt.qtbot import QtBot

from engine.host.protocol import PictureHandle
from gui.explore.kernel.memory_controls import ResultTypeBox
from gui.explore.workspace import Workspace
from tests.gui.made_results import make_picture, make_workspace


def of_type(dtype: str) -> PictureHandle:
    picture = make_picture()
    return replace(picture, pixels=replace(picture.pixels, dtype=dtype))


def make_box(qtbot: QtBot, dtype: str = "uint8") -> tuple[ResultTypeBox, Workspace]:
    workspace = make_workspace()
    workspace.set_picture(of_type(dtype))
    box = ResultTypeBox(workspace)
    workspace.setParent(box)
    qtbot.addWidget(box)
    return box, workspace


def test_that_a_choice_changes_what_the_job_asks_for(qtbot: QtBot) -> None:
    box, workspace = make_box(qtbot)
    assert box.currentText() == "float32"
    with qtbot.waitSignal(workspace.job_changed):
        box.activated.emit(box.findData("same"))
    job = workspace.job()
    assert job is not None
    assert (job.result_type, workspace.result_dtype) == ("same", "uint8")
    assert box.currentText() == "8 bit"


@pytest.mark.parametrize(("dtype", "text"), [("uint8", "8 bit"), ("uint16", "16 bit")])
def test_that_it_names_the_depth_of_the_picture(qtbot: QtBot, dtype: str, text: str) -> None:
    box, _ = make_box(qtbot, dtype)
    assert box.itemText(box.findData("same")) == text
    assert "halves to even" in box.toolTip()


def test_that_a_float_picture_leaves_no_choice_and_the_choice_is_kept(qtbot: QtBot) -> None:
    box, workspace = make_box(qtbot)
    workspace.change(result_type="same")
    workspace.set_picture(of_type("float32"))
    assert not box.isEnabled()
    assert box.currentText() == "float32"
    assert "float32 samples" in box.toolTip()
    assert workspace.result_dtype == "float32"
    workspace.set_picture(of_type("uint8"))
    assert box.isEnabled()
    assert box.currentText() == "8 bit"


def test_that_clipped_results_are_shown_as_they_are(qtbot: QtBot) -> None:
    _, workspace = make_box(qtbot)
    workspace.change(range_mode="absolute", result_type="same")
    job = workspace.job()
    assert job is not None
    assert (job.range_mode, workspace.range_mode) == ("clip", "clip")
    workspace.change(result_type="float32")
    assert workspace.range_mode == "absolute"
