"""The panel Launch: what the next run takes of a GPU, what limits its occupancy, and what would change it."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette, QResizeEvent
from PySide6.QtWidgets import QWidget

from engine.explain.launch.launches import MOST_REGISTERS, STATIC_BYTES, Curves, ExplainedLaunch
from gui.explore.launch.launch_state import LaunchState
from gui.explore.launch.launch_words import compared_numbers, limit_sentence, numbers_of
from gui.explore.launch.occupancy_plot import OccupancyPlot
from gui.style.metrics import GRID, HALF_GRID
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.findings import Findings
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
# With less, one curve is shown, the one that is chosen.
_ALL_FROM = 112 * GRID
AXES = {"threads": "Threads", "registers": "Registers", "shared_bytes": "Shared memory"}
"""The curves and their names in a list."""
_KIB = 1024


class LaunchPanel(QWidget):
    """The launch of the selected kernel. Its plots are why it is made when it is first looked at."""

    def __init__(self, launch: LaunchState) -> None:
        super().__init__()
        self._launch = launch
        self.passes = narrow_box("Pass of the kernel", _PASS_TIP, 5)
        self.axis = narrow_box("What the occupancy is drawn over", _AXIS_TIP, 11)
        self.sentence = ElidedLabel(most=3)
        self.note = ElidedLabel(most=2, small=True)
        self.numbers = Findings("Numbers of the launch")
        registers = *_ticks(64, 192), (MOST_REGISTERS, str(MOST_REGISTERS))
        kib = [(at, f"{at // _KIB} KiB" if at else "0") for at in range(0, STATIC_BYTES + 1, 16 * _KIB)]
        self.plots = {
            "threads": OccupancyPlot("threads per block", "{:,}".format, _ticks(256, 1024)),
            "registers": OccupancyPlot("registers per thread", str, registers),
            "shared_bytes": OccupancyPlot("shared memory per block", _kib_text, kib),
        }
        self._build()
        self.passes.activated.connect(launch.choose_pass)
        self.axis.currentIndexChanged.connect(self._fit)
        launch.changed.connect(self._show)
        self._show()

    def _show(self) -> None:
        state = self._launch
        advice, shown, drawn = state.found, state.launch, state.curves
        self.stack.say(state.words if shown is None else "")
        count = len(advice.launches) if advice is not None else 0
        fill_box(self.passes, {at: f"Pass {at + 1}" for at in range(count)}, state.pass_number)
        self.passes.setVisible(count > 1)
        self._fit()
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
        self.numbers.show_findings(numbers)
        self._show_curves(shown, drawn, is_compiling=state.is_compiling)

    def _show_curves(self, launch: ExplainedLaunch, drawn: Curves, *, is_compiling: bool) -> None:
        """Draw the curves of a launch, with the launch marked on each."""
        facts, share = launch.facts, launch.occupancy.share
        empty = "Registers are being found." if is_compiling else "Registers are not known."
        for (name, plot), now in zip(
            self.plots.items(), (facts.threads, facts.registers, facts.shared_bytes), strict=True
        ):
            plot.show_curve(getattr(drawn, name), None if now is None else (now, share), empty)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Show all curves where there is room, else the one that is chosen."""
        shows_all = self.width() >= _ALL_FROM
        for name, plot in self.plots.items():
            plot.setVisible(shows_all or name == self.axis.currentData())
        self.axis.setVisible(self._launch.launch is not None and not shows_all)

    def _build(self) -> None:
        fill_box(self.axis, AXES, "threads")
        self.sentence.setForegroundRole(QPalette.ColorRole.WindowText)
        self.sentence.setAccessibleName("What limits the occupancy")
        curves = row(*((plot, 1) for plot in self.plots.values()))
        body = folding_row((self.numbers, 2), (curves, 3), spacing=2 * GRID, beside_from=_BESIDE_FROM)
        said = row(self.passes, (self.sentence, 1), self.axis)
        shown = QWidget()
        shown.setLayout(column(said, self.note, (body, 1), spacing=HALF_GRID))
        self.stack = Placeholder(shown)
        for box in (self.passes, self.axis):
            said.setAlignment(box, Qt.AlignmentFlag.AlignTop)
        self.setLayout(column((self.stack, 1), margins=PANEL_MARGINS))


def _ticks(step: int, last: int) -> list[tuple[int, str]]:
    return [(at, f"{at:,}") for at in range(0, last + 1, step)]


def _kib_text(at: int) -> str:
    return f"{at / _KIB:.3g} KiB"
