"""Block width and height: any whole number can be typed; a refusal says why and offers the nearest block."""

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QMenu, QPushButton, QToolButton, QWidget

from engine.device_info import AUTO
from engine.geometry.block import Block, Limits, Refusal, refuse_block
from engine.host.messages import VariantInfo
from gui.engine_link.engine_state import EngineState
from gui.explore.explain.selection import Selection
from gui.explore.workspace import Workspace
from gui.style.icons import icon
from gui.style.metrics import HALF_GRID
from gui.widgets.fields import NumberBox, doubled
from gui.widgets.panel_parts import NO_ARROW, column, label_for, quiet_label, row
from gui.widgets.panel_parts import Refusal as RefusalLabel

PRESETS = tuple(
    Block(x, y) for x, y in ((8, 8), (16, 8), (16, 16), (32, 4), (32, 8), (32, 16), (32, 32), (64, 4))
)

_THREADS_PER_WARP = 32
_LARGEST = 99_999
_DEFAULT = -_LARGEST - 1
_FIRST_STEP = Block(16, 16)
_WIDTH_TIP = "Block width: threads across, along a row. 32 across make one warp read one line."
_HEIGHT_TIP = "Block height: threads down. Width × height is the number of threads."


class BlockEditor(QWidget):
    """Edits `Settings.block`; None there means the default of the kernel.

    The engine decides what a device allows: its refusal arrives as Availability and is shown here.
    """

    shown_changed = Signal()  # `is_wanted`

    def __init__(self, workspace: Workspace, engine_state: EngineState, selection: Selection) -> None:
        super().__init__()
        self._workspace = workspace
        self._engine_state, self._selection = engine_state, selection
        self.width_box, self.height_box = _side_box("Block width"), _side_box("Block height")
        self.menu_button = self._menu_button()
        self.count = quiet_label(wraps=True)
        self.refusal = RefusalLabel()
        self.offer = QPushButton()
        self.offer.setIcon(icon("good"))
        self._offered: Block | None = None
        self._typing_refusal = ""
        self._was_wanted = self.is_wanted
        # The label of the width stands before the editor.
        height_label = label_for("height", self.height_box)
        sides = row(
            (self.width_box, 1), height_label, (self.height_box, 1), self.menu_button, spacing=HALF_GRID
        )
        self.setLayout(column(sides, self.count, self.refusal, self.offer, spacing=HALF_GRID))

        for box in (self.width_box, self.height_box):
            box.valueChanged.connect(self._set_block)
            box.refused.connect(self._show_typing_refusal)
        self.offer.clicked.connect(lambda: workspace.change(block=self._offered))
        workspace.settings_changed.connect(self._show_settings)
        selection.changed.connect(self.refresh)
        engine_state.availability_changed.connect(self.refresh)
        engine_state.ready_changed.connect(self.refresh)
        engine_state.running_changed.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Show the state: numbers, threads and warps, the refusal."""
        block, default = self._workspace.settings.block, self._default_block()
        if self.is_wanted != self._was_wanted:
            self._was_wanted = self.is_wanted
            self.shown_changed.emit()
        shown = block or default
        for box, side, help_text in (
            (self.width_box, shown.x if shown else _DEFAULT, _WIDTH_TIP),
            (self.height_box, shown.y if shown else _DEFAULT, _HEIGHT_TIP),
        ):
            # Setting the same would throw away what is being typed.
            if box.value() != side:
                with QSignalBlocker(box):
                    box.setValue(side)
            box.setToolTip(f"{help_text} The arrow keys double and halve it.")
        compared = self._workspace.settings.blocks
        runs = f"\nRuns take block {compared[0]}" if compared else ""
        if len(compared) > 1:
            runs = f"\nRuns compare {len(compared)} blocks"
        self.count.setText(_count_text(block, default) + runs)
        about = "The list of blocks is in the panel Block sizes; without one, runs take this block."
        self.count.setToolTip(about if compared else "")
        self._show_refusal()

    def _menu_button(self) -> QToolButton:
        button = QToolButton()
        button.setToolTip("Common block sizes, and the kernel's own default.")
        button.setAccessibleName("Common block sizes")
        button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        button.setArrowType(Qt.ArrowType.DownArrow)
        button.setStyleSheet(NO_ARROW)
        menu = QMenu(button)
        menu.setToolTipsVisible(True)
        menu.aboutToShow.connect(lambda: self._fill(menu))
        button.setMenu(menu)
        return button

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
        x, y = self.width_box.value(), self.height_box.value()
        # A side may still be at "auto" while the other was typed.
        x, y = _FIRST_STEP.x if x == _DEFAULT else x, _FIRST_STEP.y if y == _DEFAULT else y
        self._workspace.change(block=Block(x, y))

    def _show_settings(self) -> None:
        self._typing_refusal = ""
        self.refresh()

    def _show_typing_refusal(self, sentence: str) -> None:
        """Say why what was typed is not a side of a block; the block stays as it is."""
        self._typing_refusal = sentence
        self._show_refusal()

    def _show_refusal(self) -> None:
        refused = None if self._typing_refusal else self._refused()
        # The nearest legal block is offered by a button.
        reason = refused.sentence if refused else self._typing_refusal
        self._offered = refused.nearest_block if refused else None
        self.refusal.say(reason)
        if self._offered is not None:
            self.offer.setText(f"Use {self._offered}")
            threads = _count_text(self._offered)
            self.offer.setToolTip(f"The nearest block that this kernel can use here: {threads}.")
        self.offer.setVisible(self._offered is not None)

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
        chosen = self._chosen()
        if chosen is not None:
            return chosen.uses_block
        device = self._engine_state.used_device(self._workspace.settings.device)
        return self._selection.kernel != AUTO or device is None or device.kind != "cpu"


def _side_box(name: str) -> NumberBox:
    box = NumberBox(name, _DEFAULT, _LARGEST, "a whole number below 100,000", follows=_next_side)
    box.setAccessibleName(f"{name}, threads")
    box.setSpecialValueText("auto")
    box.setMinimumWidth(box.fontMetrics().horizontalAdvance("1,024") + 6 * HALF_GRID)
    return box


def _next_side(side: int, up: bool) -> int:
    return _FIRST_STEP.x if side == _DEFAULT else doubled(side, up)


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
