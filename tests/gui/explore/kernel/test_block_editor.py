from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QSpinBox
from pytestqt.qtbot import QtBot

from engine.geometry.block import Block, Limits
from engine.host.messages import Ready
from engine.host.protocol import Availability
from gui.engine_link.engine_state import EngineState
from gui.explore.kernel.block_editor import BlockEditor
from gui.explore.workspace import Workspace
from tests.gui.made_results import CUDA_DEVICE, VARIANTS, make_engine_state, make_workspace

TOO_MANY = "A block of 64 x 64 has 4,096 threads; the limit is 1,024 threads per block."


def make_editor(qtbot: QtBot, variant: str = "tiled") -> tuple[BlockEditor, Workspace, EngineState]:
    workspace, engine_state = make_workspace(), make_engine_state()
    workspace.change(variant=variant)
    editor = BlockEditor(workspace, engine_state)
    workspace.setParent(editor)
    engine_state.setParent(editor)
    qtbot.addWidget(editor)
    editor.show()
    return editor, workspace, engine_state


def type_number(qtbot: QtBot, box: QSpinBox, text: str) -> None:
    box.selectAll()
    qtbot.keyClicks(box, text)
    qtbot.keyClick(box, Qt.Key.Key_Return)


def refuse(engine_state: EngineState, nearest: Block) -> None:
    engine_state.set_availability(
        tuple(
            Availability(variant.key, TOO_MANY, nearest) if variant.uses_block else Availability(variant.key)
            for variant in VARIANTS
        )
    )


@pytest.mark.parametrize("text", ["64", "0", "-5", "2048", "7"])
def test_that_any_whole_number_can_be_typed(qtbot: QtBot, text: str) -> None:
    editor, workspace, _ = make_editor(qtbot)
    type_number(qtbot, editor.width_box, text)
    assert workspace.settings.block == Block(int(text), 8)


def test_that_a_refused_block_is_told_in_words_and_the_offer_sets_the_nearest_legal_one(qtbot: QtBot) -> None:
    editor, workspace, engine_state = make_editor(qtbot)
    workspace.change(block=Block(64, 64))
    refuse(engine_state, Block(32, 32))
    assert editor.refusal.isVisible()
    assert editor.refusal.text() == TOO_MANY
    assert editor.offer.text() == "Use 32 x 32"
    qtbot.mouseClick(editor.offer, Qt.MouseButton.LeftButton)
    assert workspace.settings.block == Block(32, 32)
    assert (editor.width_box.value(), editor.height_box.value()) == (32, 32)
    assert not editor.refusal.isVisible()
    assert not editor.offer.isVisible()


def test_that_auto_tells_of_the_first_kernel_that_refuses_the_block(qtbot: QtBot) -> None:
    editor, workspace, engine_state = make_editor(qtbot, "auto")
    workspace.change(block=Block(64, 64))
    refuse(engine_state, Block(32, 32))
    assert editor.refusal.text() == TOO_MANY


def test_that_a_block_beyond_a_side_of_the_device_is_refused_before_the_engine_answers(qtbot: QtBot) -> None:
    editor, workspace, engine_state = make_editor(qtbot)
    narrow = replace(CUDA_DEVICE, limits=Limits(max_block_x=16))
    engine_state.set_ready(Ready(VARIANTS, (narrow,)))
    workspace.change(block=Block(32, 8))
    assert "too wide; the limit is 16" in editor.refusal.text()
    assert editor.offer.text() == "Use 16 x 8"


def test_that_a_refusal_without_a_legal_block_is_not_told_as_one_of_the_block(qtbot: QtBot) -> None:
    editor, _, engine_state = make_editor(qtbot)
    engine_state.set_availability((Availability("tiled", "no driver"),))
    assert not editor.refusal.isVisible()


@pytest.mark.parametrize(
    ("block", "text"),
    [
        (Block(16, 16), "256 threads, 8 warps"),
        (Block(10, 10), "100 threads, 4 warps, 28 lanes idle"),
        (Block(1, 1), "1 thread, 1 warp, 31 lanes idle"),
        (Block(0, 8), "no threads"),
        (Block(-4, -8), "no threads"),
    ],
    ids=str,
)
def test_that_threads_and_warps_are_counted(qtbot: QtBot, block: Block, text: str) -> None:
    editor, workspace, _ = make_editor(qtbot)
    workspace.change(block=block)
    assert editor.count.text() == text


def test_that_the_default_of_the_kernel_is_shown_until_another_is_chosen(qtbot: QtBot) -> None:
    editor, workspace, _ = make_editor(qtbot)
    assert (editor.width_box.value(), editor.height_box.value()) == (32, 8)
    assert editor.count.text().endswith("(default)")
    assert workspace.settings.block is None


def test_that_a_kernel_without_blocks_disables_the_sides_and_says_why(qtbot: QtBot) -> None:
    editor, _, _ = make_editor(qtbot, "cpu-serial")
    assert not editor.width_box.isEnabled()
    assert "no blocks" in editor.width_box.toolTip()
    assert editor.count.text() == "not used: no blocks on the CPU"


def test_that_a_cuda_kernel_that_chooses_its_block_says_so(qtbot: QtBot) -> None:
    editor, workspace, engine_state = make_editor(qtbot)
    own = replace(VARIANTS[-1], key="register-blocked", title="Register-blocked", uses_block=False)
    engine_state.set_ready(Ready((*VARIANTS, own), engine_state.devices))
    workspace.change(variant="register-blocked")
    assert not editor.width_box.isEnabled()
    assert (editor.width_box.text(), editor.height_box.text()) == ("own", "own")
    assert editor.count.text() == "chosen by the kernel"
    assert editor.width_box.toolTip().startswith("Register-blocked chooses its block itself")


def test_that_the_arrows_double_and_halve(qtbot: QtBot) -> None:
    editor, workspace, _ = make_editor(qtbot)
    qtbot.keyClick(editor.width_box, Qt.Key.Key_Up)
    qtbot.keyClick(editor.height_box, Qt.Key.Key_Down)
    assert workspace.settings.block == Block(64, 4)


def test_that_a_common_size_is_chosen_from_the_menu_and_the_default_comes_back(qtbot: QtBot) -> None:
    editor, workspace, _ = make_editor(qtbot)
    menu = editor.menu_button.menu()
    menu.aboutToShow.emit()
    next(action for action in menu.actions() if action.text().startswith("32 x 32")).trigger()
    assert workspace.settings.block == Block(32, 32)
    menu.aboutToShow.emit()
    menu.actions()[0].trigger()
    assert workspace.settings.block is None


@pytest.mark.parametrize("block", [Block(0, 8), Block(64, 32), Block(33, 33)])
def test_that_what_is_no_block_is_refused_although_no_kernel_here_has_blocks(
    qtbot: QtBot, block: Block
) -> None:
    editor, workspace, engine_state = make_editor(qtbot, "auto")
    engine_state.set_availability((Availability("tiled", "No NVIDIA driver was found."),))
    workspace.change(block=block)
    assert "threads" in editor.refusal.text()
    assert not editor.refusal.isHidden()
    editor.offer.click()
    assert editor.refusal.isHidden()


def test_that_what_is_being_typed_stays_when_the_engine_answers(qtbot: QtBot) -> None:
    editor, workspace, engine_state = make_editor(qtbot)
    editor.width_box.selectAll()
    qtbot.keyClicks(editor.width_box, "12")
    engine_state.set_availability((Availability("tiled", "no driver"),))
    qtbot.keyClicks(editor.width_box, "8")
    qtbot.keyClick(editor.width_box, Qt.Key.Key_Return)
    assert workspace.settings.block == Block(128, 8)


def test_that_a_text_that_is_no_side_is_told_until_something_else_is_typed(qtbot: QtBot) -> None:
    editor, workspace, engine_state = make_editor(qtbot)
    type_number(qtbot, editor.width_box, "1e3")
    assert editor.refusal.text().startswith("Block width did not change: '1e3' is not a whole number")
    # Not a block that could be offered: nothing was taken.
    assert not editor.offer.isVisible()
    engine_state.set_availability((Availability("tiled"),))
    assert editor.refusal.isVisible()
    qtbot.keyClicks(editor.width_box, "6")
    assert not editor.refusal.isVisible()
    assert workspace.settings.block is None


@pytest.mark.parametrize(
    ("cuda", "device", "is_used"), [(False, "auto", False), (True, "cpu", False), (True, "auto", True)]
)
def test_that_automatic_on_the_cpu_says_that_the_block_is_not_used(
    qtbot: QtBot, cuda: bool, device: str, is_used: bool
) -> None:
    workspace, engine_state = make_workspace(), make_engine_state(cuda=cuda)
    workspace.change(variant="auto", device=device, block=Block(8, 8))
    editor = BlockEditor(workspace, engine_state)
    qtbot.addWidget(editor)
    assert editor.width_box.isEnabled() == is_used
    assert ("64 threads" in editor.count.text()) == is_used
    assert ("not used" in editor.count.text()) != is_used
