"""Where the time of each stage goes: its layers as parts of one bar, a row for each stage that has run."""

from collections.abc import Iterator, Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from engine.results.quantities import ms_text, percent_text
from engine.tasks.network.problem import LayerTime
from gui.network.network_state import NetworkState
from gui.style.metrics import GRID, HALF_GRID
from gui.style.series import series_at, series_for
from gui.style.theme import current_theme, theme_notifier
from gui.widgets.bar_chart import Bar, BarChart, Row
from gui.widgets.legend import Legend, LegendEntry
from gui.widgets.panel_parts import Placeholder, column, scrolled

_EMPTY = (
    "How the time of each stage is shared among its layers.\n"
    "Press Run (Ctrl+R) for the chosen stage, or Run all for every stage."
)
_PREFIX = "network-"
# Parts of a stage with streams, which are no layers; in both themes each is known from its neighbours.
_STREAM_PARTS = ("copy in", "kernels", "copy out")
# Positions in the series of colours, of which two are blue: one of them for six layers.
_LAYER_COLOURS = 0, 1, 2, 3, 4, 7


class LayerTimesPanel(QWidget):
    """A bar for each stage, as wide as all others: how long it is stands at its end."""

    def __init__(self, network: NetworkState) -> None:
        super().__init__()
        self._network = network
        self.bars = BarChart("Time by layer and stage", row=4 * GRID, bar=2 * GRID)
        self.bars.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.legend = Legend("Colours of the layers")
        drawn = QWidget()
        drawn.setLayout(column(self.legend, (self.bars, 1), spacing=HALF_GRID))
        self._stack = Placeholder(scrolled(drawn))
        self.setLayout(column(self._stack, margins=(GRID, HALF_GRID, GRID, GRID)))
        network.rows_changed.connect(self._show)
        network.facts_changed.connect(self._show)
        theme_notifier().changed.connect(self._show)
        self._show()

    def _show(self) -> None:
        runs = self._network.runs
        order = [row.variant for row in self._network.rows] or list(runs)
        times = {stage: runs[stage].layers for stage in order if stage in runs and runs[stage].layers}
        drawn = {one.name for layers in times.values() for one in layers}
        layers = self._network.facts.layers if self._network.facts else ()
        names = [*(layer.key for layer in layers), *(part for part in _STREAM_PARTS if part in drawn)]
        rows = [self._row(stage, layers) for stage, layers in times.items()]
        described = (
            f"{row.name}, {row.figure}: "
            + ", ".join(f"{self._title(one.name)} {ms_text(one.ms)}" for one in layers)
            for row, layers in zip(rows, times.values(), strict=True)
        )
        self.legend.show_entries([LegendEntry(self._title(name), self._colour(name)) for name in names])
        self.bars.show_rows(rows, ". ".join(described) or _EMPTY)
        self._stack.say("" if rows else _EMPTY)

    def _row(self, stage: str, layers: Sequence[LayerTime]) -> Row:
        total, series = sum(one.ms for one in layers), series_for(stage)
        bars = tuple(self._bars(layers, max(total, 1e-9)))
        return Row(stage.removeprefix(_PREFIX), bars, ms_text(total), (series.glyph, series.colour))

    def _bars(self, layers: Sequence[LayerTime], total: float) -> Iterator[Bar]:
        begin = 0.0
        for one in layers:
            end = begin + one.ms / total
            words = f"{self._title(one.name)}: {ms_text(one.ms)}, {percent_text(one.ms / total)}"
            # Two layers in one kernel: the second one's colour is the stripe.
            first, *others = _keys(one.name)
            stripe = self._colour(others[-1]) if others else ""
            yield Bar(begin, end, self._colour(first), ms_text(one.ms).removesuffix(" ms"), words, stripe)
            begin = end

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
