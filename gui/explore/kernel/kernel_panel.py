"""How it is computed: kernel, block, device, and what speed-ups are measured against."""

from collections.abc import Callable

from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtWidgets import QCheckBox, QComboBox, QFormLayout, QMenu, QPushButton, QToolButton, QWidget

from engine.device_info import AUTO, SIMULATOR_PIXELS
from engine.geometry.block import ROW_BYTES, Block, Layout, Limits, Refusal, refuse_block
from engine.host.request import VariantInfo
from engine.work.problem import RESULT_TYPES
from gui.engine_link.device_box import DeviceBox
from gui.explore.explain.selection import Selection
from gui.explore.kernel.kernel_list import KernelList
from gui.explore.kernel.variants_model import VariantsModel
from gui.explore.preview_controller import choose_simulator
from gui.explore.state import COMBINE
from gui.style.icons import icon
from gui.style.metrics import HALF_GRID, follow
from gui.widgets.fields import NumberBox, doubled
from gui.widgets.labels import ElidedLabel, ScrolledText
from gui.widgets.panel_parts import (
    NO_ARROW,
    ROUND_MARGINS,
    NarrowBox,
    RefusalLabel,
    boxed,
    column,
    fill_box,
    form,
    label_for,
    named,
    quiet_label,
    row,
    scrolled,
    text_button,
)

PRESETS = tuple(
    Block(x, y) for x, y in ((8, 8), (16, 8), (16, 16), (32, 4), (32, 8), (32, 16), (32, 32), (64, 4))
)

_THREADS_PER_WARP = 32
_LARGEST = 99_999
_DEFAULT = -_LARGEST - 1
_FIRST_SIDE = 16
_SIZES_TIP = "Common block sizes, and the kernel's own default."
_WIDTH_TIP = "Block width: threads across, along a row. 32 across make one warp read one line."
_HEIGHT_TIP = "Block height: threads down. Width × height is the number of threads."


class BlockEditor(QWidget):
    """Edits `StepSettings.block`, None for the kernel's default; the engine's refusal of it is shown here."""

    def __init__(self, selection: Selection) -> None:
        super().__init__()
        self._selection = selection
        self._workspace, self._engine_state = workspace, engine_state = selection.workspace, selection.state
        self.width_box = _side_box("Block width", _WIDTH_TIP)
        self.height_box = _side_box("Block height", _HEIGHT_TIP)
        arrow = QToolButton(arrowType=Qt.ArrowType.DownArrow)
        self.menu_button = named(arrow, "Common block sizes", _SIZES_TIP)
        self.menu_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.menu_button.setStyleSheet(NO_ARROW)
        menu = QMenu(self.menu_button, toolTipsVisible=True)
        menu.aboutToShow.connect(lambda: self._fill(menu))
        self.menu_button.setMenu(menu)
        self.count = quiet_label(wraps=True)
        self.refusal = RefusalLabel()
        self.offer = QPushButton(icon("good"), "")
        self._offered: Block | None = None
        self._typing_refusal = ""
        # The label of the width stands before the editor.
        height_label = label_for("height", self.height_box)
        sides = (self.width_box, 1), height_label, (self.height_box, 1), self.menu_button
        parts = row(*sides, spacing=HALF_GRID), self.count, self.refusal, self.offer
        self.setLayout(column(*parts, spacing=HALF_GRID))
        for box in (self.width_box, self.height_box):
            box.valueChanged.connect(self._set_block)
            box.refused.connect(self._refuse_typed)
        self.offer.clicked.connect(lambda: workspace.change(block=self._offered))
        workspace.settings_changed.connect(lambda: self._refuse_typed(""))
        # The selection changes with the engine, too.
        of_engine = engine_state.availability_changed, engine_state.running_changed
        follow(self.refresh, selection.changed, workspace.settings_changed, *of_engine)

    def refresh(self) -> None:
        block, default = self._workspace.settings.block, self._default_block()
        shown = block or default
        self.width_box.show_value(shown.x if shown else _DEFAULT)
        self.height_box.show_value(shown.y if shown else _DEFAULT)
        compared = self._workspace.settings.blocks
        runs = f"\nRuns take block {compared[0]}" if compared else ""
        if len(compared) > 1:
            runs = f"\nRuns compare {len(compared)} blocks"
        self.count.setText(_count_text(block, default) + runs)
        about = "The list of blocks is in the panel Block sizes; without one, runs take this block."
        self.count.setToolTip(about if compared else "")
        self._show_refusal()

    def _fill(self, menu: QMenu) -> None:
        menu.clear()
        block, default = self._workspace.settings.block, self._default_block()
        choices: dict[str, Block | None] = {f"Default ({default})" if default else "Default": None}
        choices |= {f"{preset}\t{preset.threads} threads": preset for preset in PRESETS}
        for text, choice in choices.items():
            action = menu.addAction(text)
            action.setCheckable(True)
            action.setChecked(choice == block)
            action.triggered.connect(lambda _checked, chosen=choice: self._workspace.change(block=chosen))
            if choice is None:
                menu.addSeparator()

    def _set_block(self) -> None:
        sides = self.width_box.value(), self.height_box.value()
        # A side may still be at "auto" while the other was typed.
        self._workspace.change(block=Block(*(_FIRST_SIDE if side == _DEFAULT else side for side in sides)))

    def _refuse_typed(self, sentence: str) -> None:
        """Say why what was typed is not a side of a block; the block stays as it is."""
        self._typing_refusal = sentence
        self._show_refusal()

    def _show_refusal(self) -> None:
        refused = None if self._typing_refusal else self._refused()
        # The nearest legal block is offered by a button.
        self._offered = offered = refused.nearest_block if refused else None
        self.refusal.say(refused.sentence if refused else self._typing_refusal)
        self.offer.setText(f"Use {offered}")
        self.offer.setToolTip(f"The nearest block this kernel can use here: {_count_text(offered)}.")
        self.offer.setVisible(offered is not None)

    def _refused(self) -> Refusal | None:
        """Return why the selected kernel refuses the block; for auto, the first refusal of any kernel."""
        settings = self._workspace.settings
        for known in self._engine_state.variants_of(self._workspace.operation):
            entry = self._engine_state.availability.get(known.key)
            # An answer that offers the very block that is set is about the block before.
            is_refused = entry is not None and entry.nearest_block not in (None, settings.block)
            if entry is not None and is_refused and self._selection.kernel in (AUTO, known.key):
                return entry.reason
        if settings.block is None or not self.is_wanted:
            return None
        # A block that no device takes is refused at once, also where no kernel with blocks can run. Without a
        # GPU the limits are those of every NVIDIA GPU.
        devices = self._engine_state.devices
        gpus = (device for device in devices if device.kind == "cuda" and device.times_mean_speed)
        return refuse_block(settings.block, next((gpu.limits for gpu in gpus), Limits()))

    def _chosen(self) -> VariantInfo | None:
        return self._engine_state.variant(self._selection.kernel)

    def _default_block(self) -> Block | None:
        chosen = self._chosen()
        return chosen.default_block if chosen and chosen.uses_block else None

    @property
    def is_wanted(self) -> bool:
        """Whether the selected kernel has blocks to choose; with Automatic on a CPU none has."""
        if (chosen := self._chosen()) is not None:
            return chosen.uses_block
        device = self._engine_state.used_device(self._workspace.settings.device)
        return self._selection.kernel != AUTO or device is None or device.kind != "cpu"


def _side_box(name: str, tip: str) -> NumberBox:
    def follows(side: int, up: bool) -> int:
        return _FIRST_SIDE if side == _DEFAULT else doubled(side, up)

    box = NumberBox(name, _DEFAULT, _LARGEST, "a whole number below 100,000", follows=follows)
    box.setAccessibleName(f"{name}, threads")
    box.setToolTip(f"{tip} The arrow keys double and halve it.")
    box.setSpecialValueText("auto")
    box.setMinimumWidth(box.fontMetrics().horizontalAdvance("1,024") + 6 * HALF_GRID)
    return box


def _count_text(block: Block | None, default: Block | None = None) -> str:
    shown = block or default
    if shown is None:
        return "each kernel's own default"
    if shown.x < 1 or shown.y < 1:
        return "no threads"
    warps = -(-shown.threads // _THREADS_PER_WARP)
    text = f"{shown.threads:,} thread{'s' * (shown.threads != 1)}, {warps:,} warp{'s' * (warps != 1)}"
    if idle := warps * _THREADS_PER_WARP - shown.threads:
        text += f", {idle} lane{'s' * (idle != 1)} idle"
    return text if block else f"{text} (default)"


_TYPE_TOOLTIP = (
    "What the kernel writes, and so what is verified and timed.\n\n"
    "float32: the sums as they are, four bytes per sample, below 0 and above full scale too; the screen and "
    "a saved file round them.\n\n"
    "8 or 16 bit, as the picture: the kernel itself rounds (halves to even) and clips, as a photo program "
    "does. It writes a quarter or half of the bytes, which is what a memory-bound kernel spends its time on. "
    "Kernels that cannot do it are greyed."
)
_OPERATION = "There is no choice: an operation gives a picture of the same type."
_CHAIN = "There is no choice: what lies between the steps of a chain, and its result, are float32."
_FLOAT_PICTURE = "This picture has float32 samples, so its results have them either way."
_BITS = {"uint8": "8 bit", "uint16": "16 bit"}
_LAYOUT_TOOLTIP = (
    f"Pitched: each row of the picture and of the result begins on a {ROW_BYTES}-byte boundary of the GPU's "
    "memory, with unused bytes after the row before it. Then 32 neighbouring float32 values lie in one line "
    f"of {ROW_BYTES} bytes and a warp reads them at once. Off, the rows are packed: each begins where the "
    "one before ends, and a warp may have to read two lines.\n\n"
    "It changes times only, never the result. Widths such as 1001 show the difference; at 1024 there is none."
)
_CPU_IS_PACKED = (
    "Rows on the CPU are always packed. To compare the two layouts, choose a CUDA device or the simulator."
)


_BASELINE_TOOLTIP = (
    "Speed-ups are measured against the fastest verified run of this kernel on the same problem. Courses "
    "take cpu-serial: one thread, the textbook loops, as fast as in C (gcc -O2). Right-click a row of the "
    "results to use exactly that run."
)
# Of a fixed height, so that nothing moves when another kernel is chosen; longer texts scroll.
NOTE_LINES = _DEVICE_NOTE_LINES = 2

_OPTIONS_TIP = "The type of the results, how rows lie in memory, and what speed-ups are measured against."
_COMBINED = "Two results are combined in one way on each device: there are no kernels to choose from."


class KernelPanel(QWidget):
    """The kernel and launch settings; `take_small_picture` opens one for the simulator, and chooses that."""

    def __init__(self, selection: Selection, take_small_picture: Callable[[], None] = lambda: None) -> None:
        super().__init__()
        self._selection, self._take_small_picture = selection, take_small_picture
        self._workspace, self._engine_state = workspace, engine_state = selection.workspace, selection.state
        self.variants = VariantsModel(selection, self)
        self.kernels = KernelList(self.variants, selection)
        self.note = ScrolledText("The selected kernel", NOTE_LINES, NOTE_LINES)
        self.block = BlockEditor(selection)
        self.layout_switch = named(QCheckBox(), f"Rows on the device begin at {ROW_BYTES}-byte boundaries")
        self.result_type = NarrowBox("Output type", "", 5, dict.fromkeys(RESULT_TYPES, "float32"))
        self.device = DeviceBox(workspace, engine_state)
        self.device_note = ElidedLabel(most=_DEVICE_NOTE_LINES, small=True)
        self.options = text_button("", "O&ptions", "", _OPTIONS_TIP)
        self.options.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.options.setCheckable(True)
        self.options_note = ElidedLabel(small=True)
        self.baseline = named(QComboBox(), "Baseline of speed-ups", _BASELINE_TOOLTIP)
        options = row(self.options, (self.options_note, 1), spacing=HALF_GRID)
        options.setAlignment(self.options_note, Qt.AlignmentFlag.AlignVCenter)
        # Side by side: in a low window each line is a kernel less in the list.
        memory = row((self.result_type, 1), self.layout_switch, spacing=HALF_GRID)
        self._fields = fields = form()
        fields.setHorizontalSpacing(HALF_GRID)
        # With large letters in a small window.
        fields.setRowWrapPolicy(QFormLayout.RowWrapPolicy.WrapLongRows)
        fields.addRow(label_for("&Block width", self.block.width_box), self.block)
        fields.addRow(label_for("&Device", self.device), self.device)
        fields.addRow(self.device_note)
        fields.addRow(options)
        fields.addRow(label_for("Outpu&t type", self.result_type), memory)
        fields.addRow(label_for("Base&line", self.baseline), self.baseline)
        # The list has what the rest leaves: a low window first shortens it, then scrolls the panel.
        content = column((self.kernels, 1), self.note, fields, spacing=HALF_GRID, margins=ROUND_MARGINS)
        self.setLayout(column(scrolled(boxed(content))))
        self.options.toggled.connect(self.show_options)
        self.show_options(False)
        self.kernels.cure_wanted.connect(self.simulate)
        self.baseline.textActivated.connect(lambda key: workspace.change(baseline=key))
        self.result_type.chosen.connect(lambda chosen: workspace.change(result_type=chosen))
        layouts = Layout.PACKED, Layout.PITCHED
        self.layout_switch.toggled.connect(lambda pitched: workspace.change(layout=layouts[pitched]))
        of_workspace = workspace.settings_changed, workspace.picture_changed
        of_kernels = self.variants.dataChanged, self.variants.modelReset, selection.changed
        follow(self._refresh, *of_kernels, *of_workspace, engine_state.ready_changed)

    def simulate(self) -> None:
        """Choose the simulator, with a picture that it takes where the one that is open is too large."""
        picture = self._workspace.picture
        if picture is not None and picture.width * picture.height > SIMULATOR_PIXELS:
            self._take_small_picture()
        else:
            choose_simulator(self._workspace, self._engine_state)

    def show_options(self, is_open: bool) -> None:
        """Show the fields that most people leave as they are, or a line of what they are set to."""
        self.options.setChecked(is_open)
        self.options.setArrowType(Qt.ArrowType.DownArrow if is_open else Qt.ArrowType.RightArrow)
        last = self._fields.rowCount() - 1
        for at in (last - 1, last):
            self._fields.setRowVisible(at, is_open)
        self.options_note.setVisible(not is_open)

    def _refresh(self) -> None:
        settings = self._workspace.settings
        # A kernel without blocks has no fields for them.
        self._fields.setRowVisible(0, self.block.is_wanted)
        self.options_note.setText(f"{settings.result_type}, baseline {settings.baseline or 'none'}")
        self._refresh_note()
        self._refresh_result_type()
        self._refresh_layout()
        self._refresh_baselines()
        self.device_note.say(self.device.note)

    def _refresh_result_type(self) -> None:
        box, workspace, picture = self.result_type, self._workspace, self._workspace.picture
        bits = _BITS.get(picture.dtype, "") if picture else ""
        is_alone = workspace.is_filtering and not workspace.is_chain
        is_open = is_alone and (picture is None or bool(bits))
        same = "same" if bits and not (workspace.is_filtering or workspace.is_chain) else "float32"
        box.setItemText(box.findData("same"), bits or "8 or 16 bit")
        # For a float picture both mean the same; the choice is kept for the next one.
        box.setCurrentIndex(box.findData(workspace.settings.result_type if is_open else same))
        box.setEnabled(is_open)
        why = _CHAIN if workspace.is_chain else _FLOAT_PICTURE if workspace.is_filtering else _OPERATION
        box.setToolTip(_TYPE_TOOLTIP if is_open else why)
        box.setAccessibleDescription(box.toolTip())

    def _refresh_layout(self) -> None:
        switch, settings = self.layout_switch, self._workspace.settings
        device = self._engine_state.used_device(settings.device)
        on_cpu = device is not None and device.kind == "cpu"
        with QSignalBlocker(switch):
            # Greyed, it shows what holds on the CPU: rows are packed.
            switch.setChecked(on_cpu or settings.layout is Layout.PITCHED)
        switch.setEnabled(not on_cpu)
        switch.setText("Packed rows" if on_cpu else "Pitched rows")
        switch.setToolTip(_CPU_IS_PACKED if on_cpu else _LAYOUT_TOOLTIP)
        switch.setAccessibleDescription(switch.toolTip())

    def _refresh_note(self) -> None:
        """Describe the selected kernel, or say why it cannot run; a refusal of its block stands beside it."""
        entry = self.variants.row(self._selection.kernel)
        if entry is None or len(self.variants.rows()) == 1:
            is_combined = self._workspace.operation == COMBINE
            self.note.say(_COMBINED if is_combined else "The kernels are listed once the engine is up.")
            return
        text = str(entry.reason) if entry.reason and not entry.can_run else entry.idea
        sentences = [*filter(None, (text, entry.remark))]
        self.note.say(" ".join(sentences))
        self.note.setToolTip("\n\n".join(sentences))

    def _refresh_baselines(self) -> None:
        keys = [row.key for row in self.variants.rows() if row.key != AUTO]
        chosen = self._workspace.settings.baseline
        if chosen not in keys:
            keys.append(chosen)
        fill_box(self.baseline, {key: key for key in keys}, chosen)
        # Combining has no kernels to compare.
        self.baseline.setEnabled(bool(chosen))
