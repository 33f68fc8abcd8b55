"""The kernels of an operation: which one, with which block, on which device; newest times and proofs."""

from PySide6.QtCore import QRect, QSignalBlocker, QSize, Qt
from PySide6.QtGui import QColor, QGuiApplication, QIcon, QPainter, QPixmap, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFormLayout,
    QHeaderView,
    QLabel,
    QSizePolicy,
    QStackedWidget,
    QTableView,
    QWidget,
)

from engine.device_info import AUTO
from engine.geometry.block import Block
from engine.host.messages import VariantInfo
from engine.reason import Reason
from engine.results.quantities import ms_text, ratio_text
from engine.tasks.operation.results import OperationResult
from gui.engine_link.device_box import DeviceBox
from gui.engine_link.engine_state import EngineState
from gui.explore.operation.operation_state import OperationState
from gui.explore.workspace import Workspace
from gui.style.metrics import GRID, HALF_GRID, number_font
from gui.style.series import series_for
from gui.style.theme import current_theme, theme_notifier
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.panel_parts import column, dress_table, label_for, row, text_button
from gui.widgets.refusal import Refusal
from gui.widgets.whole_number_box import WholeNumberBox

_AUTO_IDEA = "Automatic uses the fastest kernel that can run on the device."
_HEADERS = ("Kernel", "Time", "vs CPU")
_TYPICAL = ("Sorting network", "unavailable", "12.3×")
_MOST_SIDE = 1024
_GLYPH_SIDE = GRID + HALF_GRID
_NOTE_LINES = 5
_PROOF_LINES = 3
_BLOCK_TIP = "Threads of a block, width × height."
_KEY = Qt.ItemDataRole.UserRole


class OperationKernels(QWidget):
    """Kernel and launch settings of the operation, for all operations one after the other."""

    def __init__(self, operations: OperationState, workspace: Workspace, state: EngineState) -> None:
        super().__init__()
        self._operations = operations
        self._is_refreshing = False
        self._items = QStandardItemModel(0, len(_HEADERS), self)
        self._items.setHorizontalHeaderLabels(_HEADERS)
        self.table = QTableView()
        self.table.setModel(self._items)
        dress_table(self.table, "Kernels of the operation", _TYPICAL)
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        # The titles have what is left: each fits its line at the panel's first width.
        self.table.horizontalHeader().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.table.setIconSize(QSize(_GLYPH_SIDE, _GLYPH_SIDE))
        self.reasons = ElidedLabel(most=_NOTE_LINES, small=True)
        self.note = ElidedLabel(2, most=_NOTE_LINES, small=True)
        self.proof = ElidedLabel(1, most=_PROOF_LINES, small=True)
        wanted = f"a whole number from 1 to {_MOST_SIDE}"
        self.width_box = WholeNumberBox("Block width", 1, _MOST_SIDE, wanted)
        self.height_box = WholeNumberBox("Block height", 1, _MOST_SIDE, wanted)
        self.default_button = text_button(
            "retry", "Default", "Default block", "Take the kernel's own block again."
        )
        self.block_note = QLabel()
        self.block_note.setForegroundRole(self.block_note.foregroundRole().PlaceholderText)
        self.refusal = Refusal()
        self.device = DeviceBox(workspace, state)
        self.device_note = ElidedLabel(most=2, small=True)
        form = QFormLayout()
        form.setContentsMargins(0, 0, 0, 0)
        form.setVerticalSpacing(HALF_GRID)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        sides = QWidget()
        sides.setLayout(
            row((self.width_box, 1), (self.height_box, 1), self.default_button, spacing=HALF_GRID)
        )
        # In one place: nothing below moves with the choice of a kernel.
        self._block = QStackedWidget()
        self._block.addWidget(sides)
        self._block.addWidget(self.block_note)
        self._block.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        form.addRow(label_for("Block", self.width_box), self._block)
        form.addRow(label_for("Device", self.device), self.device)
        form.addRow(self.device_note)
        self.setLayout(
            column(
                (self.table, 1),
                self.reasons,
                self.note,
                form,
                self.refusal,
                self.proof,
                margins=(GRID, HALF_GRID, GRID, HALF_GRID),
            )
        )
        self.setAccessibleName("Kernels of the operation")
        self.table.selectionModel().currentRowChanged.connect(self._choose)
        for box in (self.width_box, self.height_box):
            box.valueChanged.connect(self._set_block)
            box.refused.connect(self.refusal.say)
        self.default_button.clicked.connect(lambda: operations.change(block=None))
        for signal in (
            theme_notifier().changed,
            operations.chosen,
            operations.changed,
            operations.listed,
            operations.availability_changed,
            operations.found_changed,
            state.ready_changed,
        ):
            signal.connect(self._refresh)
        self._refresh()

    @property
    def _chosen(self) -> VariantInfo | None:
        """The chosen variant; of auto the one that ran."""
        key = self._operations.choice.variant
        if key == AUTO and self._operations.found is not None:
            key = self._operations.found.shown.variant
        return next((one for one in self._operations.variants if one.key == key), None)

    def _choose(self) -> None:
        key = self.table.currentIndex().siblingAtColumn(0).data(_KEY)
        if key and not self._is_refreshing:
            self.refusal.say("")
            self._operations.change(variant=key)

    def _set_block(self) -> None:
        self.refusal.say("")
        self._operations.change(block=Block(self.width_box.value(), self.height_box.value()))

    def _refresh(self) -> None:
        if not self._operations.is_active:
            return
        runs = self._operations.runs()
        variants = self._operations.variants
        baseline = next((runs[one.key] for one in variants if one.kind == "cpu" and one.key in runs), None)
        keys = [AUTO, *(one.key for one in variants)]
        at = keys.index(self._operations.choice.variant) if self._operations.choice.variant in keys else 0
        # Rows that go and come choose nothing.
        self._is_refreshing = True
        self._items.setRowCount(0)
        self._items.appendRow(self._row("Automatic", AUTO, _AUTO_IDEA))
        for one in variants:
            found = self._operations.availability.get(one.key)
            reason = found.reason if found else None
            tooltip = f"{one.title}: {one.idea}\n\n{one.key}"
            self._items.appendRow(self._row(one.title, one.key, tooltip, runs.get(one.key), baseline, reason))
        self.table.setCurrentIndex(self._items.index(at, 0))
        self._is_refreshing = False
        self.reasons.setText(self._reasons())
        self.reasons.setVisible(bool(self.reasons.text()))
        self._show_details(runs)

    def _reasons(self) -> str:
        """Return why greyed kernels cannot run, those with the same reason together."""
        found: dict[str, list[str]] = {}
        for one in self._operations.variants:
            entry = self._operations.availability.get(one.key)
            if entry is not None and entry.reason and entry.nearest_block is None:
                found.setdefault(entry.reason.short, []).append(one.title)
        return "; ".join(
            f"{names[0] if len(names) == 1 else f'{len(names)} kernels'} cannot run: {why}"
            for why, names in found.items()
        )

    def _row(
        self,
        title: str,
        key: str,
        tooltip: str,
        run: OperationResult | None = None,
        baseline: OperationResult | None = None,
        reason: Reason | None = None,
    ) -> list[QStandardItem]:
        time = "unavailable" if reason else ""
        speed_up = ""
        if run is not None and not reason:
            time = run.no_speed or ms_text(run.kernel_ms or 0.0)
            if baseline is not None and baseline is not run and run.kernel_ms and baseline.kernel_ms:
                speed_up = ratio_text(baseline.kernel_ms / run.kernel_ms)
        cells = [QStandardItem(text) for text in (title, time, speed_up)]
        cells[0].setIcon(_shape(key))
        for number, cell in enumerate(cells):
            cell.setData(key, _KEY)
            cell.setToolTip(f"{title} cannot do this now. {reason}" if reason else tooltip)
            # A refused block can be mended once the kernel is chosen.
            cell.setEnabled(not reason or self._can_be_mended(key))
            if number:
                cell.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        words = (title, time, speed_up, str(reason or ""))
        cells[0].setData(", ".join(filter(None, words)), Qt.ItemDataRole.AccessibleTextRole)
        return cells

    def _can_be_mended(self, key: str) -> bool:
        found = self._operations.availability.get(key)
        return found is not None and found.nearest_block is not None

    def _show_details(self, runs: dict[str, OperationResult]) -> None:
        chosen, choice = self._chosen, self._operations.choice
        found = self._operations.availability.get(choice.variant)
        if found is not None and found.reason:
            self.note.setText(str(found.reason))
        elif choice.variant == AUTO:
            self.note.setText(f"Automatic uses {chosen.title} here. {chosen.idea}" if chosen else _AUTO_IDEA)
        else:
            self.note.setText(chosen.idea if chosen else "The kernels are listed once the engine is up.")
        uses_block = chosen is not None and chosen.uses_block
        block = choice.block or (chosen.default_block if chosen else None)
        for box, side in (
            (self.width_box, block.x if block else 1),
            (self.height_box, block.y if block else 1),
        ):
            with QSignalBlocker(box):
                box.setValue(side)
            box.setToolTip(_BLOCK_TIP)
        is_on_cpu = chosen is not None and chosen.kind == "cpu"
        self.block_note.setText("not used: no blocks on the CPU" if is_on_cpu else "chosen by the kernel")
        self._block.setCurrentIndex(0 if uses_block or chosen is None else 1)
        for box in (self.width_box, self.height_box):
            box.setEnabled(uses_block)
        self.default_button.setEnabled(uses_block and choice.block is not None)
        self.device_note.setText(self.device.note)
        self.device_note.setVisible(bool(self.device.note))
        run = runs.get(chosen.key) if chosen else None
        self.proof.setText(run.status if run else "Press Run (Ctrl+R) to verify and measure.")


def _shape(key: str) -> QIcon:
    """Return the shape of a kernel in its colour, as plots have it; a star for Automatic."""
    series, theme, found = series_for(key), current_theme(), QIcon()
    scale = QGuiApplication.primaryScreen().devicePixelRatio()
    colour, glyph = (theme.accent, "✦") if key == AUTO else (series.colour, series.glyph)
    for mode, ink in (
        (QIcon.Mode.Normal, colour),
        (QIcon.Mode.Selected, theme.accent_text),
        (QIcon.Mode.Disabled, theme.muted),
    ):
        picture = QPixmap(QSize(_GLYPH_SIDE, _GLYPH_SIDE) * scale)
        picture.setDevicePixelRatio(scale)
        picture.fill(Qt.GlobalColor.transparent)
        painter = QPainter(picture)
        painter.setFont(number_font())
        painter.setPen(QColor(ink))
        painter.drawText(QRect(0, 0, _GLYPH_SIDE, _GLYPH_SIDE), int(Qt.AlignmentFlag.AlignCenter), glyph)
        painter.end()
        found.addPixmap(picture, mode)
    return found
