"""The state of the page Network: the drawing and its answer, the chosen cell, and the runs of the stages."""

import numpy as np
from PySide6.QtCore import Signal

from engine.tasks.network.problem import Confusion
from gui.network.drawing import Drawing
from gui.network.layers import Answer, Cell, Facts, Floats, Origin, is_vector, origins, strongest_of
from gui.network.stages_model import StagesModel


class NetworkState(StagesModel):
    """Everything that the page shows."""

    facts_changed = Signal()  # `facts` or `why_no_facts`
    answer_changed = Signal()  # `answer` or `why_no_answer`
    cell_changed = Signal()  # `cell`, `is_kept` or `input_map`
    confusion_changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.drawing = Drawing(self.undo_stack, self)
        self.why_no_facts = ""
        self.answer: Answer | None = None
        self.why_no_answer = ""
        self.cell: Cell | None = None
        # Whether the cell stays while the mouse moves over others.
        self.is_kept = False
        # The input map whose window is shown; None: the one that adds the most.
        self.input_map: int | None = None
        self.confusions: dict[str, Confusion] = {}
        """How the held-out digits are classified, by the file of the weights."""

    @property
    def confusion(self) -> Confusion | None:
        """How the held-out digits are classified with these weights; None where nobody asked."""
        found = self.confusions.get(self.weights)
        known = len(self.facts.labels) if self.facts else 0
        # A session may be of other digits.
        return found if found and all(number < known for number in found.wrong) else None

    def set_facts(self, facts: Facts, weights: str = "") -> None:
        """Store what the network is, with the weights of a file; what they gave is shown."""
        is_other = weights != self.weights
        self.facts, self.why_no_facts, self.weights = facts, "", weights
        if is_other:
            self.confusion_changed.emit()
            self._show_kept()
        self.facts_changed.emit()

    def refuse_facts(self, why: str) -> None:
        """Store why the network is not known, such as a damaged file of weights."""
        if self.facts is None and why != self.why_no_facts:
            self.why_no_facts = why
            self.facts_changed.emit()

    def set_answer(self, answer: Answer | None, why_not: str = "") -> None:
        """Store what the network makes of the drawing, or why there is nothing."""
        if answer is not None or (self.answer, self.why_no_answer) != (None, why_not):
            self.answer, self.why_no_answer = answer, why_not
            if self.cell is None and answer is not None:
                # One to begin with: the largest value of the first layer.
                first = answer.values[0]
                at = np.unravel_index(int(first.argmax()), first.shape)
                self.cell = Cell(0, *(int(one) for one in at))
            self.answer_changed.emit()

    def point(self, cell: Cell | None, *, keep: bool = False) -> None:
        """Choose a cell; one that is kept stays until it is released or another is kept."""
        if self.is_kept and not keep:
            return
        if (cell, keep) != (self.cell, self.is_kept):
            if (
                cell is None
                or self.cell is None
                or (cell.layer, cell.map) != (self.cell.layer, self.cell.map)
            ):
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
        found = self.all_origins()
        if not found:
            return None
        chosen = next((one for one in found if one.map == self.input_map), None)
        return chosen or strongest_of(found)

    def value_of(self, cell: Cell) -> float:
        """Return the value of a cell, of which there is an answer."""
        assert self.answer is not None
        assert self.facts is not None
        values: Floats = self.answer.values[cell.layer]
        if is_vector(self.facts.layers[cell.layer]):
            return float(values[cell.column])
        return float(values[cell.map, cell.row, cell.column])

    def set_confusion(self, confusion: Confusion) -> None:
        """Store how the held-out digits are classified with these weights."""
        self.confusions[self.weights] = confusion
        self.confusion_changed.emit()
