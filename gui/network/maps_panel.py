"""Every layer's values of the drawing, from the first convolution to the ten scores."""

from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QWidget

from engine.tasks.network.problem import LAYERS, Layer
from gui.network.layer_view import LayerView, grid_of
from gui.network.layers import cell_name, is_pool, is_vector, name_of, shape_text, where_from, windows
from gui.network.network_state import NetworkState
from gui.style.metrics import GRID, HALF_GRID, scaled_font
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.panel_parts import Placeholder, column, quiet_label, row, scrolled

_STARTING = "The network is shown here once the engine is ready."
_SIDES = range(12 * GRID, 3 * GRID - 1, -HALF_GRID)
"""Sides of a map, pixels, the largest first: that which fits the panel is taken."""


class MapsPanel(QWidget):
    """A picture for each map; the chosen cell and the windows that it comes from are marked."""

    def __init__(self, network: NetworkState) -> None:
        super().__init__()
        self._network = network
        self.views: list[LayerView] = []
        self._titles: list[QWidget] = []
        self._content = QWidget()
        self._make_views()
        self._area = scrolled(self._content)
        self.stack = Placeholder(self._area)
        self.empty_text = self.stack.label
        self.empty_text.setContentsMargins(4 * GRID, GRID, 4 * GRID, GRID)
        self.setLayout(column(self.stack))
        network.facts_changed.connect(self._show)
        network.answer_changed.connect(self._show)
        network.cell_changed.connect(self._mark)
        self._show()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _make_views(self) -> None:
        # Now, not with the engine's facts: widgets made later come last for Tab.
        layers = LAYERS
        parts: list[QWidget] = []
        for at, layer in enumerate(layers):
            view = LayerView(layer, at)
            title = _Title(layer.title, _how(layers, at), view)
            view.pointed.connect(self._network.point)
            view.chosen.connect(lambda cell: self._network.point(cell, keep=True))
            view.release_cell.connect(self._network.release_cell)
            self._titles.append(title)
            self.views.append(view)
            parts += [title, view]
        margins = (GRID, HALF_GRID, GRID, HALF_GRID)
        self._content.setLayout(column(*parts, 1, spacing=HALF_GRID, margins=margins))

    def _show(self) -> None:
        network = self._network
        has_values = network.answer is not None and network.facts is not None
        why_not = network.why_no_answer or "The drawing is being recognised."
        if network.facts is None:
            why_not = network.why_no_facts or _STARTING
        self.stack.say("" if has_values else why_not)
        for view in self.views:
            view.show_values(network.answer.values[view.position] if network.answer else None)
        self._mark()

    def _mark(self) -> None:
        network = self._network
        cell, facts = network.cell, network.facts
        if facts is None:
            return
        marked = cell if network.answer is not None else None
        origin = None if marked is None else network.shown_origin
        seen = {} if marked is None else {at: window for at, *window in windows(facts.layers, marked)}
        for view in self.views:
            window = None
            if marked is not None and view.position in seen:
                rows, columns = seen[view.position]
                # A pool keeps maps apart; a convolution and a connected layer take all input maps.
                between = facts.layers[view.position + 1 : marked.layer + 1]
                window = (marked.map if all(map(is_pool, between)) else None, rows, columns)
            is_before = origin is not None and origin.before == view.position
            view.mark(marked, network.is_kept, window, origin.map if origin and is_before else None)
            if marked is None or marked.layer != view.position:
                view.describe("")
            else:
                value = network.value_of(marked)
                words = where_from(facts, marked, value, network.all_origins())
                view.describe(f"{cell_name(facts.layers, marked)}: {words}")

    def _fit(self) -> None:
        """Take the largest maps with which all layers are in view, or else the smallest."""
        bar = self._area.verticalScrollBar().sizeHint().width()
        width, spare = self.width() - 2 * GRID, self.height() - GRID
        titles = sum(title.sizeHint().height() for title in self._titles)
        spare -= titles + HALF_GRID * 2 * len(self.views) + 2 * len(self.views)

        def fits(side: int) -> bool:
            return sum(grid_of(view.layer, side, width).height for view in self.views) <= spare

        side = next((side for side in _SIDES if fits(side)), _SIDES[-1])
        width -= 0 if fits(side) else bar
        for view in self.views:
            view.set_side(side, width)


class _Title(QWidget):
    """The name of a layer, and what it gives and how, which is cut where there is no room."""

    def __init__(self, title: str, how: str, view: LayerView) -> None:
        super().__init__()
        name, details = quiet_label(title), ElidedLabel(small=True)
        name.setFont(scaled_font(0.9, bold=True))
        name.setBuddy(view)
        details.setText(how)
        self.setLayout(row(name, (details, 1), spacing=2 * GRID))


def _how(layers: tuple[Layer, ...], at: int) -> str:
    """Return what a layer gives, and how."""
    layer = layers[at]
    before = name_of(layers, at - 1)
    how = {
        True: "averages of 2 × 2 cells",
        False: f"5 × 5 filters on {before}" if at == 0 else f"5 × 5 filters on all maps of {before}",
    }[is_pool(layer)]
    if is_vector(layer):
        how = f"weighted sums of all values of {before}"
    return f"{shape_text(layer)} · {how}"
