"""The table of products, and above it the variants that cannot run here, with reasons and a remedy."""

from PySide6.QtCore import QItemSelection, QItemSelectionModel, QSize, Signal
from PySide6.QtWidgets import QPushButton, QStackedWidget, QWidget

from engine.tasks.product.results import tile_of
from gui.matrices.matmul_state import SMALL_SIDE, MatmulModel, MatmulState
from gui.style.metrics import GRID, HALF_GRID
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.export_buttons import export_buttons
from gui.widgets.panel_parts import centred_text, column, row, text_button
from gui.widgets.runs_model import short_reason
from gui.widgets.runs_table import RunsTable

_EMPTY = "The variants are listed here once the engine is ready, with what can be counted of each."
_TRY_SMALL = f"Try {SMALL_SIDE} × {SMALL_SIDE} in the simulator"

# What the page is about; the columns of the others are in the header's menu.
_SHOWN = {
    "kernel_p20_ms": False,
    "kernel_p80_ms": False,
    "end_to_end_median_ms": False,
    "speed_up": False,
    "error_bound": True,
}
# All columns fit a window of 1280 pixels, with the reason that most machines show.
_TYPICAL = {"variant": "■  numpy (BLAS)", "proof": "No NVIDIA driver"}


class MatmulResultsPanel(QWidget):
    """Every variant with every tile; `copied` has the number of rows copied to the clipboard."""

    copied = Signal(int)
    # The person wants the results as a file.
    save_csv_requested = Signal()
    save_json_requested = Signal()

    def __init__(self, matmul: MatmulState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._matmul = matmul
        self.model = MatmulModel(matmul, self)
        self.table = RunsTable(self.model, "Products of matrices", _SHOWN, _TYPICAL)
        self.table.horizontalHeader().setStretchLastSection(True)
        self.reasons = ElidedLabel(small=True)
        self.try_small = QPushButton(_TRY_SMALL)
        self.copy_button = text_button(
            "copy", "Copy", "Copy the products", "Copy the table, to paste it into a spreadsheet."
        )
        self._export_buttons = csv, json = export_buttons()
        self._stack = QStackedWidget()
        self._build()
        self.copy_button.clicked.connect(self.table.copy_all)
        csv.clicked.connect(self.save_csv_requested)
        json.clicked.connect(self.save_json_requested)
        self.table.copied.connect(self.copied)
        self.table.baseline_asked.connect(self.model.use_as_baseline)
        matmul.rows_changed.connect(self._refresh)
        matmul.running_changed.connect(self._refresh)
        matmul.loaded_changed.connect(self._select_loaded)
        self.model.modelReset.connect(self._select_loaded)
        self._refresh()
        self._select_loaded()

    def sizeHint(self) -> QSize:
        return QSize(120 * GRID, 36 * GRID)

    def _select_loaded(self) -> None:
        """Mark the rows of the kernel that a paper brought."""
        loaded = self._matmul.loaded
        cells = [(run.result.variant, tile_of(run.result)) for run in self.table.runs()]
        rows = [at for at, cell in enumerate(cells) if cell == loaded]
        chosen = QItemSelection()
        for at in rows:
            last = self.table.order.index(at, self.model.columnCount() - 1)
            chosen.select(self.table.order.index(at, 0), last)
        self.table.selectionModel().select(chosen, QItemSelectionModel.SelectionFlag.ClearAndSelect)
        if rows:
            self.table.scrollTo(self.table.order.index(rows[0], 0))

    def _refresh(self) -> None:
        rows = self._matmul.rows
        self.copy_button.setEnabled(bool(rows))
        for button in self._export_buttons:
            button.setEnabled(bool(self.model.tried()))
        self._stack.setCurrentIndex(1 if rows else 0)
        reasons: dict[str, dict[str, None]] = {}
        for result in rows:
            if result.failure:
                reasons.setdefault(short_reason(result), {})[result.variant] = None
        self.reasons.setText("; ".join(f"{', '.join(names)}: {why}" for why, names in reasons.items()))
        self.reasons.setVisible(bool(reasons))
        failures = [result.failure for result in rows if tile_of(result) is not None]
        none_runs = bool(failures) and all(failures)
        self.try_small.setVisible(none_runs and not self._matmul.running)

    def _build(self) -> None:
        self._stack.addWidget(centred_text(_EMPTY))
        self._stack.addWidget(self.table)
        self.try_small.setToolTip(
            "Run them in the simulator, which runs the same kernels in Python, to check them without a GPU. "
            "It takes sides up to 64, and no times are shown."
        )
        # Empty, the reasons are hidden; the buttons stay on the right.
        line = row((self.reasons, 1), 0, self.try_small, self.copy_button, *self._export_buttons)
        layout = column(line, (self._stack, 1), spacing=HALF_GRID, margins=(GRID, HALF_GRID, GRID, GRID))
        self.setLayout(layout)
