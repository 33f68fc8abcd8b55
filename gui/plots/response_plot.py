"""The frequency response of a mask as a picture: bright where frequencies stay, dark where they go."""

import numpy as np
from PySide6.QtCore import QRectF, QSize
from PySide6.QtWidgets import QWidget

from engine.mask.analysis import FrequencyResponse
from gui.plots.library import pg
from gui.plots.plot import Plot
from gui.style.cell_colours import HEAT
from gui.style.metrics import EARLIER_OPACITY, GRID
from gui.style.theme import Theme, current_theme, theme_notifier
from gui.widgets.panel_parts import column

_TICKS = [(-0.5, "−½"), (-0.25, "−¼"), (0.0, "0"), (0.25, "¼"), (0.5, "½")]


class ResponsePlot(QWidget):
    """Magnitudes over frequencies across and down, in cycles per pixel; 0 is in the middle."""

    def __init__(self) -> None:
        super().__init__()
        self.plot = Plot()
        self.image = pg.ImageItem(axisOrder="row-major")
        self.image.setLookupTable(
            pg.ColorMap(np.linspace(0, 1, len(HEAT)), list(HEAT)).getLookupTable(nPts=256)
        )
        self.plot.draw(self.image)
        view = self.plot.box
        view.setAspectLocked(True)
        view.invertY(True)
        view.setRange(QRectF(-0.5, -0.5, 1, 1), padding=0)
        for axis, label in zip(self.plot.axes, ("down", "across"), strict=True):
            axis.setTicks([_TICKS])
            axis.setLabel(label)
            axis.setStyle(hideOverlappingLabels=False)
        self.setLayout(column(self.plot))
        self.setAccessibleName("Frequency response of the mask")
        theme_notifier().changed.connect(self._colour)
        self._colour(current_theme())

    def minimumSizeHint(self) -> QSize:
        return QSize(19 * GRID, 17 * GRID)

    def show_response(self, response: FrequencyResponse, words: str, *, is_earlier: bool) -> None:
        """Draw a response; `words` say it to screen readers."""
        self.image.setImage(response.magnitude, levels=(0.0, response.largest or 1.0))
        # The first of the frequencies is -1/2; a cell is as wide as the step between two.
        step = 1 / len(response.magnitude)
        self.image.setRect(QRectF(-0.5 - step / 2, -0.5 - step / 2, 1, 1))
        self.image.setOpacity(EARLIER_OPACITY if is_earlier else 1.0)
        self.setAccessibleDescription(words)

    def _colour(self, theme: Theme) -> None:
        self.plot.colour(theme)
