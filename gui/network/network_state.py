"""The state of the page Network: drawing and answer, the chosen cell, and the stages as runs."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from html import escape
from itertools import accumulate, pairwise
from typing import Annotated

import msgspec
import numpy as np
from PySide6.QtCore import Signal

from engine.device_info import AUTO
from engine.errors import Reason
from engine.host.request import Availability, VariantInfo
from engine.results.columns import KERNEL, SPEED_UP, VARIANT, Column
from engine.results.measurement import Environment
from engine.results.metrics import Compared
from engine.results.text_forms import ms_text, percent_text
from engine.tasks.network.problem import MAX_BATCH, ForwardPass, LayerTime, NetworkResult, NetworkRun
from gui.network.drawing import SIDE, Drawing, Ink
from gui.network.layers import Facts, Floats, LayerCell, NetworkAnswer, Origin, origins, strongest_of
from gui.runs.bars import Run
from gui.runs.state import RunsState, TaskRun
from gui.style.theme import current_theme, series_at, theme_notifier
from gui.typed_json import Reading, Table
from gui.widgets.charts import Bar
from gui.widgets.labels import LegendEntry

_FIRST_COLUMNS = ("variant", KERNEL, SPEED_UP, "proof")
# Parts of a stage with streams, which are no layers; in both themes each is known from its neighbours.
_STREAM_PARTS = ("copy in", "kernels", "copy out")
# Positions in the series of colours, of which two are blue: one of them for six layers.
_LAYER_COLOURS = 0, 1, 2, 3, 4, 7


BASELINE = "network-serial"


# What a session keeps beside the runs, the ink in hexadecimal figures, row by row. Those of earlier versions
# also have a file of weights, and how the held-out digits are classified, which the command `network` says.
_FIGURES = 2 * SIDE * SIDE
_PART = {
    "stage": str,
    "batch": Annotated[int, msgspec.Meta(ge=1, le=MAX_BATCH)],
    "device": str,
    "weights": str,
    "ink": Annotated[str, msgspec.Meta(pattern="^[0-9a-f]*$", min_length=_FIGURES, max_length=_FIGURES)],
    "digits": object,
}


@dataclass(frozen=True, slots=True)
class NetworkSettings:
    """The stage that Run runs, the batch and the device."""

    stage: str = BASELINE
    batch: int = 100
    device: str = AUTO

    @property
    def problem(self) -> ForwardPass:
        return ForwardPass(self.batch)


class NetworkState(RunsState[NetworkSettings]):
    """Everything that the page shows."""

    facts_changed = Signal()  # `facts` or `why_no_facts`
    answer_changed = Signal()  # `answer` or `why_no_answer`
    cell_changed = Signal()  # `cell`, `is_kept` or `input_map`

    def __init__(self) -> None:
        super().__init__(NetworkSettings(), BASELINE, _FIRST_COLUMNS)
        self.facts: Facts | None = None
        self.why_no_facts = ""
        self.drawing = Drawing(self.undo_stack, self)
        self.answer: NetworkAnswer | None = None
        self.why_no_answer = ""
        self.cell: LayerCell | None = None
        # Whether the cell stays while the mouse moves over others.
        self.is_kept = False
        # The input map whose window is shown; None: the one that adds the most.
        self.input_map: int | None = None
        theme_notifier().changed.connect(self._forget_bars)
        self.selection.selectionChanged.connect(self._take_selected)
        for changed in (self.settings_changed, self.running_changed):
            changed.connect(self.mark)

    def set_facts(self, facts: Facts | None, why_not: str = "") -> None:
        if facts is not None or (self.facts, self.why_no_facts) != (None, why_not):
            self.facts, self.why_no_facts = facts, why_not
            self.facts_changed.emit()

    def set_answer(self, answer: NetworkAnswer | None, why_not: str = "") -> None:
        if answer is not None or (self.answer, self.why_no_answer) != (None, why_not):
            self.answer, self.why_no_answer = answer, why_not
            if self.cell is None and answer is not None:
                # One to begin with: the largest value of the first layer.
                first = answer.values[0]
                at = np.unravel_index(int(first.argmax()), first.shape)
                self.cell = LayerCell(0, *(int(one) for one in at))
            self.answer_changed.emit()

    def point(self, cell: LayerCell | None, *, keep: bool = False) -> None:
        """Choose a cell; one that is kept stays until it is released or another is kept."""
        if self.is_kept and not keep:
            return
        if (cell, keep) != (self.cell, self.is_kept):
            of_map = [one and (one.layer, one.map) for one in (cell, self.cell)]
            if cell is None or of_map[0] != of_map[1]:
                self.input_map = None
            self.cell, self.is_kept = cell, keep
            self.cell_changed.emit()

    def release_cell(self) -> None:
        """Let the chosen cell follow the mouse again."""
        if self.is_kept:
            self.is_kept = False
            self.cell_changed.emit()

    def show_origin_map(self, number: int | None) -> None:
        """Show the window of another input map; None: of the one that adds the most."""
        if number != self.input_map:
            self.input_map = number
            self.cell_changed.emit()

    def all_origins(self) -> tuple[Origin, ...]:
        """Return where the chosen value comes from: an entry for each input map; none without a value."""
        if self.facts is None or self.answer is None or self.cell is None:
            return ()
        return origins(self.facts, self.answer.values, self.answer.drawing, self.cell)

    @property
    def shown_origin(self) -> Origin | None:
        """The part of `all_origins` that is shown in figures."""
        if not (parts := self.all_origins()):
            return None
        return next((one for one in parts if one.map == self.input_map), None) or strongest_of(parts)

    def value_of(self, cell: LayerCell) -> float:
        assert self.answer is not None
        values: Floats = self.answer.values[cell.layer]
        return float(values[cell.column] if values.ndim == 1 else values[cell.map, cell.row, cell.column])

    def digit_of(self, ink: Ink) -> int | None:
        """Return which held-out digit the ink is, if it is one and they are known."""
        if self.facts is None:
            return None
        same = np.flatnonzero((self.facts.digits == ink).all(axis=(1, 2)))
        return int(same[0]) if same.size else None

    def own_part(self) -> Table:
        return {**asdict(self.settings), "ink": self.drawing.ink.tobytes().hex()}

    def take_own_part(self, part: Table, reading: Reading) -> Callable[[], object] | None:
        # What shows its drawing is the step of undo.
        saved = reading.fields(part, _PART)
        if self.facts is not None and "stage" in saved and self.known_stage(saved["stage"]) is None:
            reading.leave_out('"stage"', "the network has no such stage")
            del saved["stage"]
        self.change(**{name: saved[name] for name in ("stage", "batch", "device") if name in saved})
        if saved.get("weights"):
            why = "the window has the trained ones; the command network takes others"
            reading.leave_out('"weights"', why)
        figures = bytes.fromhex(saved["ink"]) if "ink" in saved else self.drawing.ink.tobytes()
        ink = np.frombuffer(figures, np.uint8).reshape(SIDE, SIDE).copy()
        if np.array_equal(ink, self.drawing.ink):
            return None
        return lambda: self.drawing.show_ink(ink, self.digit_of(ink), "Open session")

    def result_of(self, run: NetworkRun) -> NetworkResult:
        return run.result

    def known_stage(self, stage: str) -> VariantInfo | None:
        """Return what the engine says about a stage; None while the network is not known."""
        return next((one for one in self.facts.stages if one.key == stage), None) if self.facts else None

    def row_of(self, listed: Availability) -> NetworkResult:
        return self._unrun(listed.variant, listed.reason, refused=bool(listed.reason))

    def is_marked(self, row: NetworkResult) -> bool:
        return row.variant == self.settings.stage

    def _take_selected(self) -> None:
        """Have Run run the one stage that is selected."""
        selected = self.selected
        if len(selected) == 1 and not self.running:
            self.change(stage=selected[0].result.variant)

    def fail(self, stage: str, reason: Reason) -> None:
        """Store why a stage's run came to nothing."""
        self.add(NetworkRun(self._unrun(stage, reason, refused=False)))

    def _unrun(self, stage: str, reason: Reason | None, *, refused: bool) -> NetworkResult:
        known = self.known_stage(stage)
        title, kind = (known.title, known.kind) if known else (stage, "")
        device = "cpu" if kind == "cpu" else self.settings.device
        machine = Environment("")
        problem = self.settings.problem
        return NetworkResult(stage, title, device, problem, None, machine, failure=reason, refused=refused)

    def parts_of(self, run: Run) -> tuple[Bar, ...]:
        layers = self._layers_of(run)
        total = sum(one.ms for one in layers) or 1.0
        ends = [0.0, *(end / total for end in accumulate(one.ms for one in layers))]
        # Two layers in one kernel: the second one's colour is the stripe.
        colours = [tuple(map(self._colour, one.name.split(" + "))) for one in layers]
        return tuple(
            Bar(*extent, colour, stripe=stripes[-1] if stripes else "")
            for extent, (colour, *stripes) in zip(pairwise(ends), colours, strict=True)
        )

    def legend(self) -> list[LegendEntry]:
        """Return the colours of the layers, and of what else is drawn; none before a stage has run."""
        drawn = {one.name for run in self.runs.values() for one in run.layers}
        names = [*(self._titles if drawn else ()), *(part for part in _STREAM_PARTS if part in drawn)]
        return [LegendEntry(self._title(name), self._colour(name)) for name in names]

    def words(self, run: Compared) -> str:
        return "; ".join((super().words(run), *self._layers_in_words(run.result)))

    def _tooltip(self, key: str, run: Compared) -> str:
        words, known = super()._tooltip(key, run), self.known_stage(run.result.variant)
        if key == VARIANT.key and known is not None:
            return f"{words}<br>{escape(known.idea)}"
        layers = self._layers_in_words(run.result) if key == KERNEL else ()
        return "\n".join((*layers, *([""] if layers else ()), words))

    def _head(self, column: Column) -> str:
        return "Time by layer" if column.key == KERNEL and self.bars.parts else super()._head(column)

    def _layers_of(self, run: Run) -> Sequence[LayerTime]:
        kept = self.kept_of(run)
        return kept.whole.layers if isinstance(kept, TaskRun) else ()

    def _layers_in_words(self, run: Run) -> list[str]:
        layers = self._layers_of(run)
        total = sum(one.ms for one in layers) or 1.0
        of_layers = ((self._title(one.name), one.ms) for one in layers)
        return [f"{title}: {ms_text(ms)}, {percent_text(ms / total)}" for title, ms in of_layers]

    @property
    def _titles(self) -> dict[str, str]:
        return {layer.key: layer.title for layer in self.facts.layers} if self.facts else {}

    def _title(self, name: str) -> str:
        return " + ".join(self._titles.get(key, key) for key in name.split(" + "))

    def _colour(self, key: str) -> str:
        keys = list(self._titles)
        if key in keys:
            return series_at(_LAYER_COLOURS[keys.index(key) % len(_LAYER_COLOURS)]).colour
        theme = current_theme()
        return theme.text if key.startswith("copy") else theme.outline
