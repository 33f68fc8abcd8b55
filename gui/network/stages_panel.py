"""The stages: a table of all of them with their runs, batch and device of the next, and their timeline."""

import math
from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QWidget

from engine.results.text_forms import digits_text, ms_text, percent_text
from engine.tasks.network.problem import MAX_BATCH, SIMULATOR_BATCH, ChunkSpan
from gui.engine_link.device_box import DeviceBox
from gui.engine_link.engine_state import EngineState
from gui.network.network_state import NetworkState
from gui.runs.table import RunsPanel, RunsTable
from gui.style.metrics import GRID, HALF_GRID, at_present_letters, digits_width, follow, follow_letters
from gui.style.theme import series_at, theme_notifier
from gui.widgets.charts import Bar, BarChart, BarRow
from gui.widgets.fields import NumberBox
from gui.widgets.labels import ElidedLabel, Legend, LegendEntry
from gui.widgets.panel_parts import PlaceholderStack, boxed, column, label_for, row, scrolled

_EMPTY = "The stages are listed here once the engine is ready."
_BATCH_TEACHES = (
    "How many drawings go through the network together: the held-out digits, repeated. The arrows go from 1 "
    "to 10,000 in powers of ten; what the memory cannot hold is refused."
)
_BUSY = "Stage, batch and device stay as they are during a run; Esc cancels it."
_HIDDEN = (
    *("kernel_p20_ms", "kernel_p80_ms", "end_to_end_median_ms", "error_bound", "max_error"),
    # The name of a stage says the device.
    *("drawings_per_s", "network_gflops", "device"),
)
_SHOWN = dict.fromkeys(_HIDDEN, False) | {"speed_up": True}
_TYPICAL = {"variant": "■  network-implicit-gemm", "proof": "No NVIDIA driver"}
# With less height, letters of the usual size, there is no legend.
_LOW = 21 * GRID
# The arrows go through these.
_BATCH_DIGITS = 5
_BATCHES = (1, 10, 100, 1000, 10_000)


class StagesPanel(RunsPanel):
    """Edits `NetworkSettings`: the selected row is the stage that Run runs."""

    def __init__(self, network: NetworkState, engine_state: EngineState) -> None:
        super().__init__(network, RunsTable(network, "Stages of the network", _SHOWN, _TYPICAL), _EMPTY)
        self._network = network
        wanted = f"a whole number from 1 to {MAX_BATCH:,}"
        self.batch = NumberBox("Batch", 1, MAX_BATCH, wanted, follows=_next_batch)
        self.device = DeviceBox(network, engine_state, f"Batches up to {SIMULATOR_BATCH}")
        self.note = ElidedLabel(small=True)
        self.legend = Legend("Colours of the layers")
        self._refusal = ""
        # Its widest number is rare, and in the narrowest window the stages need the room.
        follow_letters(self.batch, lambda: self.batch.setMaximumWidth(digits_width(_BATCH_DIGITS) + 5 * GRID))
        self.device.setMinimumContentsLength(5)
        batch = label_for("&Batch", self.batch), self.batch
        device = label_for("&Device", self.device), (self.device, 1)
        choices = row(*batch, *device, 1, spacing=HALF_GRID)
        line = row((self.note, 1), self.more, spacing=HALF_GRID)
        parts = choices, line, (self.stack, 1), self.legend
        self.setLayout(column(*parts, spacing=HALF_GRID, margins=(GRID, HALF_GRID, GRID, GRID)))
        self.batch.valueChanged.connect(lambda: network.change(batch=self.batch.value()))
        self.batch.refused.connect(self._refuse)
        network.entering.connect(self._enter)
        of_state = network.facts_changed, network.settings_changed, network.rows_changed
        follow(self._show, *of_state, network.running_changed, theme_notifier().changed)

    def _enter(self, refusals: list[str]) -> None:
        self._refuse("")
        self.batch.interpretText()
        if self._refusal:
            refusals.append(self._refusal)

    def _refuse(self, why: str) -> None:
        self._refusal = why
        self._show()

    def _show(self) -> None:
        network = self._network
        busy = _BUSY if network.running else ""
        self.batch.show_value(network.settings.batch)
        for control in (self.batch, self.device):
            control.setEnabled(not busy)
        self.note.setText(self._refusal or busy or self.device.note or network.refusals)
        self.batch.setToolTip(f"{_BATCH_TEACHES} {busy}".strip())
        self._show_legend()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._show_legend()

    def _show_legend(self) -> None:
        entries = self._network.legend()
        self.legend.show_entries(entries)
        # In a low panel the rows need the room; their tooltips name the layers too.
        self.legend.setVisible(bool(entries) and self.height() >= at_present_letters(_LOW))


def _next_batch(batch: int, up: bool) -> int:
    if up:
        return next((one for one in _BATCHES if one > batch), batch)
    return next((one for one in reversed(_BATCHES) if one < batch), batch)


_NO_TIMELINE = (
    "Copies and kernels over time.\nRun network-streams on a CUDA device with a batch of more than 100."
)
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
        parts = self.sentence, self.legend, (scrolled(self.chart), 1)
        self.stack = PlaceholderStack(boxed(column(*parts, spacing=HALF_GRID)))
        self.setLayout(column(self.stack, margins=(GRID, HALF_GRID, GRID, GRID)))
        follow(self._show, network.rows_changed, theme_notifier().changed)

    def _show(self) -> None:
        runs = [run for run in self._network.runs.values() if run.timeline]
        spans = runs[-1].timeline if runs else ()
        self.stack.say("" if spans else _NO_TIMELINE)
        if not spans:
            return
        words = timeline_words(spans)
        self.sentence.setText(words)
        end_ms = max(span.end_ms for span in spans)
        rows = [
            BarRow(f"Stream {stream}", tuple(_bar(span, end_ms) for span in spans if span.stream == stream))
            for stream in sorted({span.stream for span in spans})
        ]
        shares = [tick / _TICKS for tick in range(_TICKS + 1)]
        marks = ["0", *(digits_text(end_ms * share, 2) for share in shares[1:])]
        marks[-1] += " ms"
        self.legend.show_entries([LegendEntry(step, series_at(at).colour) for step, at in _STEPS.items()])
        self.chart.show_rows(rows, words, list(zip(shares, marks, strict=True)))


def _bar(span: ChunkSpan, end_ms: float) -> Bar:
    begin, end = (at / max(end_ms, 1e-9) for at in (span.begin_ms, span.end_ms))
    lasts, since = ms_text(span.end_ms - span.begin_ms), ms_text(span.begin_ms)
    words = f"Chunk {span.chunk}, stream {span.stream}, {span.step}: {lasts}, from {since} on"
    return Bar(begin, end, series_at(_STEPS[span.step]).colour, str(span.chunk), words)


def timeline_words(spans: Sequence[ChunkSpan]) -> str:
    """Return a timeline in a sentence: how long it is, and how much of it copies and kernels overlap."""
    end_ms = max(span.end_ms for span in spans)
    chunks, streams = len({span.chunk for span in spans}), len({span.stream for span in spans})
    if chunks == 1:
        return (
            f"1 chunk in {ms_text(end_ms)}: with no other one there is nothing to copy while it is computed. "
            "A batch of more than 100 has several."
        )

    def lasting(*steps: str) -> float:
        """Return how long at least one of them lasts."""
        length, last = 0.0, -math.inf
        for begin, end in sorted((span.begin_ms, span.end_ms) for span in spans if span.step in steps):
            length += max(0.0, end - max(begin, last))
            last = max(last, end)
        return length

    kernels, copies, whole = lasting("kernels"), lasting("copy in", "copy out"), lasting(*_STEPS)
    share = percent_text((kernels + copies - whole) / copies) if copies else "0 %"
    return (
        f"{chunks} chunks on {streams} streams in {ms_text(end_ms)}: copies take {ms_text(copies)}, "
        f"{share} of that while kernels run."
    )
