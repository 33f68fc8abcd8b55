"""How the filter is computed: kernel, block, device, and what speed-ups are measured against."""

from PySide6.QtCore import QSignalBlocker, QSize, Qt, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QFormLayout,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from gui.panels.block_editor import BlockEditor
from gui.panels.breakdown_bar import BreakdownBar
from gui.panels.device_box import DeviceBox
from gui.panels.kernel_list import KernelList
from gui.state.engine_state import EngineState
from gui.state.results_model import ResultsModel
from gui.state.variants_model import VariantsModel
from gui.state.workspace import Workspace
from gui.style.icons import icon
from gui.style.metrics import GRID

_RUN_TEACHES = "Check the chosen kernel against the float64 oracle, then measure it (Ctrl+R)."
_RUN_ALL_TEACHES = "Check and measure every kernel that can run here, one after the other."
_BASELINE_TEACHES = (
    "The kernel that speed-ups are measured against, on the same problem. Courses take cpu-serial: one thread, "
    "the textbook loops."
)


class KernelPanel(QWidget):
    """The kernel and launch settings of the workspace.

    Signals
    -------
    run_requested(), run_all_requested()
        The person wants the chosen kernel, or every kernel, to be measured.
    """

    run_requested = Signal()
    run_all_requested = Signal()

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
        self.note = _quiet_label()
        self.block = BlockEditor(workspace, engine_state)
        self.device = DeviceBox(workspace, engine_state)
        self.device_note = _quiet_label()
        self.baseline = QComboBox()
        self.run = QPushButton(icon("run"), "Run")
        self.run_all = QPushButton(icon("run-all"), "Run all")
        self.breakdown = BreakdownBar(results)
        self._build()

        self.kernels.hovered.connect(self._hover)
        self.baseline.activated.connect(lambda at: workspace.change(baseline=self.baseline.itemData(at)))
        self.run.clicked.connect(self.run_requested)
        self.run_all.clicked.connect(self.run_all_requested)
        self.variants.dataChanged.connect(self._refresh)
        self.variants.modelReset.connect(self._refresh)
        workspace.settings_changed.connect(self._refresh)
        workspace.picture_changed.connect(self._refresh)
        engine_state.ready_changed.connect(self._refresh)
        engine_state.progress_changed.connect(self._refresh_buttons)
        self._refresh()

    def sizeHint(self) -> QSize:
        return QSize(36 * GRID, 72 * GRID)

    def _build(self) -> None:
        self.baseline.setAccessibleName("Baseline of speed-ups")
        self.baseline.setToolTip(_BASELINE_TEACHES)
        self.run_all.setToolTip(_RUN_ALL_TEACHES)
        form = QFormLayout()
        form.setContentsMargins(0, 0, 0, 0)
        form.setHorizontalSpacing(GRID)
        form.setVerticalSpacing(GRID)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        form.addRow("Block", self.block)
        form.addRow("Device", self.device)
        form.addRow(self.device_note)
        form.addRow("Baseline", self.baseline)
        buttons = QHBoxLayout()
        buttons.setSpacing(GRID)
        buttons.addWidget(self.run, 1)
        buttons.addWidget(self.run_all, 1)

        content = QWidget()
        column = QVBoxLayout(content)
        column.setContentsMargins(GRID, GRID, GRID, GRID)
        column.setSpacing(GRID)
        column.addWidget(self.kernels)
        column.addWidget(self.note)
        column.addLayout(form)
        column.addLayout(buttons)
        column.addWidget(self.breakdown)
        column.addStretch(1)
        # A low window scrolls the panel instead of growing.
        scroll = QScrollArea()
        scroll.setWidget(content)
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(scroll)

    def _hover(self, key: str) -> None:
        # What lies below the note must not jump while the mouse wanders.
        self.note.setMinimumHeight(self.note.height() if key else 0)
        self._hovered = key
        self._refresh_note()

    def _refresh(self) -> None:
        self._refresh_note()
        self._refresh_baselines()
        self.device_note.setText(self.device.note)
        self.device_note.setVisible(bool(self.device.note))
        self._refresh_buttons()

    def _refresh_note(self) -> None:
        """Tell of the kernel under the mouse, else of the chosen one and why others are greyed.

        A refused block is told beside the block.
        """
        row = self.variants.row(self._hovered or self._workspace.settings.variant)
        if row is None:
            self.note.setText("The kernels are listed once the engine is up.")
            return
        told = row.reason if row.reason and (self._hovered or not row.selectable) else row.idea
        reasons: dict[str, list[str]] = {}
        if not self._hovered:
            for other in self.variants.rows():
                if other.reason not in ("", told) and not other.selectable:
                    reasons.setdefault(other.reason, []).append(other.key)
        greyed = [f"{', '.join(keys)}: {reason}" for reason, keys in reasons.items()]
        self.note.setText("\n\n".join([told, *greyed]))

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

    def _refresh_buttons(self) -> None:
        why_not = self._why_no_run()
        row = self.variants.row(self._workspace.settings.variant)
        refused = row.reason if row else ""
        self.run.setEnabled(not why_not and not refused)
        self.run.setToolTip(why_not or refused or _RUN_TEACHES)
        self.run_all.setEnabled(not why_not)
        self.run_all.setToolTip(why_not or _RUN_ALL_TEACHES)

    def _why_no_run(self) -> str:
        if self._workspace.picture is None:
            return "Open a picture first (Ctrl+O)."
        if not self._engine_state.is_ready:
            return f"The engine is not ready: {self._engine_state.status}."
        return "A run goes on; Esc cancels it." if self._engine_state.running else ""


def _quiet_label() -> QLabel:
    label = QLabel()
    label.setWordWrap(True)
    label.setForegroundRole(label.foregroundRole().PlaceholderText)
    return label
