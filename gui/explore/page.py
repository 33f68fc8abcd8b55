"""Explore, the main job: pictures in the middle, mask left, kernel right, plots and results below."""

from PySide6.QtCore import QByteArray, QSize, Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from engine.results.columns import KERNEL, SPEED_UP
from gui.explore.kernel.kernel_panel import KernelPanel
from gui.explore.mask.mask_panel import MaskPanel
from gui.explore.picture.picture_view import PictureView
from gui.explore.results.results_panel import ResultsPanel
from gui.page.contract import Page, PageContext
from gui.style.metrics import GRID

_AREA = Qt.DockWidgetArea
_LEFT_WIDTH = 35 * GRID
# The longest title of a kernel, its time and a scroll bar.
_RIGHT_WIDTH = 40 * GRID
_LOWER_HEIGHT = 28 * GRID
_NO_TIMES = (
    "The kernel time of each variant: the median, the spread from p20 to p80, the minimum.\n"
    "Press Run (Ctrl+R) to measure one, or Run all to compare all."
)
_NO_SPEED_UPS = (
    "How many times faster each variant is than the baseline.\n"
    "Press Run all to measure every kernel on the same problem."
)
_LOWER_WIDTHS = (41 * GRID, 35 * GRID, 76 * GRID)


class ExplorePage(Page):
    """The panels of the page. Plots come with `finish`, after the first paint."""

    def __init__(self, context: PageContext) -> None:
        super().__init__()
        self._context = context
        workspace, state, results = context.workspace, context.state, context.results
        self.picture_view = PictureView(workspace, state)
        self.mask_panel = MaskPanel(workspace)
        self.kernel_panel = KernelPanel(workspace, state, results)
        self.results_panel = ResultsPanel(results, workspace)
        self.time_place, self.speed_up_place = _Place(), _Place()
        self.setCorner(Qt.Corner.BottomLeftCorner, _AREA.BottomDockWidgetArea)
        self.setCorner(Qt.Corner.BottomRightCorner, _AREA.BottomDockWidgetArea)
        self.add_dock("mask", "Mask", self.mask_panel, _AREA.LeftDockWidgetArea)
        # Between the two, so that Tab goes from left to right.
        self.setCentralWidget(self.picture_view)
        self.add_dock("kernel", "Kernel", self.kernel_panel, _AREA.RightDockWidgetArea)
        self.add_dock("time", "Execution time", self.time_place, _AREA.BottomDockWidgetArea)
        self.add_dock("speed-up", "Speed-up", self.speed_up_place, _AREA.BottomDockWidgetArea)
        self.add_dock("results", "Results", self.results_panel, _AREA.BottomDockWidgetArea)
        self._connect()
        self._default = self.saveState()
        self._is_arranged = False

    @property
    def surface(self) -> QWidget:
        return self.picture_view.canvas

    def finish(self) -> None:
        # pyqtgraph takes 0.2 to 0.5 s to import.
        from gui.explore.results.metric_plot import MetricPlot

        results = self._context.results
        self.time_place.fill(MetricPlot(results, KERNEL, "Execution time by variant", _NO_TIMES))
        self.speed_up_place.fill(
            MetricPlot(results, SPEED_UP, "Speed-up against the baseline", _NO_SPEED_UPS)
        )

    def restore_default(self) -> None:
        self.restoreState(self._default)
        self._arrange()

    def take_layout(self, layout: QByteArray, version: int) -> None:
        self._is_arranged = self.restoreState(layout, version)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        # Only now has the page its size; docks shrink alike where there is too little of it.
        if not self._is_arranged:
            self._arrange()

    def _arrange(self) -> None:
        self._is_arranged = True
        mask, kernel, *lower = self.docks
        self.resizeDocks([mask, kernel], [_LEFT_WIDTH, _RIGHT_WIDTH], Qt.Orientation.Horizontal)
        self.resizeDocks(lower, list(_LOWER_WIDTHS), Qt.Orientation.Horizontal)
        self.resizeDocks(lower, [_LOWER_HEIGHT] * len(lower), Qt.Orientation.Vertical)

    def _connect(self) -> None:
        actions = self._context.actions
        self.picture_view.files_dropped.connect(self.files_dropped)
        self.picture_view.open_requested.connect(actions["open"].trigger)
        self.picture_view.sample_requested.connect(actions.samples[0].trigger)
        self.mask_panel.load_requested.connect(actions["load_mask"].trigger)
        self.mask_panel.save_requested.connect(actions["save_mask"].trigger)
        self.results_panel.copied.connect(self._context.messages.tell_copied)
        self.results_panel.save_csv_requested.connect(actions["export_csv"].trigger)
        self.results_panel.save_json_requested.connect(actions["export_json"].trigger)
        actions["zoom_fit"].triggered.connect(self.picture_view.fit_to_window)
        actions["zoom_actual"].triggered.connect(self.picture_view.zoom_to_actual)
        actions["zoom_in"].triggered.connect(self.picture_view.zoom_in)
        actions["zoom_out"].triggered.connect(self.picture_view.zoom_out)


class _Place(QWidget):
    """Where a plot will stand."""

    def __init__(self) -> None:
        super().__init__()
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)

    def fill(self, widget: QWidget) -> None:
        self._column.addWidget(widget)

    def sizeHint(self) -> QSize:
        return QSize(_LOWER_WIDTHS[0], _LOWER_HEIGHT)


def build(context: PageContext) -> ExplorePage:
    """Make the page."""
    return ExplorePage(context)
