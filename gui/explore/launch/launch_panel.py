"""The panel Launch: what the next run takes of a GPU, what limits its occupancy, and what would change it."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QWidget

from gui.explore.launch.curves_row import AXES, CurvesRow
from gui.explore.launch.launch_state import LaunchState
from gui.explore.launch.launch_words import compared_numbers, limit_sentence, numbers_of
from gui.explore.launch.number_grid import NumberGrid
from gui.style.metrics import GRID, HALF_GRID
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.panel_parts import (
    PANEL_MARGINS,
    Placeholder,
    column,
    fill_box,
    folding_row,
    narrow_box,
    row,
)

_AXIS_TIP = "What the occupancy is drawn over. Along the curve everything else stays as it is."
_SENTENCE_TIP = (
    "Each change is alone, with everything else as it is: also the shared memory of a tile, which in truth "
    "follows its block."
)
_PASS_TIP = "Which of the kernel's launches is shown."
# With less width, what is side by side stands below one another.
_BESIDE_FROM = 52 * GRID


class LaunchPanel(QWidget):
    """The launch of the selected kernel. Its plots are why it is made when it is first looked at."""

    def __init__(self, launch: LaunchState) -> None:
        super().__init__()
        self._launch = launch
        self.passes = narrow_box("Pass of the kernel", _PASS_TIP, 5)
        self.axis = narrow_box("What the occupancy is drawn over", _AXIS_TIP, 11)
        self.sentence = ElidedLabel(most=3)
        self.note = ElidedLabel(most=2, small=True)
        self.numbers, self.curves = NumberGrid(), CurvesRow()
        self._build()
        self.passes.activated.connect(launch.choose_pass)
        self.axis.currentIndexChanged.connect(lambda _at: self.curves.choose(self.axis.currentData()))
        self.curves.fitted.connect(self._show_axis)
        launch.changed.connect(self._show)
        self._show()

    def _show(self) -> None:
        state = self._launch
        advice, shown, drawn = state.found, state.launch, state.curves
        self.stack.say(state.words if shown is None else "")
        count = len(advice.launches) if advice is not None else 0
        fill_box(self.passes, {at: f"Pass {at + 1}" for at in range(count)}, state.pass_number)
        self.passes.setVisible(count > 1)
        self._show_axis()
        if shown is None or drawn is None:
            return
        self.sentence.setText(limit_sentence(shown, drawn))
        self.sentence.setToolTip(f"{self.sentence.text()}\n\n{_SENTENCE_TIP}")
        self.note.setText(state.note)
        self.note.setVisible(bool(state.note))
        numbers = numbers_of(shown, is_compiling=state.is_compiling)
        if (other := state.other_launch) is not None and state.selection.other is not None:
            others = numbers_of(other, is_compiling=True)
            numbers = compared_numbers(numbers, others, state.selection.other.key)
        self.numbers.show_numbers(numbers)
        self.curves.show_curves(shown, drawn, is_compiling=state.is_compiling)

    def _show_axis(self) -> None:
        self.axis.setVisible(self._launch.launch is not None and not self.curves.shows_all)

    def _build(self) -> None:
        fill_box(self.axis, AXES, "threads")
        self.sentence.setForegroundRole(QPalette.ColorRole.WindowText)
        self.sentence.setAccessibleName("What limits the occupancy")
        self._body = folding_row(self.numbers, (self.curves, 1), spacing=2 * GRID, beside_from=_BESIDE_FROM)
        said = row(self.passes, (self.sentence, 1), self.axis)
        shown = QWidget()
        shown.setLayout(column(said, self.note, (self._body, 1), spacing=HALF_GRID))
        self.stack = Placeholder(shown)
        for box in (self.passes, self.axis):
            said.setAlignment(box, Qt.AlignmentFlag.AlignTop)
        self.setLayout(column((self.stack, 1), margins=PANEL_MARGINS))
