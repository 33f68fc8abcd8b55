"""The effect of the tile: GFLOPS over its side, and dashed what the bandwidth allows."""

from PySide6.QtWidgets import QWidget

from gui.matrices.matmul_figure import limit_words, tile_figure
from gui.matrices.matmul_state import MatmulState
from gui.plots.figure_plot import FigurePlot

_EMPTY = (
    "GFLOPS of each way to multiply over the side of its tile.\n"
    "Choose sizes and tiles, then press Multiply matrices (F5)."
)


class TilePlot(FigurePlot):
    """Follows the rows of the page Matrices."""

    def __init__(self, matmul: MatmulState, parent: QWidget | None = None) -> None:
        super().__init__(parent, empty=_EMPTY)
        self.setObjectName("tile plot")
        self._matmul = matmul
        matmul.rows_changed.connect(self._follow)
        self._follow()

    def _follow(self) -> None:
        rows = self._matmul.rows
        self.show_figure(tile_figure(rows) if rows else None, limit_words(rows))
