"""What the selected run asked of the machine, by its model of work."""

from PySide6.QtWidgets import QWidget

from engine.results.compare import Compared
from engine.results.metrics import metric
from engine.results.quantities import rate_text
from gui.explore.results.selected_result import SelectedResult
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.run_tooltip import run_tooltip

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
        run = self._selected.run
        has_work = run is not None and run.result.work is not None
        self.setText(work_sentence(run) if run and has_work else "")
        self.setToolTip(run_tooltip(run) if run and has_work else "")
        self.setVisible(has_work)


def work_sentence(run: Compared) -> str:
    """Return the model of a run in one line; every kind of load is named, so that the numbers add up."""
    work = run.result.work
    assert work is not None
    loads = [
        (work.picture_loads, "image loads"),
        (work.global_loads - work.picture_loads, f"{_others(run)} loads"),
        (work.shared_loads, "shared loads"),
        (work.constant_loads, "constant loads"),
    ]
    values = run.result.problem.values
    parts = ", ".join(f"{rate_text(count / values)} {name}" for count, name in loads if count)
    cgma = metric("model_cgma_flop_per_load").text(run)
    return f"Model: {cgma} operations per global load (CGMA). Per output value: {parts}"


def _others(run: Compared) -> str:
    """Return what global loads read beside the image: the mask, or results of a first pass."""
    work = run.result.work
    return "intermediate" if work is not None and work.global_stores > run.result.problem.values else "mask"
