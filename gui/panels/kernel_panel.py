"""How the filter is computed: kernel, block, device, and what speed-ups are measured against."""

from PySide6.QtCore import QEvent, QObject, QSignalBlocker, QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QComboBox,
    QFormLayout,
    QFrame,
    QHBoxLayout,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from gui.panels.block_editor import BlockEditor
from gui.panels.breakdown_bar import BreakdownBar
from gui.panels.device_box import DeviceBox
from gui.panels.elided_label import ElidedLabel
from gui.panels.kernel_list import KernelList
from gui.panels.layout_switch import LayoutSwitch
from gui.panels.result_type_box import ResultTypeBox
from gui.panels.work_line import WorkLine
from gui.state.engine_state import EngineState
from gui.state.results_model import ResultsModel
from gui.state.variants_model import VariantsModel
from gui.state.workspace import Workspace
from gui.style.metrics import GRID, HALF_GRID

_BASELINE_TEACHES = (
    "The kernel that speed-ups are measured against, on the same problem. Courses take cpu-serial: one thread, "
    "the textbook loops."
)
_NOTE_LINES = 2


class KernelPanel(QWidget):
    """The kernel and launch settings of the workspace, and where the time of the last run went."""

    def __init__(
        self,
        workspace: Workspace,
        engine_state: EngineState,
        results: ResultsModel,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._engine_state = engine_state
        self._hovered = ""
        self.variants = VariantsModel(workspace, engine_state, results, self)
        self.kernels = KernelList(self.variants, workspace)
        self.note = ElidedLabel(_NOTE_LINES, small=True)
        self.greyed = ElidedLabel(small=True)
        self.block = BlockEditor(workspace, engine_state)
        self.layout_switch = LayoutSwitch(workspace, engine_state)
        self.result_type = ResultTypeBox(workspace)
        self.device = DeviceBox(workspace, engine_state)
        self.device_note = ElidedLabel(small=True)
        self.baseline = QComboBox()
        self.breakdown = BreakdownBar(results)
        self.work = WorkLine(results)
        self._scroll = QScrollArea()
        self._column = QVBoxLayout()
        self._build()

        self.kernels.hovered.connect(self._hover)
        self.baseline.activated.connect(lambda at: workspace.change(baseline=self.baseline.itemData(at)))
        self.variants.dataChanged.connect(self._refresh)
        self.variants.modelReset.connect(self._refresh)
        workspace.settings_changed.connect(self._refresh)
        engine_state.ready_changed.connect(self._refresh)
        self._refresh()

    def sizeHint(self) -> QSize:
        return QSize(36 * GRID, 72 * GRID)

    def _build(self) -> None:
        self.baseline.setAccessibleName("Baseline of speed-ups")
        self.baseline.setToolTip(_BASELINE_TEACHES)
        form = QFormLayout()
        form.setContentsMargins(0, 0, 0, 0)
        form.setHorizontalSpacing(GRID)
        form.setVerticalSpacing(HALF_GRID)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        form.addRow("Block", self.block)
        # Side by side: in a low window each line is a kernel less in the list.
        memory = QHBoxLayout()
        memory.setSpacing(GRID)
        memory.addWidget(self.layout_switch)
        memory.addWidget(self.result_type, 1)
        form.addRow("Rows", memory)
        form.addRow("Device", self.device)
        form.addRow(self.device_note)
        form.addRow("Baseline", self.baseline)
        notes = QVBoxLayout()
        notes.setSpacing(HALF_GRID // 2)
        notes.addWidget(self.note)
        notes.addWidget(self.greyed)

        content = QWidget()
        content.installEventFilter(self)
        column = self._column
        content.setLayout(column)
        column.setContentsMargins(GRID, HALF_GRID, GRID, HALF_GRID)
        column.setSpacing(GRID)
        column.addWidget(self.kernels)
        column.addLayout(notes)
        column.addLayout(form)
        last_run = QVBoxLayout()
        last_run.setSpacing(HALF_GRID // 2)
        last_run.addWidget(self.breakdown)
        last_run.addWidget(self.work)
        column.addLayout(last_run)
        column.addStretch(1)
        # A low window first shortens the list, then scrolls the panel instead of growing.
        scroll = self._scroll
        scroll.setWidget(content)
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(scroll)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._share_height()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        # Something on the panel appeared, went or takes another number of lines.
        if event.type() == QEvent.Type.LayoutRequest:
            self._share_height()
        return super().eventFilter(watched, event)

    def _share_height(self) -> None:
        """Give the list what the rest of the panel leaves."""
        room = self._scroll.maximumViewportSize()
        wanted = self._column.totalHeightForWidth(room.width())
        self.kernels.set_room(room.height() - (wanted - self.kernels.sizeHint().height()))

    def _hover(self, key: str) -> None:
        self._hovered = key
        self._refresh_note()

    def _refresh(self) -> None:
        self._refresh_note()
        self._refresh_greyed()
        self._refresh_baselines()
        self.device_note.setText(self.device.note)
        self.device_note.set_lines(min(_NOTE_LINES, self.device_note.lines_of(self.device.note)))
        self.device_note.setVisible(bool(self.device.note))

    def _refresh_note(self) -> None:
        """Tell of the kernel under the mouse, else of the chosen one; a refused block is told beside the block."""
        row = self.variants.row(self._hovered or self._workspace.settings.variant)
        if row is None or not self._engine_state.variants:
            self.note.setText("The kernels are listed once the engine is up.")
            return
        told = row.reason if row.reason and (self._hovered or not row.selectable) else row.idea
        self.note.setText(" ".join(filter(None, (told, row.remark))))
        self.note.setToolTip("\n\n".join(filter(None, (told, row.remark))))

    def _refresh_greyed(self) -> None:
        """Say in one line why kernels cannot be chosen and which; the tooltip has what would do."""
        short: dict[str, list[str]] = {}
        reasons: dict[str, list[str]] = {}
        for row in self.variants.rows():
            if row.reason and not row.selectable:
                short.setdefault(_short(row.reason), []).append(row.key)
                reasons.setdefault(row.reason, []).append(row.key)
        # The reasons first: which kernels they are about is seen in the list, even where the line is cut.
        self.greyed.setText("; ".join(f"{reason}: {', '.join(keys)}" for reason, keys in short.items()))
        self.greyed.setToolTip(
            "\n\n".join(f"{', '.join(keys)}: {reason}" for reason, keys in reasons.items())
        )
        # It keeps its place until it is known whether there is anything to say.
        self.greyed.setVisible(bool(reasons) or not self._engine_state.variants)

    def _refresh_baselines(self) -> None:
        keys = [variant.key for variant in self._engine_state.variants]
        chosen = self._workspace.settings.baseline
        if chosen not in keys:
            keys.append(chosen)
        with QSignalBlocker(self.baseline):
            if keys != [self.baseline.itemData(at) for at in range(self.baseline.count())]:
                self.baseline.clear()
                for key in keys:
                    self.baseline.addItem(key, key)
            self.baseline.setCurrentIndex(keys.index(chosen))


def _short(reason: str) -> str:
    """Return the first sentence of a reason."""
    return reason.split(". ")[0].rstrip(".")
