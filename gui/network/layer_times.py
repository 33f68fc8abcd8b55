"""Where the time of each stage goes: its layers as parts of one bar, a row for each stage that has run."""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QPoint, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QHelpEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from engine.results.quantities import ms_text, percent_text
from engine.tasks.network.results import LayerTime
from gui.network.network_state import NetworkState
from gui.style.cell_colours import readable_text
from gui.style.metrics import GRID, HALF_GRID, number_font, small_font
from gui.style.series import series_at, series_for
from gui.style.theme import current_theme, theme_notifier
from gui.widgets.panel_parts import centred_text, column, scrolled

_ROW = 4 * GRID
_BAR = 2 * GRID
_EMPTY = (
    "How the time of each stage is shared among its layers.\n"
    "Press Run (Ctrl+R) for the chosen stage, or Run all for every stage."
)
_PREFIX = "network-"
# Parts of a stage with streams, which are no layers; in both themes each is known from its neighbours.
_STREAM_PARTS = ("copy in", "kernels", "copy out")
# Positions in the series of colours, of which two are blue: one of them for six layers.
_LAYER_COLOURS = 0, 1, 2, 3, 4, 7
_NAMES_WIDTH_FRACTION = 0.4


class LayerTimesPanel(QWidget):
    """The bars, and while there are none what will be here."""

    def __init__(self, network: NetworkState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._network = network
        self.bars = LayerBars(network)
        self._area = scrolled(self.bars)
        self._empty = centred_text(_EMPTY)
        self.setLayout(column((self._area, 1), (self._empty, 1), margins=(GRID, HALF_GRID, GRID, GRID)))
        network.rows_changed.connect(self._show)
        self._show()

    def sizeHint(self) -> QSize:
        return QSize(40 * GRID, 28 * GRID)

    def _show(self) -> None:
        has_bars = bool(self.bars.rows)
        self._area.setVisible(has_bars)
        self._empty.setVisible(not has_bars)


class LayerBars(QWidget):
    """A bar for each stage, as wide as all others: how long it is stands at its end."""

    def __init__(self, network: NetworkState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._network = network
        self.rows: list[tuple[str, tuple[LayerTime, ...]]] = []
        self._drawn: list[tuple[QRectF, str]] = []
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAccessibleName("Time by layer and stage")
        network.rows_changed.connect(self._follow)
        theme_notifier().changed.connect(self.update)
        self._follow()

    def sizeHint(self) -> QSize:
        return QSize(38 * GRID, self.heightForWidth(38 * GRID))

    def minimumSizeHint(self) -> QSize:
        return QSize(20 * GRID, _ROW)

    def heightForWidth(self, width: int) -> int:
        # The legend takes more lines where it is narrow.
        return self._legend_height(width) + len(self.rows) * _ROW

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            position = event.pos()
            words = next((text for rect, text in self._drawn if rect.contains(position)), "")
            QToolTip.showText(event.globalPos(), words, self)
            return True
        return super().event(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = current_theme()
        painter = QPainter(self)
        self._drawn = []
        self._paint_legend(painter)
        font = number_font()
        painter.setFont(font)
        metrics = QFontMetrics(font)
        totals = [ms_text(_total(layers)) for _, layers in self.rows]
        names = min(
            max((metrics.horizontalAdvance(_short(stage)) for stage, _ in self.rows), default=0) + 3 * GRID,
            int(self.width() * _NAMES_WIDTH_FRACTION),
        )
        ends = max(map(metrics.horizontalAdvance, totals), default=0) + GRID
        above = self._legend_height(self.width())
        room = max(1, self.width() - names - ends)
        middle = int(Qt.AlignmentFlag.AlignVCenter)
        for at, (stage, layers) in enumerate(self.rows):
            top = above + at * _ROW
            series = series_for(stage)
            painter.setPen(QColor(series.colour))
            painter.drawText(QRectF(0, top, 2 * GRID, _ROW), middle, series.glyph)
            painter.setPen(QColor(theme.text))
            name = metrics.elidedText(_short(stage), Qt.TextElideMode.ElideRight, names - 3 * GRID)
            painter.drawText(QRectF(2 * GRID, top, names - 2 * GRID, _ROW), middle, name)
            left = float(names)
            total = max(_total(layers), 1e-9)
            for one in layers:
                bar = QRectF(left, top + (_ROW - _BAR) / 2, room * one.ms / total, _BAR)
                self._paint_part(painter, bar, one, total)
                left = bar.right()
            painter.setPen(QColor(theme.text))
            end = QRectF(names + room, top, ends, _ROW)
            painter.drawText(end, middle | int(Qt.AlignmentFlag.AlignRight), totals[at])
        if self.hasFocus():
            painter.setPen(QPen(QColor(theme.accent), 1, Qt.PenStyle.DotLine))
            painter.drawRect(self.rect().adjusted(0, 0, -1, -1))

    def _paint_part(self, painter: QPainter, bar: QRectF, one: LayerTime, total: float) -> None:
        colour = QColor(self._colour(one.name))
        painter.fillRect(bar, colour)
        if len(self._keys(one.name)) > 1:
            # Two layers in one kernel: the colour of the second one as a stripe below.
            stripe = bar.adjusted(0, _BAR - HALF_GRID, 0, 0)
            painter.fillRect(stripe, QColor(self._colour(self._keys(one.name)[-1])))
        painter.setPen(QPen(QColor(current_theme().base), 1))
        painter.drawRect(bar)
        text = ms_text(one.ms).removesuffix(" ms")
        if bar.width() > painter.fontMetrics().horizontalAdvance(text) + GRID:
            painter.setPen(readable_text(colour, current_theme()))
            painter.drawText(bar, int(Qt.AlignmentFlag.AlignCenter), text)
        share = percent_text(one.ms / total)
        self._drawn.append((bar, f"{self._title(one.name)}: {ms_text(one.ms)}, {share}"))

    def _paint_legend(self, painter: QPainter) -> None:
        painter.setFont(small_font())
        metrics = painter.fontMetrics()
        for corner, name in self._legend(self.width()):
            square = QRectF(corner.x(), corner.y() + (metrics.height() - GRID) / 2, GRID, GRID)
            painter.fillRect(square, QColor(self._colour(name)))
            painter.setPen(QColor(current_theme().muted))
            text = self._title(name)
            painter.drawText(corner.x() + GRID + HALF_GRID, corner.y() + metrics.ascent(), text)

    @property
    def legend(self) -> list[str]:
        """What the colours are: every layer, and the parts of streams where a bar has them."""
        layers = self._network.facts.layers if self._network.facts else ()
        drawn = {one.name for _, parts in self.rows for one in parts}
        return [*(layer.key for layer in layers), *(part for part in _STREAM_PARTS if part in drawn)]

    def _legend(self, room: int) -> list[tuple[QPoint, str]]:
        """Return where each name of the legend stands, in lines of so many pixels."""
        metrics = QFontMetrics(small_font())
        found: list[tuple[QPoint, str]] = []
        x = y = 0
        for name in self.legend:
            width = metrics.horizontalAdvance(self._title(name)) + GRID + HALF_GRID
            if x and x + width > room:
                x, y = 0, y + metrics.height()
            found.append((QPoint(x, y), name))
            x += width + 2 * GRID
        return found

    def _legend_height(self, room: int) -> int:
        legend = self._legend(room)
        return (legend[-1][0].y() if legend else 0) + QFontMetrics(small_font()).height() + HALF_GRID

    def _follow(self) -> None:
        order = [row.variant for row in self._network.rows] or list(self._network.runs)
        runs = self._network.runs
        self.rows = [(stage, runs[stage].layers) for stage in order if stage in runs and runs[stage].layers]
        described = [
            f"{_short(stage)}, {ms_text(_total(layers))}: {self._words(layers)}"
            for stage, layers in self.rows
        ]
        self.setAccessibleDescription(". ".join(described) or _EMPTY)
        self.updateGeometry()
        self.update()

    def _words(self, layers: Sequence[LayerTime]) -> str:
        return ", ".join(f"{self._title(one.name)} {ms_text(one.ms)}" for one in layers)

    def _keys(self, name: str) -> list[str]:
        return name.split(" + ")

    def _title(self, name: str) -> str:
        layers = self._network.facts.layers if self._network.facts else ()
        titles = {layer.key: layer.title for layer in layers}
        return " + ".join(titles.get(key, key) for key in self._keys(name))

    def _colour(self, name: str) -> str:
        layers = self._network.facts.layers if self._network.facts else ()
        keys = [layer.key for layer in layers]
        first = self._keys(name)[0]
        if first in keys:
            return series_at(_LAYER_COLOURS[keys.index(first) % len(_LAYER_COLOURS)]).colour
        theme = current_theme()
        return theme.text if first.startswith("copy") else theme.outline


def _total(layers: Sequence[LayerTime]) -> float:
    return sum(one.ms for one in layers)


def _short(stage: str) -> str:
    return stage.removeprefix(_PREFIX)
