"""Where the chosen value comes from: a sentence, the window and the filter in figures, the way to Explore."""

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QPushButton, QWidget

from engine.mask.mask import Mask
from gui.network.layers import cell_name, is_pool, is_vector, name_of, where_from
from gui.network.network_state import NetworkState
from gui.style.metrics import GRID, HALF_GRID, follow, number_font, scaled_font
from gui.widgets.fields import NumberBox
from gui.widgets.labels import ElidedLabel
from gui.widgets.number_table import ValueTable, number
from gui.widgets.panel_parts import Refusal, boxed, column, label_for, named, row, scrolled

_EMPTY = (
    "Point at a cell of a map, or walk there with the arrow keys: the window that its value comes from is "
    "shown here. A click keeps the cell."
)
_TO_EXPLORE = "Filter to Explore"
_TEACHES = (
    "Take the weights of this filter as the mask of the page Explore, to see what it does to a picture. "
    "The network correlates, so nothing is flipped."
)


class CellPanel(QWidget):
    """The right panel; `take_mask` gets a filter as a mask."""

    def __init__(self, network: NetworkState, take_mask: Callable[[Mask], object]) -> None:
        super().__init__()
        self._network = network
        flags = Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        self.cell_name = QLabel(wordWrap=True, textInteractionFlags=flags)
        self.sentence = named(QLabel(wordWrap=True, textInteractionFlags=flags), "Where the value comes from")
        self.before = NumberBox("Input map", 0, 0, "a whole number")
        self.refusal = Refusal()
        self.before.refused.connect(self.refusal.say)
        # They are cut where the panel is narrow, and do not widen what is in it.
        self.adds = ElidedLabel()
        self.window_title, self.filter_title = ElidedLabel(small=True), ElidedLabel(small=True)
        self.window_table = ValueTable("Window", is_signed=False)
        self.filter_table = ValueTable("Weights", is_signed=True)
        self.to_explore = QPushButton(_TO_EXPLORE)
        self.cell_name.setFont(scaled_font(1.0, bold=True))
        self.before.setToolTip("Which input map is shown in figures; at first the one that adds the most.")
        self.adds.setFont(number_font())
        self.to_explore.setToolTip(_TEACHES)
        self._which = boxed(row(label_for("Input &map", self.before), self.before, (self.adds, 1)))
        window = column(self.window_title, self.window_table, spacing=HALF_GRID)
        weights = column(self.filter_title, self.filter_table, spacing=HALF_GRID)
        parts = self.cell_name, self.sentence, self._which, self.refusal, window, weights, self.to_explore
        margins = (GRID, GRID, GRID, HALF_GRID)
        self.setLayout(column(scrolled(boxed(column(*parts, 1, spacing=HALF_GRID, margins=margins)))))
        self.before.valueChanged.connect(lambda: network.show_origin_map(self.before.value()))
        self._take_mask = take_mask
        self.to_explore.clicked.connect(self._give_filter)
        follow(self._show, network.cell_changed, network.answer_changed, network.facts_changed)

    def _give_filter(self) -> None:
        facts, cell, origin = self._network.facts, self._network.cell, self._network.shown_origin
        if facts is not None and cell is not None and origin is not None and origin.weights is not None:
            of_map = f", map {origin.map}" if origin.maps > 1 else ""
            name = f"{facts.layers[cell.layer].title}, filter {cell.map}{of_map}"
            self._take_mask(Mask(origin.weights, name=name))

    def _show(self) -> None:
        network = self._network
        facts, cell, origin = network.facts, network.cell, network.shown_origin
        has_cell = facts is not None and cell is not None and origin is not None
        for part in (self.cell_name, self._which, self.window_title, self.filter_title, self.to_explore):
            part.setVisible(has_cell)
        if facts is None or cell is None or origin is None:
            self.sentence.setText(_EMPTY)
            self.window_table.show_values(None, 1.0)
            self.filter_table.show_values(None, 1.0)
            return
        layer = facts.layers[cell.layer]
        self.cell_name.setText(cell_name(facts.layers, cell))
        self.sentence.setText(where_from(facts, cell, network.value_of(cell), network.all_origins()))
        self._which.setVisible(origin.maps > 1)
        self.refusal.say("")
        self.before.show_place(origin.map, origin.maps)
        self.adds.setText(f"adds {number(origin.adds)}")
        of_map = "" if origin.maps == 1 and not is_pool(layer) else f", map {origin.map}"
        name = name_of(facts.layers, origin.before)
        rows, columns = origin.rows, origin.columns
        window = f"rows {rows[0]}–{rows[-1]}, columns {columns[0]}–{columns[-1]}"
        self.window_title.setText(f"{name[:1].upper()}{name[1:]}{of_map}: {window}")
        answer, weights = network.answer, origin.weights
        # What has the strongest colour in the layer before, as its maps have it.
        largest = float(answer.values[origin.before].max()) if answer and origin.before >= 0 else 1.0
        self.window_table.show_values(origin.values, largest)
        self.filter_title.setVisible(weights is not None)
        self.filter_table.show_values(weights, 1.0 if weights is None else float(abs(weights).max()))
        of_filter = f"Weights of value {cell.column}" if is_vector(layer) else f"Filter {cell.map}"
        self.filter_title.setText(f"{of_filter}{of_map if origin.maps > 1 else ''}")
        self.to_explore.setVisible(not is_pool(layer) and not is_vector(layer))
