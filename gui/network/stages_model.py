"""The stages as runs: the bar of each is its time by layer, as wide as all others."""

from collections.abc import Sequence
from itertools import pairwise

from engine.results.columns import KERNEL, SPEED_UP, Column
from engine.results.compare import Compared
from engine.results.quantities import ms_text, percent_text
from engine.tasks.network.problem import LayerTime
from gui.network.network_state import BASELINE, NetworkState
from gui.runs.bars import Part
from gui.runs.model import Run
from gui.runs.state import StateRuns
from gui.style.series import series_at
from gui.style.theme import current_theme, theme_notifier
from gui.widgets.legend import LegendEntry

_FIRST_COLUMNS = ("variant", KERNEL, SPEED_UP, "proof")
# Parts of a stage with streams, which are no layers; in both themes each is known from its neighbours.
_STREAM_PARTS = ("copy in", "kernels", "copy out")
# Positions in the series of colours, of which two are blue: one of them for six layers.
_LAYER_COLOURS = 0, 1, 2, 3, 4, 7


class StagesModel(StateRuns):
    """The runs of the stages that are shown, with the times of their layers."""

    def __init__(self, network: NetworkState) -> None:
        self._network = network
        super().__init__(network, BASELINE, _FIRST_COLUMNS)
        theme_notifier().changed.connect(self._forget_bars)

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
        drawn = {one.name for run in self._network.runs.values() for one in run.layers}
        layers = self._network.facts.layers if self._network.facts and drawn else ()
        names = [*(layer.key for layer in layers), *(part for part in _STREAM_PARTS if part in drawn)]
        return [LegendEntry(self._title(name), self._colour(name)) for name in names]

    def words(self, run: Compared) -> str:
        return "; ".join((super().words(run), *self._layers_in_words(run.result)))

    def _tooltip(self, key: str, run: Compared) -> str:
        layers = self._layers_in_words(run.result) if key == KERNEL else ()
        return "\n".join((*layers, *([""] if layers else ()), super()._tooltip(key, run)))

    def _head(self, column: Column) -> str:
        return "Time by layer" if column.key == KERNEL and self.bars.parts else super()._head(column)

    def _layers_of(self, run: Run) -> Sequence[LayerTime]:
        shown = self._network.runs.get(run.variant)
        return shown.layers if shown is not None and shown.result is run else ()

    def _layers_in_words(self, run: Run) -> list[str]:
        layers = self._layers_of(run)
        total = sum(one.ms for one in layers) or 1.0
        return [
            f"{self._title(one.name)}: {ms_text(one.ms)}, {percent_text(one.ms / total)}" for one in layers
        ]

    def _title(self, name: str) -> str:
        layers = self._network.facts.layers if self._network.facts else ()
        titles = {layer.key: layer.title for layer in layers}
        return " + ".join(titles.get(key, key) for key in _keys(name))

    def _colour(self, key: str) -> str:
        layers = self._network.facts.layers if self._network.facts else ()
        keys = [layer.key for layer in layers]
        if key in keys:
            return series_at(_LAYER_COLOURS[keys.index(key) % len(_LAYER_COLOURS)]).colour
        theme = current_theme()
        return theme.text if key.startswith("copy") else theme.outline


def _keys(name: str) -> list[str]:
    return name.split(" + ")
