import pytest
from msgspec import structs
from PySide6.QtCore import Qt

from engine.geometry.block import Block, Layout, Refusal
from engine.host.protocol import Availability
from engine.host.request import Ready
from gui.explore.explain.selection import Selection
from gui.explore.kernel.kernel_panel import BlockEditor, KernelPanel
from gui.explore.results.results_model import ResultsModel
from tests.gui.made_results import VARIANTS, make_engine_state, make_picture
from tests.made_runs import made_reason

TOO_MANY = "A block of 64 × 64 has 4,096 threads; the limit is 1,024 threads per block."


@pytest.fixture
def editor(qtbot, workspace, state):
    workspace.change(variant="tiled")
    editor = BlockEditor(Selection(workspace, state, ResultsModel()))
    qtbot.addWidget(editor)
    editor.show()
    return editor


def type_number(qtbot, box, text):
    box.selectAll()
    qtbot.keyClicks(box, text)
    qtbot.keyClick(box, Qt.Key.Key_Return)


def test_that_a_side_is_any_number_and_a_refused_block_offers_the_nearest(qtbot, editor, workspace, state):
    for text in ("64", "0", "-5", "2048", "7"):
        type_number(qtbot, editor.width_box, text)
        assert workspace.settings.block == Block(int(text), 8)
    workspace.change(block=None)
    qtbot.keyClick(editor.width_box, Qt.Key.Key_Up)
    qtbot.keyClick(editor.height_box, Qt.Key.Key_Down)
    assert workspace.settings.block == Block(64, 4)
    menu = editor.menu_button.menu()
    menu.aboutToShow.emit()
    next(action for action in menu.actions() if action.text().startswith("32 × 32")).trigger()
    assert workspace.settings.block == Block(32, 32)
    menu.aboutToShow.emit()
    menu.actions()[0].trigger()
    assert workspace.settings.block is None
    for variant in ("tiled", "auto"):
        # For auto it is the refusal of the first kernel that refuses the block.
        workspace.change(variant=variant, block=Block(64, 64))
        refusal = Refusal("block-threads", "Too many threads", TOO_MANY, nearest_block=Block(32, 32))
        refused = [Availability(known.key, refusal) for known in VARIANTS if known.uses_block]
        state.set_availability((Availability("cpu-serial"), *refused))
        assert editor.refusal.isVisible()
        assert (editor.refusal.text(), editor.offer.text()) == (TOO_MANY, "Use 32 × 32")
        qtbot.mouseClick(editor.offer, Qt.MouseButton.LeftButton)
        assert workspace.settings.block == Block(32, 32)
        assert (editor.width_box.value(), editor.height_box.value()) == (32, 32)
        assert not editor.refusal.isVisible()
        assert not editor.offer.isVisible()


def test_that_kernels_without_blocks_or_on_the_cpu_have_no_fields_for_them(qtbot, workspace, editor, state):
    for cuda, device, is_used in ((False, "auto", False), (True, "cpu", False), (True, "auto", True)):
        workspace.change(variant="auto", device=device, block=Block(8, 8))
        state = make_engine_state(cuda=cuda)
        editor = BlockEditor(Selection(workspace, state, ResultsModel()))
        qtbot.addWidget(editor)
        assert editor.is_wanted == is_used
    assert editor.is_wanted
    workspace.change(variant="cpu-serial")
    assert not editor.is_wanted
    own = structs.replace(VARIANTS[-1], key="register-blocked", title="Register-blocked", uses_block=False)
    state.set_ready(Ready((*VARIANTS, own), state.devices))
    workspace.change(variant="register-blocked")
    assert not editor.is_wanted


def test_that_what_is_typed_stays_when_the_engine_answers_or_is_refused(qtbot, editor, workspace, state):
    editor.width_box.selectAll()
    qtbot.keyClicks(editor.width_box, "12")
    state.set_availability((Availability("tiled", made_reason("no driver")),))
    qtbot.keyClicks(editor.width_box, "8")
    qtbot.keyClick(editor.width_box, Qt.Key.Key_Return)
    assert workspace.settings.block == Block(128, 8)
    workspace.change(block=Block(64, 64))
    type_number(qtbot, editor.width_box, "1e3")
    assert editor.refusal.text().startswith("Block width did not change: '1e3' is not a whole number")
    assert not editor.offer.isVisible(), "it is not a block that has a nearest one"
    state.set_availability((Availability("tiled"),))
    assert editor.refusal.text().startswith("Block width")
    qtbot.keyClicks(editor.width_box, "6")
    assert "4,096 threads" in editor.refusal.text()
    type_number(qtbot, editor.width_box, "1e3")
    # A refusal without a nearest block is not about the block.
    state.set_availability((Availability("tiled", made_reason("no driver")),))
    workspace.change(block=None)
    assert not editor.refusal.isVisible()


def of_type(dtype):
    picture = make_picture()
    return structs.replace(picture, pixels=structs.replace(picture.pixels, dtype=dtype))


@pytest.fixture
def panel(qtbot, workspace, state):
    panel = KernelPanel(Selection(workspace, state, ResultsModel()))
    qtbot.addWidget(panel)
    return panel


def test_that_a_result_type_changes_the_job_and_is_one_of_the_picture(qtbot, panel, workspace):
    box = panel.result_type
    workspace.change(range_mode="absolute")
    assert box.currentText() == "float32"
    with qtbot.waitSignal(workspace.job_changed):
        box.activated.emit(box.findData("same"))
    assert (workspace.job().result_type, workspace.result_dtype) == ("same", "uint8")
    # The kernel has clipped them.
    assert (workspace.job().range_mode, workspace.range_mode) == ("clip", "clip")
    workspace.change(result_type="float32")
    assert workspace.range_mode == "absolute"
    for dtype, text in (("uint8", "8 bit"), ("uint16", "16 bit")):
        workspace.set_picture(of_type(dtype))
        assert box.itemText(box.findData("same")) == text
        assert "halves to even" in box.toolTip()
    workspace.change(result_type="same")
    workspace.set_picture(of_type("float32"))
    assert (box.isEnabled(), box.currentText(), workspace.result_dtype) == (False, "float32", "float32")
    assert "float32 samples" in box.toolTip()
    workspace.set_picture(of_type("uint8"))
    assert (box.isEnabled(), box.currentText()) == (True, "8 bit")


@pytest.mark.parametrize(("device", "cuda"), [("cpu", True), ("auto", False)])
def test_that_on_the_cpu_the_chosen_layout_is_greyed(qtbot, workspace, device, cuda):
    panel = KernelPanel(Selection(workspace, make_engine_state(cuda=cuda), ResultsModel()))
    qtbot.addWidget(panel)
    switch = panel.layout_switch
    workspace.change(device=device)
    assert (switch.isEnabled(), switch.isChecked(), switch.text()) == (False, True, "Packed rows")
    assert "always packed" in switch.toolTip()
    assert "choose a CUDA device or the simulator" in switch.toolTip()
    workspace.change(layout=Layout.PACKED)
    assert switch.isChecked()
    workspace.change(device="simulator")
    assert (switch.isEnabled(), switch.isChecked()) == (True, False)
