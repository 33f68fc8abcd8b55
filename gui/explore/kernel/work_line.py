"""What the last run asked of the machine, by its model of work."""

from PySide6.QtWidgets import QWidget

from engine.results.compare import Compared
from engine.results.metrics import metric
from gui.explore.results.results_model import ResultsModel
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.run_tooltip import run_tooltip

# With three kinds of loads.
_MOST_LINES = 3
_ON_CHIP = (
    ("model_shared_loads_per_value", "shared loads"),
    ("model_constant_loads_per_value", "constant loads"),
)


class WorkLine(ElidedLabel):
    """The model of work of the newest run that has one, all its counts in the tooltip; hidden before such a run."""

    def __init__(self, results: ResultsModel, parent: QWidget | None = None) -> None:
        super().__init__(most=_MOST_LINES, small=True)
        self.setParent(parent)
        self._results = results
        self.setAccessibleName("Model of the work of the last run")
        results.rowsInserted.connect(self._refresh)
        results.modelReset.connect(self._refresh)
        self._refresh()

    def _refresh(self) -> None:
        newest = next((run for run in reversed(self._results.rows()) if run.result.work), None)
        self.setText(work_sentence(newest) if newest else "")
        self.setToolTip(run_tooltip(newest) if newest else "")
        self.setVisible(newest is not None)


def work_sentence(run: Compared) -> str:
    """Return the model of a run in one line."""
    told = (
        f"{_text(run, 'model_global_loads_per_value')} global loads "
        f"({_text(run, 'model_picture_loads_per_value')} of the image)"
    )
    for key, name in _ON_CHIP:
        if metric(key).value(run):
            told += f", {_text(run, key)} {name}"
    cgma = _text(run, "model_cgma_flop_per_load")
    return f"Model: {cgma} operations per global load (CGMA). Per output value: {told}"


def _text(run: Compared, key: str) -> str:
    return metric(key).text(run)
