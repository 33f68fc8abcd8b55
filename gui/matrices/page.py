"""Matrices: C = A B; the product left, the effect of the tile in the middle, the lecture right, the results below."""

from PySide6.QtCore import QByteArray, Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from gui.matrices.lecture_panel import LecturePanel
from gui.matrices.product_panel import ProductPanel
from gui.matrices.results_panel import MatmulResultsPanel
from gui.page.contract import Page, PageContext
from gui.style.metrics import GRID

_AREA = Qt.DockWidgetArea
_LEFT_WIDTH = 36 * GRID
_RIGHT_WIDTH = 39 * GRID
_LOWER_HEIGHT = 41 * GRID


class MatricesPage(Page):
    """The panels of the page. Built when it is first shown; the plot comes with `finish`."""

    def __init__(self, context: PageContext) -> None:
        super().__init__()
        self._matmul = context.matmul
        self.product_panel = ProductPanel(context.matmul, context.state, context.actions)
        self.lecture_panel = LecturePanel(context.matmul, context.state)
        self.results_panel = MatmulResultsPanel(context.matmul)
        self.results_panel.copied.connect(context.messages.tell_copied)
        self._plot_place = QWidget()
        self._plot_column = QVBoxLayout(self._plot_place)
        self._plot_column.setContentsMargins(0, GRID, 0, 0)
        self.setCorner(Qt.Corner.BottomLeftCorner, _AREA.BottomDockWidgetArea)
        self.setCorner(Qt.Corner.BottomRightCorner, _AREA.BottomDockWidgetArea)
        self.add_dock("product", "Product", self.product_panel, _AREA.LeftDockWidgetArea)
        # Between the two, so that Tab goes from left to right.
        self.setCentralWidget(self._plot_place)
        self.add_dock("lecture", "What the lecture says", self.lecture_panel, _AREA.RightDockWidgetArea)
        self.add_dock("products", "Results", self.results_panel, _AREA.BottomDockWidgetArea)
        self._default = self.saveState()
        self._is_arranged = False

    def finish(self) -> None:
        # pyqtgraph takes 0.2 to 0.5 s to import.
        from gui.matrices.tile_plot import TilePlot

        if not self._plot_column.count():
            self._plot_column.addWidget(TilePlot(self._matmul))

    def restore_default(self) -> None:
        self.restoreState(self._default)
        self._arrange()

    def take_layout(self, layout: QByteArray, version: int) -> None:
        self._is_arranged = self.restoreState(layout, version)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        # Only now has the page its size.
        if not self._is_arranged:
            self._arrange()
        self._matmul.count_wanted.emit()

    def _arrange(self) -> None:
        self._is_arranged = True
        product, lecture, results = self.docks
        self.resizeDocks([product, lecture], [_LEFT_WIDTH, _RIGHT_WIDTH], Qt.Orientation.Horizontal)
        self.resizeDocks([results], [_LOWER_HEIGHT], Qt.Orientation.Vertical)


def build(context: PageContext) -> MatricesPage:
    """Make the page."""
    return MatricesPage(context)
