"""The curves of a launch side by side: all that there is room for, else the one that is chosen."""

from PySide6.QtCore import QSize, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from engine.explain.launch.launches import MOST_REGISTERS, STATIC_BYTES, Curves, ExplainedLaunch
from gui.explore.launch.occupancy_plot import OccupancyPlot
from gui.style.metrics import GRID
from gui.widgets.panel_parts import row

AXES = {"threads": "Threads", "registers": "Registers", "shared_bytes": "Shared memory"}
"""The curves and their names in a list."""
_KIB = 1024
# Least width of a curve where others stand beside it.
_WIDTH = 26 * GRID
_LEAST_WIDTH = 18 * GRID


class CurvesRow(QWidget):
    """Draws the curves of a launch."""

    fitted = Signal()  # `shows_all`

    def __init__(self) -> None:
        super().__init__()
        self._chosen = "threads"
        self.shows_all = False
        registers = *_ticks(64, 192), (MOST_REGISTERS, str(MOST_REGISTERS))
        kib = [(at, f"{at // _KIB} KiB" if at else "0") for at in range(0, STATIC_BYTES + 1, 16 * _KIB)]
        self.plots = {
            "threads": OccupancyPlot("threads per block", "{:,}".format, _ticks(256, 1024)),
            "registers": OccupancyPlot("registers per thread", str, registers),
            "shared_bytes": OccupancyPlot("shared memory per block", _kib_text, kib),
        }
        self.setLayout(row(*((plot, 1) for plot in self.plots.values())))
        # The numbers beside it get the room that they ask for.
        policy = QSizePolicy.Policy
        self.setSizePolicy(policy.Ignored, policy.Expanding)
        self.setMinimumWidth(_LEAST_WIDTH)
        self._fit()

    def show_curves(self, launch: ExplainedLaunch, drawn: Curves, *, is_compiling: bool) -> None:
        """Draw the curves of a launch, with the launch marked on each."""
        facts, share = launch.facts, launch.occupancy.share
        empty = "Registers are being found." if is_compiling else "Registers are not known."
        for (name, plot), now in zip(
            self.plots.items(), (facts.threads, facts.registers, facts.shared_bytes), strict=True
        ):
            plot.show_curve(getattr(drawn, name), None if now is None else (now, share), empty)

    def choose(self, name: str) -> None:
        """Show a curve where there is no room for all."""
        self._chosen = name
        self._fit()

    def minimumSizeHint(self) -> QSize:
        return QSize(_LEAST_WIDTH, next(iter(self.plots.values())).minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        self.shows_all = self.width() >= len(self.plots) * _WIDTH
        for name, plot in self.plots.items():
            plot.setVisible(self.shows_all or name == self._chosen)
        self.fitted.emit()


def _ticks(step: int, last: int) -> list[tuple[int, str]]:
    return [(at, f"{at:,}") for at in range(0, last + 1, step)]


def _kib_text(at: int) -> str:
    return f"{at / _KIB:.3g} KiB"
