from dataclasses import replace

import pytest

from engine.geometry.layout import Layout
from gui.explore.kernel.memory_controls import LayoutSwitch, ResultTypeBox
from tests.gui.made_results import make_engine_state, make_picture


def of_type(dtype):
    picture = make_picture()
    return replace(picture, pixels=replace(picture.pixels, dtype=dtype))


@pytest.fixture
def box(qtbot, workspace):
    box = ResultTypeBox(workspace)
    qtbot.addWidget(box)
    return box


@pytest.fixture
def make_switch(qtbot, workspace):
    def make(**state):
        switch = LayoutSwitch(workspace, make_engine_state(**state))
        qtbot.addWidget(switch)
        return switch

    return make


def test_that_a_result_type_changes_what_the_job_asks_for_and_how_results_are_shown(qtbot, box, workspace):
    workspace.change(range_mode="absolute")
    assert box.currentText() == "float32"
    with qtbot.waitSignal(workspace.job_changed):
        box.activated.emit(box.findData("same"))
    assert (workspace.job().result_type, workspace.result_dtype) == ("same", "uint8")
    # The kernel has clipped them.
    assert (workspace.job().range_mode, workspace.range_mode) == ("clip", "clip")
    workspace.change(result_type="float32")
    assert workspace.range_mode == "absolute"


@pytest.mark.parametrize(("dtype", "text"), [("uint8", "8 bit"), ("uint16", "16 bit")])
def test_that_a_result_type_names_the_depth_of_the_picture(box, workspace, dtype, text):
    workspace.set_picture(of_type(dtype))
    assert box.itemText(box.findData("same")) == text
    assert "halves to even" in box.toolTip()


def test_that_a_float_picture_leaves_no_choice_and_the_choice_is_kept(box, workspace):
    workspace.change(result_type="same")
    workspace.set_picture(of_type("float32"))
    assert (box.isEnabled(), box.currentText(), workspace.result_dtype) == (False, "float32", "float32")
    assert "float32 samples" in box.toolTip()
    workspace.set_picture(of_type("uint8"))
    assert (box.isEnabled(), box.currentText()) == (True, "8 bit")


def test_that_a_click_changes_the_layout_of_the_job_and_the_switch_follows_the_state(
    qtbot, make_switch, workspace
):
    switch = make_switch()
    assert switch.isChecked()
    with qtbot.waitSignal(workspace.job_changed):
        switch.click()
    assert workspace.job().layout is Layout.PACKED
    workspace.change(layout=Layout.PITCHED)
    assert switch.isChecked()


@pytest.mark.parametrize(("device", "cuda"), [("cpu", True), ("auto", False)])
def test_that_on_the_cpu_the_layout_is_greyed_with_the_reason_and_the_choice_is_kept(
    make_switch, workspace, device, cuda
):
    switch = make_switch(cuda=cuda)
    workspace.change(device=device)
    assert (switch.isEnabled(), switch.isChecked(), switch.text()) == (False, True, "Packed rows")
    assert "always packed" in switch.toolTip()
    assert "choose a CUDA device or the simulator" in switch.toolTip()
    workspace.change(layout=Layout.PACKED)
    assert switch.isChecked()
    workspace.change(device="simulator")
    assert (switch.isEnabled(), switch.isChecked()) == (True, False)


def test_that_the_tooltip_says_what_the_layout_means_for_the_picture(make_switch, workspace):
    switch = make_switch()
    assert "1001" in switch.toolTip()
    assert "1,536 bytes per row, which is a boundary already" in switch.toolTip()
    workspace.set_picture(make_picture(width=1001, channels=1))
    assert "1,001 bytes per row packed, 1,024 pitched" in switch.toolTip()
