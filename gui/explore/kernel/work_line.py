"""What the selected run asked of the machine, by its model of work."""

from engine.results.compare import Compared
from engine.results.metrics import metric
from engine.results.quantities import rate_text
from gui.explore.results.results_model import SelectedResult
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.run_tooltip import run_tooltip


class WorkLine(ElidedLabel):
    """The model of work of the selected run, all its counts in the tooltip; hidden where it has none."""

    def __init__(self, selected: SelectedResult) -> None:
        # Three lines for four kinds of loads.
        super().__init__(most=3, small=True)
        self._selected = selected
        self.setAccessibleName("Model of the work of the selected run")
        selected.changed.connect(self._refresh)
        self._refresh()

    def _refresh(self) -> None:
        run = self._selected.run
        sentence = _work_sentence(run) if run else ""
        self.setText(sentence)
        self.setToolTip(run_tooltip(run) if run and sentence else "")
        self.setVisible(bool(sentence))


def _work_sentence(run: Compared) -> str:
    """Return the model of a run in one line, "" without one; all kinds of loads are in it and add up."""
    work, values = run.result.work, run.result.problem.values
    if work is None:
        return ""
    # What global loads read beside the image.
    others = "intermediate" if work.global_stores > values else "mask"
    loads = [
        (work.picture_loads, "image loads"),
        (work.global_loads - work.picture_loads, f"{others} loads"),
        (work.shared_loads, "shared loads"),
        (work.constant_loads, "constant loads"),
    ]
    parts = ", ".join(f"{rate_text(count / values)} {name}" for count, name in loads if count)
    cgma = metric("model_cgma_flop_per_load").text(run)
    return f"Model: {cgma} operations per global load (CGMA). Per output value: {parts}"
