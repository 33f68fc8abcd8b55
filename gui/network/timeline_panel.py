"""The timeline of a stage with streams: which chunk is copied while which one is computed."""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QHelpEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QStackedWidget, QToolTip, QWidget

from engine.results.quantities import digits_text, ms_text, percent_text
from engine.tasks.network.results import ChunkSpan
from gui.network.network_state import NetworkState
from gui.style.cell_colours import readable_text
from gui.style.metrics import GRID, HALF_GRID, number_font, small_font
from gui.style.series import series_at
from gui.style.theme import current_theme, theme_notifier
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.panel_parts import centred_text, column

_EMPTY = "Copies and kernels over time.\nRun network-streams on a CUDA device with a batch of more than 100."
_STEPS = ("copy in", "kernels", "copy out")
_ROW = 4 * GRID
_BAR = 3 * GRID
_TICKS = 4


class TimelinePanel(QWidget):
    """The timeline of the newest run that has one, and in a sentence how much it overlaps."""

    def __init__(self, network: NetworkState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._network = network
        self.chart = TimelineChart()
        self.sentence = ElidedLabel(most=3, small=True)
        self._stack = QStackedWidget()
        drawn = QWidget()
        drawn.setLayout(column(self.sentence, (self.chart, 1), spacing=HALF_GRID))
        self._stack.addWidget(centred_text(_EMPTY))
        self._stack.addWidget(drawn)
        self.setLayout(column(self._stack, margins=(GRID, HALF_GRID, GRID, GRID)))
        network.rows_changed.connect(self._show)
        self._show()

    def sizeHint(self) -> QSize:
        return QSize(38 * GRID, 28 * GRID)

    def _show(self) -> None:
        runs = [run for run in self._network.runs.values() if run.timeline]
        spans = runs[-1].timeline if runs else ()
        self._stack.setCurrentIndex(1 if spans else 0)
        if spans:
            words = timeline_words(spans)
            self.sentence.setText(words)
            self.chart.show_spans(spans, words)


class TimelineChart(QWidget):
    """A row for each stream; its chunks one after another, each in three parts."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._spans: tuple[ChunkSpan, ...] = ()
        self._drawn: list[tuple[QRectF, ChunkSpan]] = []
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAccessibleName("Timeline of the streams")
        theme_notifier().changed.connect(self.update)

    def show_spans(self, spans: tuple[ChunkSpan, ...], words: str) -> None:
        """Draw these; `words` describe them to screen readers."""
        self._spans = spans
        self.setAccessibleDescription(words)
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(36 * GRID, 16 * GRID)

    def minimumSizeHint(self) -> QSize:
        return QSize(16 * GRID, 14 * GRID)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            position = event.pos()
            span = next((span for rect, span in self._drawn if rect.contains(position)), None)
            QToolTip.showText(event.globalPos(), _span_words(span) if span else "", self)
            return True
        return super().event(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self._spans:
            return
        theme, font = current_theme(), number_font()
        painter = QPainter(self)
        metrics = QFontMetrics(font)
        legend = self._paint_legend(painter)
        painter.setFont(font)
        streams = sorted({span.stream for span in self._spans})
        left = metrics.horizontalAdvance("Stream 0") + GRID
        end_ms = max(span.end_ms for span in self._spans)
        room = max(1, self.width() - left - 1)
        scale = room / max(end_ms, 1e-9)
        bottom = legend + len(streams) * _ROW
        self._paint_axis(painter, left, room, legend, bottom, end_ms)
        self._drawn = []
        for at, stream in enumerate(streams):
            top = legend + at * _ROW
            painter.setPen(QColor(theme.text))
            label = QRectF(0, top, left, _ROW)
            painter.drawText(label, int(Qt.AlignmentFlag.AlignVCenter), f"Stream {stream}")
            for span in self._spans:
                if span.stream == stream:
                    bar = QRectF(
                        left + span.begin_ms * scale,
                        top + (_ROW - _BAR) / 2,
                        max(1.0, (span.end_ms - span.begin_ms) * scale),
                        _BAR,
                    )
                    self._paint_span(painter, bar, span)
        if self.hasFocus():
            painter.setPen(QPen(QColor(theme.accent), 1, Qt.PenStyle.DotLine))
            painter.drawRect(self.rect().adjusted(0, 0, -1, -1))

    def _paint_span(self, painter: QPainter, bar: QRectF, span: ChunkSpan) -> None:
        colour = QColor(_colour(span.step))
        painter.fillRect(bar, colour)
        if bar.width() > 3:
            painter.setPen(QPen(QColor(current_theme().base), 1))
            painter.drawRect(bar)
        text = str(span.chunk)
        if bar.width() > painter.fontMetrics().horizontalAdvance(text) + HALF_GRID:
            painter.setPen(readable_text(colour, current_theme()))
            painter.drawText(bar, int(Qt.AlignmentFlag.AlignCenter), text)
        self._drawn.append((bar, span))

    def _paint_axis(
        self, painter: QPainter, left: int, room: int, top: int, bottom: int, end_ms: float
    ) -> None:
        theme = current_theme()
        height = painter.fontMetrics().height()
        for tick in range(_TICKS + 1):
            x = left + room * tick / _TICKS
            painter.setPen(QPen(QColor(theme.line), 1))
            painter.drawLine(round(x), top, round(x), bottom)
            painter.setPen(QColor(theme.muted))
            is_last = tick == _TICKS
            text = f"{digits_text(end_ms * tick / _TICKS, 2)}{' ms' if is_last else ''}" if tick else "0"
            width = painter.fontMetrics().horizontalAdvance(text)
            at = min(max(x - width / 2, 0.0), float(self.width() - width))
            painter.drawText(QRectF(at, bottom, width + 1, height), int(Qt.AlignmentFlag.AlignLeft), text)

    def _paint_legend(self, painter: QPainter) -> int:
        """Draw what the colours are and return the height."""
        painter.setFont(small_font())
        metrics = painter.fontMetrics()
        x = 0
        for step in _STEPS:
            painter.fillRect(QRectF(x, (metrics.height() - GRID) / 2, GRID, GRID), QColor(_colour(step)))
            painter.setPen(QColor(current_theme().muted))
            painter.drawText(x + GRID + HALF_GRID, metrics.ascent(), step)
            x += GRID + HALF_GRID + metrics.horizontalAdvance(step) + 2 * GRID
        return metrics.height() + HALF_GRID


def timeline_words(spans: Sequence[ChunkSpan]) -> str:
    """Return a timeline in a sentence: how long it is, and how much of it copies and kernels overlap."""
    end_ms = max(span.end_ms for span in spans)
    chunks, streams = len({span.chunk for span in spans}), len({span.stream for span in spans})
    if chunks == 1:
        return (
            f"1 chunk in {ms_text(end_ms)}: with no other one there is nothing to copy while it is computed. "
            "A batch of more than 100 has several."
        )
    kernels = _union([(span.begin_ms, span.end_ms) for span in spans if span.step == "kernels"])
    copies = _union([(span.begin_ms, span.end_ms) for span in spans if span.step != "kernels"])
    both = _length(kernels) + _length(copies) - _length(_union([*kernels, *copies]))
    share = percent_text(both / _length(copies)) if copies else "0 %"
    return (
        f"{chunks} chunks on {streams} streams in {ms_text(end_ms)}: copies take {ms_text(_length(copies))}, "
        f"{share} of that while kernels run."
    )


def _span_words(span: ChunkSpan) -> str:
    lasts = ms_text(span.end_ms - span.begin_ms)
    return f"Chunk {span.chunk}, stream {span.stream}, {span.step}: {lasts}, from {ms_text(span.begin_ms)} on"


def _union(spans: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return times as intervals that do not overlap."""
    found: list[tuple[float, float]] = []
    for begin, end in sorted(spans):
        if found and begin <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((begin, end))
    return found


def _length(spans: Sequence[tuple[float, float]]) -> float:
    return sum(end - begin for begin, end in spans)


def _colour(step: str) -> str:
    # Blue, green, orange of Okabe and Ito: known apart with any colour vision.
    return series_at({"copy in": 0, "kernels": 2}.get(step, 1)).colour
