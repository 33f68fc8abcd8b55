"""The panel Roofline: the runs of a device under its roofs. A click selects one, a button saves all."""

from pathlib import Path

from PySide6.QtCore import QBuffer, QIODevice, QRectF, Qt
from PySide6.QtGui import QPaintDevice, QPainter, QPixmap
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QPushButton, QWidget

from engine.errors import EngineError
from engine.files.atomic_write import atomic_write
from gui.explore.roofline.roofline_plot import RooflinePlot
from gui.explore.roofline.roofline_state import MEASURE, MEASURE_TIP, RooflineState
from gui.explore.roofline.roofs import Point, points_csv
from gui.page.messages import Message, Severity
from gui.style.metrics import HALF_GRID
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.panel_parts import PANEL_MARGINS, column, row, text_button

_FILTERS = ["PNG (*.png)", "SVG (*.svg)", "CSV, a row per run (*.csv)"]
_SAVE_TIP = "Save the plot as PNG or SVG, or its numbers as CSV."
_HINT = (
    "No run is faster than its roof: copies of its size, or multiply-adds. Solid roofs were measured, dashed "
    "ones are theoretical. Click a point to select its run."
)
# Of a saved picture: pixels of the screen, and how many of its own each has.
_SAVED_SIZE, _SCALE = (960, 600), 2


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
        self.save_button = text_button("export", "Save", "Save the roofline", _SAVE_TIP)
        top = row((self.caption, 1), self.save_button)
        top.setAlignment(self.save_button, Qt.AlignmentFlag.AlignTop)
        below = row((self.note, 1), self.measure_button)
        self.setLayout(column(top, (self.plot, 1), below, spacing=HALF_GRID, margins=PANEL_MARGINS))
        self.plot.clicked.connect(self._choose)
        self.measure_button.clicked.connect(lambda: roofline.measure(roofline.device))
        self.save_button.clicked.connect(self._ask_where)
        roofline.changed.connect(self._show)
        roofline.state.running_changed.connect(self._allow)

    def save(self, path: Path) -> None:
        """Write the plot, in the form that the suffix says: .svg, .csv, else PNG."""
        suffix, messages = path.suffix.lower(), self._roofline.messages
        made = {".svg": self._svg, ".csv": self._csv}.get(suffix, self._png)()
        try:
            atomic_write(path, made)
        except EngineError as error:
            messages.show_error("roofline", error)
        else:
            messages.show(Message("roofline", Severity.INFO, f"Roofline saved as {path}"))

    def _show(self) -> None:
        state = self._roofline
        points, words = state.points, state.words
        self.plot.empty_text.setText(words)
        self._fill(self.plot)
        count = f"{len(points)} run{'s' if len(points) != 1 else ''} on {state.device_title}"
        self.caption.setText(f"{count}. {state.compared}".removesuffix(". ") if points else "")
        self.caption.setToolTip(f"{count}\n\n{_HINT}")
        self.save_button.setVisible(bool(points))
        self.note.setText(state.note)
        self.note.setVisible(bool(state.note))
        self.measure_button.setVisible(state.lacks_limits)
        self._allow()

    def _fill(self, plot: RooflinePlot) -> None:
        state = self._roofline
        earlier = (point.run.number for point in state.points if state.results.is_earlier(point.run.result))
        plot.show_points(state.points, state.roofs, state.marked, frozenset(earlier))

    def _allow(self) -> None:
        self.measure_button.setEnabled(not self._roofline.state.why_no_run)

    def _choose(self, point: Point) -> None:
        self._roofline.chosen.emit(point.run.result)

    def _ask_where(self) -> None:
        name = f"{self._roofline.stem()}-roofline.png"
        ask = self._roofline.files.ask_to_save
        ask("Save the roofline", _FILTERS, name, lambda path, _filter: self.save(path))

    def _drawn(self) -> RooflinePlot:
        """Return the plot as it is saved: of a size of its own, however small the panel is."""
        made = RooflinePlot()
        made.resize(*_SAVED_SIZE)
        self._fill(made)
        made.draw_paths()
        # Its parts get their places when it is painted, the words of an axis the second time.
        for _ in range(2):
            made.grab()
            made.lay_out()
        return made

    def _png(self) -> bytes:
        drawn, buffer = self._drawn(), _buffer()
        image = QPixmap(drawn.size() * _SCALE)
        image.setDevicePixelRatio(_SCALE)
        _paint(drawn, image)
        image.save(buffer, "PNG")
        return bytes(buffer.data().data())

    def _svg(self) -> bytes:
        drawn, buffer = self._drawn(), _buffer()
        drawing = QSvgGenerator()
        drawing.setOutputDevice(buffer)
        drawing.setSize(drawn.size())
        drawing.setViewBox(drawn.rect())
        drawing.setTitle("Roofline")
        _paint(drawn, drawing)
        return bytes(buffer.data().data())

    def _csv(self) -> bytes:
        return points_csv(self._roofline.points, self._roofline.roofs).encode()


def _buffer() -> QBuffer:
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    return buffer


def _paint(plot: RooflinePlot, device: QPaintDevice) -> None:
    painter = QPainter(device)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    plot.render(painter, QRectF(plot.rect()))
    painter.end()
