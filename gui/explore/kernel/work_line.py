"""What the selected run asked of the machine, by its model of work."""

from PySide6.QtWidgets import QWidget

from gui.explore.results.results_tooltip import run_heading
from gui.explore.results.selected_result import SelectedResult
from gui.explore.results.work_text import work_sentence, work_table
from gui.widgets.elided_label import ElidedLabel

# With four kinds of loads.
_MOST_LINES = 3


class WorkLine(ElidedLabel):
    """The model of work of the selected run, all its counts in the tooltip; hidden where it has none."""

    def __init__(self, selected: SelectedResult, parent: QWidget | None = None) -> None:
        super().__init__(most=_MOST_LINES, small=True)
        self.setParent(parent)
        self._selected = selected
        self.setAccessibleName("Model of the work of the selected run")
        selected.changed.connect(self._refresh)
        self._refresh()

    def _refresh(self) -> None:
        result = self._selected.result
        sentence = work_sentence(result) if result else ""
        self.setText(sentence)
        self.setToolTip(f"{run_heading(result)}<br>{work_table(result)}" if result and sentence else "")
        self.setVisible(bool(sentence))
