"""The line under the picture: the position of the cursor and the values there."""

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QWidget

from gui.explore.picture.pixel_values import PixelValues
from gui.style.metrics import GRID, digits_width, number_font
from gui.widgets.panel_parts import quiet_label

_HINT = "Point at the picture to read pixel values."


class Readout(QWidget):
    """Row, column and the values of original and result, each at its own place, so that nothing jumps."""

    def __init__(self) -> None:
        super().__init__()
        self._values: PixelValues | None = None
        self._result_name = "result"
        self._hint = quiet_label(_HINT)
        # By what they show ("row", "original", ...): the caption, and a label for each number.
        self._captions: dict[str, QLabel] = {}
        self._numbers: dict[str, list[QLabel]] = {}
        # A narrow layout would squeeze every number; the strip keeps its width and is cut at its end.
        self._strip = QWidget(self)
        self._line = QHBoxLayout(self._strip)
        self._line.setContentsMargins(GRID, 0, GRID, 0)
        self._line.setSpacing(GRID)
        self.setFixedHeight(self.fontMetrics().height() + 2 * GRID)
        # A pane narrower than the numbers cuts the last of them; it must not be kept from getting narrow.
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Values under the cursor")
        self.set_layout_for(None)

    def set_layout_for(self, values: PixelValues | None) -> None:
        """Make room for the numbers of a picture."""
        while item := self._line.takeAt(0):
            widget = item.widget()
            if widget is not None and widget is not self._hint:
                widget.hide()
                widget.deleteLater()
        self._values = values
        self._captions, self._numbers = {}, {}
        self._line.addWidget(self._hint)
        if values is not None:
            rows, columns, channels = values.original.shape
            figures = {np.dtype(np.uint8): 3, np.dtype(np.uint16): 5}.get(values.original.dtype, 8)
            self._add("row", 1, len(str(rows - 1)) + 1, Qt.AlignmentFlag.AlignLeft)
            self._add("col", 1, len(str(columns - 1)) + 1, Qt.AlignmentFlag.AlignLeft)
            self._line.addSpacing(GRID)
            self._add("original", channels, figures)
            if values.alpha is not None:
                self._add("alpha", 1, figures)
            self._line.addSpacing(GRID)
            self._add("result", channels, 8 if figures == 8 else figures + 3)
            self.name_result(self._result_name)
        self._line.addStretch(1)
        self.show_pixel(None)

    def name_result(self, name: str) -> None:
        self._result_name = name
        if "result" in self._captions:
            self._captions["result"].setText(name)

    def show_pixel(self, pixel: tuple[int, int] | None) -> None:
        """Show the numbers of a pixel (row, column), or the hint while the cursor is elsewhere."""
        self._hint.setVisible(pixel is None and self._values is not None)
        for label in (
            *self._captions.values(),
            *(one for labels in self._numbers.values() for one in labels),
        ):
            label.setVisible(pixel is not None)
        self._fit_strip()
        description = _HINT
        if pixel is not None and self._values is not None:
            texts = {
                "row": (str(pixel[0]),),
                "col": (str(pixel[1]),),
                **{name: self._values.texts(name, *pixel) for name in ("original", "alpha", "result")},
            }
            for key, labels in self._numbers.items():
                for label, text in zip(labels, texts[key] or ("–",) * len(labels), strict=True):
                    label.setText(text)
            names = {key: caption.text() for key, caption in self._captions.items()}
            description = "  ".join(
                f"{name} {' '.join(texts[key])}" for key, name in names.items() if texts[key]
            )
        self.setAccessibleDescription(description)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._fit_strip()

    def text(self) -> str:
        """Return the line as it can be read: words and numbers from left to right."""
        items = (self._line.itemAt(index) for index in range(self._line.count()))
        shown = (item.widget() for item in items if item is not None)
        return " ".join(label.text() for label in shown if isinstance(label, QLabel) and not label.isHidden())

    def _fit_strip(self) -> None:
        self._strip.resize(max(self.width(), self._strip.sizeHint().width()), self.height())

    def _add(
        self, caption: str, count: int, figures: int, side: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignRight
    ) -> None:
        self._captions[caption] = quiet_label(caption)
        self._numbers[caption] = [QLabel() for _ in range(count)]
        self._line.addWidget(self._captions[caption])
        for label in self._numbers[caption]:
            label.setFont(number_font())
            label.setFixedWidth(digits_width(figures))
            label.setAlignment(side | Qt.AlignmentFlag.AlignVCenter)
            self._line.addWidget(label)
