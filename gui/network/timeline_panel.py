"""The timeline of a stage with streams: which chunk is copied while which one is computed."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from engine.results.quantities import digits_text, ms_text, percent_text
from engine.tasks.network.problem import ChunkSpan
from gui.network.network_state import NetworkState
from gui.style.metrics import GRID, HALF_GRID
from gui.style.series import series_at
from gui.style.theme import theme_notifier
from gui.widgets.bar_chart import Bar, BarChart, Row
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.legend import Legend, LegendEntry
from gui.widgets.panel_parts import Placeholder, column, scrolled

_EMPTY = "Copies and kernels over time.\nRun network-streams on a CUDA device with a batch of more than 100."
# Blue, green, orange of Okabe and Ito: known apart with any colour vision.
_STEPS = {"copy in": 0, "kernels": 2, "copy out": 1}
_TICKS = 4


class TimelinePanel(QWidget):
    """The timeline of the newest run that has one, and in a sentence how much it overlaps."""

    def __init__(self, network: NetworkState) -> None:
        super().__init__()
        self._network = network
        self.chart = BarChart("Timeline of the streams", row=4 * GRID, bar=3 * GRID)
        self.chart.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.sentence = ElidedLabel(most=3, small=True)
        self.legend = Legend("Colours of the steps")
        drawn = QWidget()
        parts = self.sentence, self.legend, (scrolled(self.chart), 1)
        drawn.setLayout(column(*parts, spacing=HALF_GRID))
        self.stack = Placeholder(drawn)
        self.setLayout(column(self.stack, margins=(GRID, HALF_GRID, GRID, GRID)))
        network.rows_changed.connect(self._show)
        theme_notifier().changed.connect(self._show)
        self._show()

    def _show(self) -> None:
        runs = [run for run in self._network.runs.values() if run.timeline]
        spans = runs[-1].timeline if runs else ()
        self.stack.say("" if spans else _EMPTY)
        if not spans:
            return
        words = timeline_words(spans)
        self.sentence.setText(words)
        end_ms = max(span.end_ms for span in spans)
        rows = [
            Row(f"Stream {stream}", tuple(_bar(span, end_ms) for span in spans if span.stream == stream))
            for stream in sorted({span.stream for span in spans})
        ]
        shares = [tick / _TICKS for tick in range(_TICKS + 1)]
        marks = ["0", *(digits_text(end_ms * share, 2) for share in shares[1:])]
        marks[-1] += " ms"
        self.legend.show_entries([LegendEntry(step, _colour(step)) for step in _STEPS])
        self.chart.show_rows(rows, words, list(zip(shares, marks, strict=True)))


def _bar(span: ChunkSpan, end_ms: float) -> Bar:
    end_ms = max(end_ms, 1e-9)
    begin, end = span.begin_ms / end_ms, span.end_ms / end_ms
    return Bar(begin, end, _colour(span.step), str(span.chunk), _span_words(span))


def _colour(step: str) -> str:
    return series_at(_STEPS[step]).colour


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
