"""The table of products, and above it the variants that cannot run here, with reasons and a remedy."""

from PySide6.QtWidgets import QPushButton

from engine.device_info import SIMULATOR_SIDE
from engine.tasks.product.problem import tile_of
from gui.matrices.matmul_state import SMALL_SIDE, MatmulState
from gui.runs.panel import RunsPanel
from gui.style.metrics import GRID, HALF_GRID
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.panel_parts import column, row

_EMPTY = "The variants are listed here once the engine is ready, with what can be counted of each."
_TRY_SMALL = f"Try {SMALL_SIDE} × {SMALL_SIDE} in the simulator"

# What the page is about; the columns of the others are in the header's menu.
_SHOWN = {
    "kernel_p20_ms": False,
    "kernel_p80_ms": False,
    "end_to_end_median_ms": False,
    "speed_up": False,
}
# All columns fit a window of 1280 pixels, with the reason that most machines show.
_TYPICAL = {"variant": "■  numpy (BLAS)", "proof": "verified, simulated"}


class MatmulResultsPanel(RunsPanel):
    """Every variant with every tile."""

    def __init__(self, matmul: MatmulState) -> None:
        super().__init__(matmul, _EMPTY, name="Products of matrices", shown=_SHOWN, typical=_TYPICAL)
        self._matmul = matmul
        self.reasons = ElidedLabel(small=True)
        self.try_small = QPushButton(_TRY_SMALL)
        self.try_small.setToolTip(
            "Run them in the simulator, which interprets the same kernels, to check them without a GPU. "
            f"It takes sides up to {SIMULATOR_SIDE}, and no times are shown."
        )
        # Empty, the reasons are hidden; the button stays on the right.
        line = row((self.reasons, 1), 0, self.try_small, self.more)
        self.setLayout(
            column(line, (self.stack, 1), spacing=HALF_GRID, margins=(GRID, HALF_GRID, GRID, GRID))
        )
        matmul.rows_changed.connect(self._refresh)
        matmul.running_changed.connect(self._refresh)
        self._refresh()

    def _refresh(self) -> None:
        rows = self._matmul.results()
        reasons = self._matmul.refusals
        self.reasons.setText(reasons)
        self.reasons.setVisible(bool(reasons))
        failures = [result.failure for result in rows if tile_of(result) is not None]
        none_runs = bool(failures) and all(failures)
        self.try_small.setVisible(none_runs and not self._matmul.running)
