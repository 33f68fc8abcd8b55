"""The panel Roofline: the runs of a device under its roofs; a click selects one."""

from PySide6.QtWidgets import QPushButton, QWidget

from gui.explore.roofline.roofline_plot import RooflinePlot
from gui.explore.roofline.roofline_state import MEASURE, MEASURE_TIP, RooflineState
from gui.explore.roofline.roofs import Point
from gui.style.metrics import HALF_GRID
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.panel_parts import PANEL_MARGINS, column, row

_HINT = (
    "No run is faster than its roof: copies of its size, or multiply-adds. Solid roofs were measured, dashed "
    "ones are theoretical. Click a point to select its run."
)


class RooflinePanel(QWidget):
    """Shows the roofline of the selected run's device."""

    def __init__(self, roofline: RooflineState) -> None:
        super().__init__()
        self._roofline = roofline
        self.caption = ElidedLabel(most=2, small=True)
        self.note = ElidedLabel(most=2, small=True)
        self.plot = RooflinePlot()
        self.measure_button = QPushButton(MEASURE)
        self.measure_button.setToolTip(MEASURE_TIP)
        below = row((self.note, 1), self.measure_button)
        self.setLayout(column(self.caption, (self.plot, 1), below, spacing=HALF_GRID, margins=PANEL_MARGINS))
        self.plot.clicked.connect(self._choose)
        self.measure_button.clicked.connect(lambda: roofline.measure(roofline.device))
        roofline.changed.connect(self._show)
        roofline.state.running_changed.connect(self._allow)

    def _show(self) -> None:
        state = self._roofline
        points, words = state.points, state.words
        self.plot.empty_text.setText(words)
        earlier = (point.run.number for point in points if state.results.is_earlier(point.run.result))
        self.plot.show_points(points, state.roofs, state.marked, frozenset(earlier))
        count = f"{len(points)} run{'s' if len(points) != 1 else ''} on {state.device_title}"
        self.caption.setText(f"{count}. {state.compared}".removesuffix(". ") if points else "")
        self.caption.setToolTip(f"{count}\n\n{_HINT}")
        self.note.setText(state.note)
        self.note.setVisible(bool(state.note))
        self.measure_button.setVisible(state.lacks_limits)
        self._allow()

    def _allow(self) -> None:
        self.measure_button.setEnabled(not self._roofline.state.why_no_run)

    def _choose(self, point: Point) -> None:
        self._roofline.chosen.emit(point.run.result)
