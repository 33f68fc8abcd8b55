"""The stages as runs: the bar of each is its time by layer, as wide as all others."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from engine.device_info import AUTO
from engine.host.messages import VariantInfo
from engine.host.protocol import Availability
from engine.reason import Reason
from engine.results.columns import KERNEL, SPEED_UP, VARIANT, Column
from engine.results.compare import Compared
from engine.results.measurement import Environment
from engine.results.problem import TaskProblem
from engine.results.quantities import ms_text, percent_text
from engine.tasks.network.messages import NetworkRun
from engine.tasks.network.problem import ForwardPass, LayerTime, NetworkResult
from gui.network.layers import Facts
from gui.runs.bars import Part
from gui.runs.kept import Run
from gui.runs.state import RunsState, Shared, TaskRun
from gui.style.series import series_at
from gui.style.theme import current_theme, theme_notifier
from gui.widgets.legend import LegendEntry

_FIRST_COLUMNS = ("variant", KERNEL, SPEED_UP, "proof")
# Parts of a stage with streams, which are no layers; in both themes each is known from its neighbours.
_STREAM_PARTS = ("copy in", "kernels", "copy out")
# Positions in the series of colours, of which two are blue: one of them for six layers.
_LAYER_COLOURS = 0, 1, 2, 3, 4, 7


BASELINE = "network-serial"


@dataclass(frozen=True, slots=True)
class NetworkSettings:
    """The stage that Run runs, the batch and the device."""

    stage: str = BASELINE
    batch: int = 100
    device: str = AUTO

    @property
    def problem(self) -> ForwardPass:
        """What is computed."""
        return ForwardPass(self.batch)


class StagesModel(RunsState[NetworkSettings]):
    """The stages and their runs, with the times of their layers."""

    def __init__(self) -> None:
        super().__init__(NetworkSettings(), BASELINE, _FIRST_COLUMNS)
        self.facts: Facts | None = None
        # File of the weights; empty for the program's own.
        self.weights = ""
        theme_notifier().changed.connect(self._forget_bars)
        self.selection.selectionChanged.connect(self._take_selected)
        for changed in (self.settings_changed, self.running_changed):
            changed.connect(self.mark)

    @property
    def runs(self) -> dict[str, NetworkRun]:
        """The runs of this batch on this device with these weights, by the key of the stage."""
        return {str(key): run for key, run in self.shown_runs.items()}

    def result_of(self, run: NetworkRun) -> NetworkResult:
        return run.result

    def shared_by(self, problem: TaskProblem) -> Shared:
        return super().shared_by(problem)._replace(weights=self.weights)

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

    def parts_of(self, run: Run) -> tuple[Part, ...]:
        layers = self._layers_of(run)
        total = sum(one.ms for one in layers) or 1.0
        ends = [sum(one.ms for one in layers[:at]) / total for at in range(len(layers) + 1)]
        # Two layers in one kernel: the second one's colour is the stripe.
        colours = [tuple(map(self._colour, _keys(one.name))) for one in layers]
        return tuple(
            Part(*room, colour, stripes[-1] if stripes else "")
            for room, (colour, *stripes) in zip(pairwise(ends), colours, strict=True)
        )

    def legend(self) -> list[LegendEntry]:
        """Return the colours of the layers, and of what else is drawn; none before a stage has run."""
        drawn = {one.name for run in self.runs.values() for one in run.layers}
        layers = self.facts.layers if self.facts and drawn else ()
        names = [*(layer.key for layer in layers), *(part for part in _STREAM_PARTS if part in drawn)]
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
        return [
            f"{self._title(one.name)}: {ms_text(one.ms)}, {percent_text(one.ms / total)}" for one in layers
        ]

    def _title(self, name: str) -> str:
        layers = self.facts.layers if self.facts else ()
        titles = {layer.key: layer.title for layer in layers}
        return " + ".join(titles.get(key, key) for key in _keys(name))

    def _colour(self, key: str) -> str:
        layers = self.facts.layers if self.facts else ()
        keys = [layer.key for layer in layers]
        if key in keys:
            return series_at(_LAYER_COLOURS[keys.index(key) % len(_LAYER_COLOURS)]).colour
        theme = current_theme()
        return theme.text if key.startswith("copy") else theme.outline


def _keys(name: str) -> list[str]:
    return name.split(" + ")
