"""The list of kernels, and what stands below it: block, layout, result type."""

from functools import partial

import pytest
from msgspec import structs
from msgspec.structs import replace
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QAbstractItemModelTester, QTest
from PySide6.QtWidgets import QApplication, QToolButton

from engine.errors import Reason
from engine.geometry.block import Block, Layout, Refusal
from engine.geometry.border import Border
from engine.host.protocol import Filtered
from engine.host.request import Availability, Ready
from gui.engine_link.engine_state import EngineState
from gui.explore.explain.selection import Selection
from gui.explore.kernel.kernel_panel import BlockEditor, KernelPanel
from gui.explore.kernel.variants_model import ROW_ROLE, GroupRow, VariantsModel, reasons_in_list
from gui.explore.results.results_model import ResultsModel
from gui.explore.workspace import Workspace
from tests.gui.made_results import (
    CPU_DEVICE,
    CUDA_DEVICE,
    MISSING_CUDA_DEVICE,
    NO_CUDA,
    REMARK,
    SIMULATOR_DEVICE,
    VARIANTS,
    make_engine_state,
    make_picture,
    make_workspace,
)
from tests.made_runs import MASK, made_reason, make_result, make_simulated

TOOLTIP = Qt.ItemDataRole.ToolTipRole


class Shown:
    """A kernel panel on the screen, with the state that it shows."""

    def __init__(self, qtbot, state, width, height):
        self.workspace, self.results, self.state = make_workspace(), ResultsModel(), state
        self.selection = Selection(self.workspace, state, self.results)
        self.panel = KernelPanel(self.selection)
        self.kernels = self.panel.kernels
        qtbot.addWidget(self.panel)
        self.resize(width, height)
        self.panel.show()
        QApplication.processEvents()

    def resize(self, width, height):
        self.panel.resize(width, height)
        QApplication.processEvents()

    def click(self, key):
        point = self.rect(key).center()
        QTest.mouseClick(self.kernels.viewport(), Qt.MouseButton.LeftButton, pos=point)

    def click_at(self, point):
        QTest.mouseClick(self.kernels.viewport(), Qt.MouseButton.LeftButton, pos=point)

    def items(self):
        """Return what the list shows: keys, and the words of heads."""
        return [
            item.words if isinstance(item, GroupRow) else item.key for item in self.panel.variants.items()
        ]

    def index(self, key):
        return self.panel.variants.index(self.panel.variants.position(key))

    def under(self, key):
        """What stands under a kernel in the list."""
        return self.index(key).data(ROW_ROLE).under

    def rect(self, key):
        return self.kernels.visualRect(self.index(key))


@pytest.fixture
def show(qtbot):
    return lambda state=None, width=300, height=760: Shown(qtbot, state or make_engine_state(), width, height)


def ladder_of_fourteen():
    """Return a state with many kernels, the last three greyed."""
    more = tuple(replace(VARIANTS[-1], key=f"more-{n}", title=f"More {n}") for n in range(9))
    state = EngineState()
    state.set_ready(Ready(VARIANTS + more, (CPU_DEVICE, CUDA_DEVICE)))
    reason = "A 1-D kernel takes a mask of one row, and this one has 3. Take a mask of one row."
    state.set_availability(tuple(Availability(variant.key, made_reason(reason)) for variant in more[-3:]))
    return state


def test_that_greyed_kernels_say_why_they_cannot_be_chosen(qtbot, show):
    shown = show(make_engine_state(cuda=False))
    head = shown.index("CUDA").data(ROW_ROLE)
    assert (head.words, head.is_open) == ("CUDA: 3 kernels, there is no NVIDIA driver here", False)
    shown.click_at(shown.rect("CUDA").topLeft() + QPoint(40, 8))
    shown.click("tiled")
    assert shown.workspace.settings.variant == "auto"
    assert shown.under("naive") == ""
    assert NO_CUDA in shown.index("tiled").data(TOOLTIP)
    assert NO_CUDA in shown.index("tiled").data(Qt.ItemDataRole.AccessibleTextRole)
    assert REMARK in shown.index("tiled").data(TOOLTIP)
    # A session may bring one.
    shown.workspace.change(variant="tiled")
    assert shown.panel.note.text == f"{NO_CUDA} {REMARK}"
    shown.workspace.change(variant="auto")
    for _ in range(3):
        qtbot.keyClick(shown.kernels, Qt.Key.Key_Down)
    assert shown.workspace.settings.variant == "cpu-parallel"
    # One that only refuses its block can be chosen, and says so beside the block.
    refusal = Refusal("block", "40 × 40 has too many threads", nearest_block=Block(32, 32))
    shown.state.set_availability((Availability("tiled", refusal),))
    assert shown.under("tiled") == ""


def test_that_the_keys_select_a_kernel_that_cannot_run_and_leave_what_runs(qtbot, show):
    shown = show(ladder_of_fourteen(), 288, 420)
    qtbot.keyClick(shown.kernels, Qt.Key.Key_End)
    last = shown.panel.variants.items()[-1]
    assert not last.can_run
    assert (shown.selection.kernel, shown.workspace.settings.variant) == (last.key, "auto")
    qtbot.keyClick(shown.kernels, Qt.Key.Key_Home)
    assert shown.selection.kernel == "auto"


def test_that_kernels_stand_in_groups_that_open_and_close(qtbot, show):
    state = make_engine_state()
    groups = ["CPU", "CPU", "Course kernels", "Course kernels", "Fast kernels"]
    variants = tuple(replace(one, group=group) for one, group in zip(VARIANTS, groups, strict=True))
    state.set_ready(Ready(variants, state.devices))
    shown = show(state)
    whole = ["auto", "CPU", "cpu-serial", "cpu-parallel", "Course kernels", "naive", "tiled", "Fast kernels"]
    whole.append("cached")
    assert shown.items() == whole
    shown.click_at(shown.rect("Course kernels").center())
    assert shown.items() == [item for item in whole if item not in ("naive", "tiled")]
    # By keys: the arrows go to a head, left and right close and open it.
    shown.kernels.setCurrentIndex(shown.index("Course kernels"))
    qtbot.keyClick(shown.kernels, Qt.Key.Key_Right)
    assert shown.items() == whole
    qtbot.keyClick(shown.kernels, Qt.Key.Key_Left)
    assert "naive" not in shown.items()
    words = shown.index("Course kernels").data(Qt.ItemDataRole.AccessibleTextRole)
    assert words == "Course kernels, closed"


def test_that_without_a_picture_too_a_group_that_cannot_run_is_one_line_with_its_cure(qtbot):
    workspace, state = Workspace(MASK), EngineState()
    state.set_ready(Ready(VARIANTS, (CPU_DEVICE, MISSING_CUDA_DEVICE, SIMULATOR_DEVICE)))
    results = ResultsModel()
    panel = KernelPanel(Selection(workspace, state, results))
    qtbot.addWidget(panel)
    (head,) = (item for item in panel.variants.items() if getattr(item, "title", "") == "CUDA")
    assert (head.words, head.cure) == ("CUDA: 3 kernels, there is no NVIDIA driver here", "Simulate")
    keys = [item.key for item in panel.variants.items() if item is not head and hasattr(item, "key")]
    assert keys == ["auto", "cpu-serial", "cpu-parallel"]
    panel.kernels.cure_wanted.emit()
    assert {"naive", "tiled", "cached"} <= {getattr(item, "key", "") for item in panel.variants.items()}


def test_that_the_button_of_a_head_simulates_with_a_small_picture_where_it_must(qtbot, show):
    def press(shown, how):
        index = shown.index("CUDA")
        if how == "click":
            shown.kernels.indexWidget(index).findChild(QToolButton).click()
        else:
            shown.kernels.setCurrentIndex(index)
            qtbot.keyClick(shown.kernels, Qt.Key.Key_Return)

    for how in ("click", "key"):
        shown = show(make_engine_state(cuda=False))
        taken = []
        shown.panel._take_small_picture = partial(taken.append, True)
        assert shown.index("CUDA").data(ROW_ROLE).cure == "Simulate"
        shown.workspace.set_picture(make_picture(1449, 1449))
        press(shown, how)
        assert (taken, shown.workspace.settings.device) == ([True], "auto"), "1449 x 1449 is too large"
        shown.workspace.set_picture(make_picture(512, 512))
        press(shown, how)
        assert shown.workspace.settings.device == "simulator"


def test_that_the_panel_shows_kernel_and_baseline_and_the_selected_run_marks_its_kernel(show):
    shown = show()
    for variant in ("cpu-serial", "tiled", "cached"):
        shown.results.add(make_result(variant))

    def marked():
        return [row.key for row in shown.panel.variants.rows() if row.is_described]

    assert marked() == ["cached"]
    shown.results.describe(shown.results.results()[0])
    assert marked() == ["cpu-serial"]
    shown.click("tiled")
    assert shown.results.described.result.variant == "tiled"
    assert marked() == ["tiled"]
    shown.click("tiled")
    assert shown.workspace.settings.variant == "tiled"
    shown.workspace.change(variant="cached")
    assert shown.kernels.currentIndex() == shown.index("cached")
    assert shown.panel.baseline.currentText() == "cpu-serial"
    shown.panel.baseline.textActivated.emit("naive")
    assert shown.workspace.settings.baseline == "naive"


@pytest.fixture
def model(workspace, state, results):
    return VariantsModel(Selection(workspace, state, results))


def times(model, *keys):
    return [model.row(key).time for key in keys]


def test_that_the_model_keeps_to_the_rules_of_qt_whatever_the_engine_does(workspace, results):
    state = EngineState()
    model = VariantsModel(Selection(workspace, state, results))
    tester = QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    ready = make_engine_state(cuda=False)
    state.variants, state.availability = ready.variants, ready.availability
    state.ready_changed.emit()
    results.add(make_result())
    workspace.change(variant="naive")
    keys = ["auto", "cpu-serial", "cpu-parallel", "naive", "tiled", "cached"]
    assert [row.key for row in model.rows()] == keys
    assert all(row.subtitle.casefold() != row.title.casefold() for row in model.rows()), "no title twice"
    assert tester


def test_that_the_time_is_that_of_the_newest_run_of_this_problem_and_layout(qtbot, model, workspace, results):
    results.add(make_result("naive", 0.5, layout="packed"))
    with qtbot.waitSignal(model.dataChanged):
        results.add(make_result("tiled", 0.5))
    results.add(make_result("tiled", 0.25))
    results.add(make_result("cpu-serial", 20.0))
    assert times(model, "naive", "tiled", "cpu-serial") == ["", "250 µs", "20.0 ms"]
    workspace.change(layout=Layout.PACKED)
    assert times(model, "naive", "tiled", "cpu-serial") == ["500 µs", "", "20.0 ms"]
    workspace.change(border=Border.WRAP)
    assert times(model, "naive", "tiled", "cpu-serial") == ["", "", ""]


def test_that_a_word_stands_where_there_is_no_time_and_neighbours_share_a_reason(model, state, results):
    results.add(make_simulated("naive"))
    refused = Availability("tiled", Refusal("block", "The block is too large", nearest_block=Block(16, 16)))
    state.set_availability((refused,))
    assert times(model, "naive", "tiled") == ["simulated", "block refused"]
    # So that its block can be mended.
    assert model.index(model.position("tiled")).flags() & Qt.ItemFlag.ItemIsSelectable
    driver, rank = (
        Reason("driver", "No driver", remedy="Install."),
        Reason("rank", "Rank 2", "Rank 2; not 1."),
    )
    given = [None, driver, Reason("driver", "No driver", remedy="Or else."), driver, None, rank, driver]
    assert reasons_in_list(given) == ["", "No driver: 3 kernels", "", "", "", "Rank 2", "No driver"]


def preview(variant, because=None):
    return Filtered(None, None, variant, "cpu", 3.0, chosen_because=because)


def test_that_auto_says_why_it_chose_until_the_job_or_the_variant_changes(model, workspace, state):
    state.show_filtered(preview("tiled", Reason("chosen", "estimated 0.13 ms", "next best: naive (1 ms)")))
    assert model.rows()[0].idea == "Chose tiled (estimated 0.13 ms); next best: naive (1 ms)."
    # A run of a named variant chose nothing.
    state.show_filtered(preview("cpu-serial"))
    assert model.rows()[0].subtitle == "tiled"
    workspace.change(border=Border.WRAP)
    assert model.rows()[0].subtitle == ""
    workspace.change(border=Border.ZERO)
    assert model.rows()[0].subtitle == "tiled"
    workspace.change(variant="naive")
    assert model.rows()[0].subtitle == ""


TOO_MANY = "A block of 64 × 64 has 4,096 threads; the limit is 1,024 threads per block."


@pytest.fixture
def editor(show_widget, workspace, state):
    workspace.change(variant="tiled")
    return show_widget(BlockEditor(Selection(workspace, state, ResultsModel())))


def test_that_a_side_is_any_number_and_a_refused_block_offers_the_nearest(
    enter, qtbot, editor, workspace, state
):
    for text in ("64", "0", "-5", "2048", "7"):
        enter(editor.width_box, text)
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


def test_that_what_is_typed_stays_while_the_engine_answers_or_is_refused(
    enter, qtbot, editor, workspace, state
):
    editor.width_box.selectAll()
    qtbot.keyClicks(editor.width_box, "12")
    state.set_availability((Availability("tiled", made_reason("no driver")),))
    qtbot.keyClicks(editor.width_box, "8")
    qtbot.keyClick(editor.width_box, Qt.Key.Key_Return)
    assert workspace.settings.block == Block(128, 8)
    workspace.change(block=Block(64, 64))
    enter(editor.width_box, "1e3")
    assert editor.refusal.text().startswith("Block width did not change: '1e3' is not a whole number")
    assert not editor.offer.isVisible(), "it is not a block that has a nearest one"
    state.set_availability((Availability("tiled"),))
    assert editor.refusal.text().startswith("Block width")
    qtbot.keyClicks(editor.width_box, "6")
    assert "4,096 threads" in editor.refusal.text()
    enter(editor.width_box, "1e3")
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
