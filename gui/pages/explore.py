"""Explore, the main job: pictures in the middle, mask left, kernel right, plots and results below."""

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QDockWidget, QMainWindow, QVBoxLayout, QWidget

from gui.pages import PageContext
from gui.panels.kernel_panel import KernelPanel
from gui.panels.mask_panel import MaskPanel
from gui.panels.picture_view import PictureView
from gui.panels.results_panel import ResultsPanel
from gui.style.metrics import GRID

_AREA = Qt.DockWidgetArea
_LEFT_WIDTH = 35 * GRID
_RIGHT_WIDTH = 37 * GRID
_LOWER_HEIGHT = 28 * GRID
_LOWER_WIDTHS = (45 * GRID, 40 * GRID, 60 * GRID)


class ExplorePage(QMainWindow):
    """The docks of the page. Plots come with `finish`, after the first paint.

    Signals
    -------
    files_dropped(list)
        Local paths that were dropped on the picture.
    """

    files_dropped = Signal(list)

    def __init__(self, context: PageContext) -> None:
        super().__init__()
        self.setWindowFlags(Qt.WindowType.Widget)
        self._context = context
        workspace, state, results = context.workspace, context.state, context.results
        self.setDockNestingEnabled(True)
        # The lower docks end beside the kernel dock, which needs the height.
        self.setCorner(Qt.Corner.BottomRightCorner, _AREA.BottomDockWidgetArea)
        self.setCorner(Qt.Corner.BottomLeftCorner, _AREA.BottomDockWidgetArea)
        self.picture = PictureView(workspace, state)
        self.mask = MaskPanel(workspace)
        self.kernel = KernelPanel(workspace, state, results)
        self.results = ResultsPanel(results, workspace)
        self.time_place, self.speed_up_place = _Place(), _Place()
        self.setCentralWidget(self.picture)
        self.docks = [
            self._dock("mask", "Mask", self.mask, _AREA.LeftDockWidgetArea),
            self._dock("kernel", "Kernel", self.kernel, _AREA.RightDockWidgetArea),
            self._dock("time", "Execution time", self.time_place, _AREA.BottomDockWidgetArea),
            self._dock("speed-up", "Speed-up", self.speed_up_place, _AREA.BottomDockWidgetArea),
            self._dock("results", "Results", self.results, _AREA.BottomDockWidgetArea),
        ]
        self._connect()
        self.arrange()
        self._default = self.saveState()

    def arrange(self) -> None:
        """Give the docks their first sizes."""
        mask, kernel, time, speed_up, results = self.docks
        self.resizeDocks([mask, kernel], [_LEFT_WIDTH, _RIGHT_WIDTH], Qt.Orientation.Horizontal)
        self.resizeDocks([time, speed_up, results], list(_LOWER_WIDTHS), Qt.Orientation.Horizontal)
        self.resizeDocks([time, speed_up, results], [_LOWER_HEIGHT] * 3, Qt.Orientation.Vertical)

    def restore_default(self) -> None:
        """Put every dock back to where it was at first."""
        self.restoreState(self._default)
        self.arrange()

    def finish(self) -> None:
        """Add what the first paint does not wait for: pyqtgraph alone takes 0.2 to 0.5 s to import."""
        from gui.plots.speedup_plot import SpeedupPlot
        from gui.plots.time_plot import TimePlot

        results, workspace = self._context.results, self._context.workspace
        self.time_place.fill(TimePlot(results, workspace))
        self.speed_up_place.fill(SpeedupPlot(results, workspace))

    def _connect(self) -> None:
        context = self._context
        self.picture.files_dropped.connect(self.files_dropped)
        self.picture.open_requested.connect(context.actions["open"].trigger)
        self.picture.sample_requested.connect(context.actions.samples[0].trigger)
        self.kernel.run_requested.connect(context.actions["run"].trigger)
        self.kernel.run_all_requested.connect(context.actions["run_all"].trigger)
        self.results.save_csv_requested.connect(context.actions["export_csv"].trigger)
        self.results.save_json_requested.connect(context.actions["export_json"].trigger)
        for name, slot in (
            ("zoom_fit", self.picture.fit_to_window),
            ("zoom_actual", self.picture.zoom_to_actual),
            ("zoom_in", self.picture.zoom_in),
            ("zoom_out", self.picture.zoom_out),
        ):
            context.actions[name].triggered.connect(slot)

    def _dock(self, name: str, title: str, widget: QWidget, area: Qt.DockWidgetArea) -> QDockWidget:
        dock = QDockWidget(title, self)
        dock.setObjectName(name)
        dock.setWidget(widget)
        self.addDockWidget(area, dock)
        toggle = dock.toggleViewAction()
        toggle.setToolTip(f"Show or hide the panel {title}.")
        return dock


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
