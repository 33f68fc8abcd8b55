"""The panel Launch: what the next run takes of a GPU, what limits its occupancy, and what would change it."""

from PySide6.QtGui import QPalette, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QComboBox, QWidget

from engine.explain.curves import MOST_REGISTERS, STATIC_BYTES, Curves
from engine.explain.gpu_limits import ABSENT_GPUS
from engine.explain.launch import ExplainedLaunch
from engine.geometry.block import Block
from gui.explore.launch.launch_state import LaunchState
from gui.explore.launch.launch_words import limit_sentence, numbers_of
from gui.explore.launch.number_grid import NumberGrid
from gui.explore.launch.occupancy_plot import OccupancyPlot
from gui.explore.looked_at.kernel_field import KernelField
from gui.style.metrics import GRID, HALF_GRID
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.panel_parts import Placeholder, column, fill_box, keep_narrow, row

_KERNEL_TIP = (
    "The kernel that is chosen, or another one to look at, here and in the panel Tile. Launches are "
    "computed, so this needs no GPU."
)
_GPU_TIP = "The GPU whose multiprocessors are filled. It need not be here: its limits are known."
_HERE = "This GPU"
# Least width of a curve that is read.
_CURVE_WIDTH = 22 * GRID
# With less, the numbers stand above the curves.
_BESIDE_FROM = 56 * GRID
_KIB = 1024


class LaunchPanel(QWidget):
    """The launch of the kernel that is looked at. Its plots are why it is made when it is first looked at."""

    def __init__(self, launch: LaunchState) -> None:
        super().__init__()
        self._launch = launch
        self.gpu, self.passes, self.axis = QComboBox(), QComboBox(), QComboBox()
        self.chosen = KernelField(
            launch.looked_at, "Kernel whose launch is shown", _KERNEL_TIP, self.passes, self.gpu
        )
        self.sentence = ElidedLabel(most=3)
        self.note = ElidedLabel(most=2, small=True)
        self.numbers = NumberGrid()
        self.plots = {
            "threads": OccupancyPlot("threads per block", "{:,}".format, _ticks(256, 1024)),
            "registers": OccupancyPlot(
                "registers per thread", str, [*_ticks(64, 192), (MOST_REGISTERS, "255")]
            ),
            "shared_bytes": OccupancyPlot("shared memory", _kib_text, _kib_ticks()),
        }
        self._build()
        self.gpu.activated.connect(lambda at: launch.choose_gpu(self.gpu.itemData(at)))
        self.passes.activated.connect(launch.choose_pass)
        self.axis.currentIndexChanged.connect(self._fit)
        launch.changed.connect(self._show)
        self._show()

    @property
    def words(self) -> str:
        """What is shown in the place of a launch; empty where there is one."""
        return self._stack.text

    def _show(self) -> None:
        state = self._launch
        shown, drawn = state.launch, state.curves
        block = Block(*shown.facts.block[:2]) if shown is not None else None
        self.chosen.show_choice(block)
        self._show_gpus()
        self._stack.say(state.words if shown is None else "")
        self.passes.setVisible(
            shown is not None and len(state.advice.launches) > 1 if state.advice else False
        )
        if state.advice is None or shown is None or drawn is None:
            return
        count = len(state.advice.launches)
        fill_box(self.passes, {at: f"Pass {at + 1}" for at in range(count)}, state.pass_number)
        self.sentence.setText(limit_sentence(shown, drawn))
        self.note.setText(state.note)
        self.note.setVisible(bool(state.note))
        self.numbers.show_numbers(numbers_of(shown, is_compiling=state.is_compiling))
        self._show_curves(shown, drawn)

    def _show_curves(self, shown: ExplainedLaunch, drawn: Curves) -> None:
        facts, share = shown.facts, shown.occupancy.share
        waiting = "Registers are being found." if self._launch.is_compiling else "Registers are not known."
        for name, now in (
            ("threads", facts.threads),
            ("registers", facts.registers),
            ("shared_bytes", facts.shared_bytes),
        ):
            at = None if now is None else (now, share)
            self.plots[name].show_curve(getattr(drawn, name), at, waiting)

    def _show_gpus(self) -> None:
        here = {None: _HERE} if self._launch.has_gpu else {}
        fill_box(
            self.gpu, here | {key: gpu.title for key, gpu in ABSENT_GPUS.items()}, self._launch.architecture
        )
        advice = self._launch.advice
        self.gpu.setToolTip("\n\n".join(filter(None, (advice.gpu if advice else "", _GPU_TIP))))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Show as many curves as there is room for, with a choice where that is not all of them."""
        room = self.width() - 2 * GRID
        is_beside = room >= _BESIDE_FROM
        direction = QBoxLayout.Direction.LeftToRight if is_beside else QBoxLayout.Direction.TopToBottom
        self._body.setDirection(direction)
        for_numbers = (2 * self.numbers.column_width() + 2 * GRID) if is_beside else 0
        has_all = room - for_numbers >= len(self.plots) * _CURVE_WIDTH
        self.axis.setVisible(not has_all)
        for name, plot in self.plots.items():
            plot.setVisible(has_all or name == self.axis.currentData())

    def _build(self) -> None:
        for box, name, tip in (
            (self.gpu, "GPU of the launch", _GPU_TIP),
            (self.passes, "Pass of the kernel", "Which of the kernel's launches is shown."),
            (
                self.axis,
                "What occupancy is drawn over",
                "What occupancy is drawn over; all else stays as it is.",
            ),
        ):
            box.setAccessibleName(name)
            box.setToolTip(tip)
            keep_narrow(box, 8)
        axes = {
            "threads": "Over threads",
            "registers": "Over registers",
            "shared_bytes": "Over shared memory",
        }
        fill_box(self.axis, axes, "threads")
        self.sentence.setForegroundRole(QPalette.ColorRole.WindowText)
        self.sentence.setAccessibleName("What limits the occupancy")
        curves = column(self.axis, (row(*((plot, 1) for plot in self.plots.values())), 1), spacing=HALF_GRID)
        self._body = row((self.numbers, 0), (curves, 1), spacing=2 * GRID)
        shown = QWidget()
        shown.setLayout(column(self.sentence, self.note, (self._body, 1), spacing=HALF_GRID))
        self._stack = Placeholder(shown)
        margins = (GRID, HALF_GRID, GRID, HALF_GRID)
        self.setLayout(column(self.chosen, (self._stack, 1), spacing=HALF_GRID, margins=margins))


def _ticks(step: int, last: int) -> list[tuple[int, str]]:
    return [(at, f"{at:,}") for at in range(0, last + 1, step)]


def _kib_text(at: int) -> str:
    return f"{at / _KIB:.3g} KiB"


def _kib_ticks() -> list[tuple[int, str]]:
    return [(at, f"{at // _KIB}") for at in range(0, STATIC_BYTES + 1, 16 * _KIB)]
