"""The panel Block sizes: what to compare, and the map of the selected kernel in the number of the bars."""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import NamedTuple

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPersistentModelIndex, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QColor, QFocusEvent, QResizeEvent
from PySide6.QtWidgets import QLabel, QPushButton, QWidget

from engine.device_info import SIMULATOR
from engine.errors import Reason
from engine.geometry.block import EVERY, Block, Limits, blocks_text, every_block, read_blocks, why_illegal
from engine.host.request import Availability
from engine.results.metrics import AnyMetric, Compared, ComparedRun
from engine.results.text_forms import digits_text
from engine.work.messages import PictureJob
from gui.explore.explain.selection import Selection
from gui.explore.jobs import comparable_of
from gui.explore.kernel.kernel_panel import PRESETS
from gui.explore.kernel.variants_model import SIMULATE
from gui.explore.results.results_model import ResultsModel
from gui.style.metrics import GRID, HALF_GRID, digits_width, follow
from gui.style.theme import current_theme, heat, theme_notifier
from gui.widgets.fields import ListField
from gui.widgets.labels import ElidedLabel
from gui.widgets.number_table import NumberTable
from gui.widgets.panel_parts import ROUND_MARGINS, PlaceholderStack, boxed, column, named

Cells = dict[Block, Compared | Reason | None]
"""By block the newest run of a kernel; the reason where it is refused; None where it waits for its turn."""


class BlockCells(QObject):
    """The cells of each kernel on the problem that is set: its runs, and what a run of blocks plans."""

    changed = Signal()  # once per turn of the event loop

    def __init__(self, results: ResultsModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.results = results
        self._planned: dict[tuple[str, Block], Reason | None] = {}
        self._planned_for: Hashable = None
        self._change_timer = QTimer(self, singleShot=True, interval=0)
        self._change_timer.timeout.connect(self.changed)
        results.modelReset.connect(self._planned.clear)
        of_rows = results.rowsInserted, results.modelReset, results.dataChanged
        for changed in (*of_rows, results.present_changed):
            changed.connect(self._change_timer.start)

    def plan(self, job: PictureJob, entries: Iterable[Availability]) -> None:
        """Note what a run of several blocks is going to do, and what it cannot."""
        self._planned_for = comparable_of(job)
        self._note({(one.variant, one.block): one.reason for one in entries if one.block is not None})

    def end_plan(self) -> None:
        """Note that the run is over: what still waits was stopped."""
        self._note({at: reason for at, reason in self._planned.items() if reason})

    def all(self) -> dict[str, Cells]:
        """Return the cells of every kernel that ran with a block, or is going to."""
        results, cells = self.results, dict[str, Cells]()
        if results.present in (None, self._planned_for):
            for (variant, block), reason in self._planned.items():
                cells.setdefault(variant, {})[block] = reason
        here = (run for run in results.rows() if results.kept_of(run.result))
        runs = [run for run in here if run.result.block and not results.is_earlier(run.result)]
        for run in runs:
            # Of the layout of rows that ran last.
            if run.result.block and run.result.layout == runs[-1].result.layout:
                cells.setdefault(run.result.variant, {})[run.result.block] = run
        return cells

    def _note(self, planned: dict[tuple[str, Block], Reason | None]) -> None:
        self._planned.clear()
        self._planned |= planned
        self._change_timer.start()


STAR = "★"


class Kind(Enum):
    """What a cell shows: its sign, which is not a colour alone, and the words of the legend."""

    VALUE = "", "measured"
    WAITING = "·", "waiting"
    NO_NUMBER = "✓", "verified, not timed"
    FAILED = "!", "failed"
    REFUSED = "✕", "refused by the kernel"
    ILLEGAL = "–", "illegal for CUDA"
    NOT_CHOSEN = " ", "not chosen"

    def __init__(self, sign: str, words: str) -> None:
        self.sign, self.words = sign, words


class MapCell(NamedTuple):
    """A cell: `value` of a measured one, `words` for tooltips and screen readers."""

    kind: Kind
    words: str
    value: float | None = None


@dataclass(frozen=True)
class BlockMap:
    """The cells of a kernel, by block; `xs` and `ys` are the widths and heights of its columns and rows."""

    variant: str = ""
    xs: tuple[int, ...] = ()
    ys: tuple[int, ...] = ()
    cells: Mapping[Block, MapCell] = field(default_factory=dict)
    best: Block | None = None
    metric: AnyMetric | None = None

    def ratio(self, block: Block) -> float:
        """Return how many times worse than the best a measured cell is, at least 1."""
        best, value = self.cells[self.best].value if self.best else None, self.cells[block].value
        return max(value / best, best / value) if best and value else 1.0

    @cached_property
    def worst_ratio(self) -> float:
        return max(map(self.ratio, self.cells), default=1.0)

    @property
    def unit(self) -> str:
        """The unit of the texts in the cells: small times are in microseconds, because cells are small."""
        if self.metric is None or self.best is None:
            return ""
        is_small = self.metric.unit == "ms" and (self.cells[self.best].value or 1.0) < 1.0
        return "µs" if is_small else self.metric.unit

    def text(self, block: Block) -> str:
        """Return the text of a cell: its number, with a star if it is the best; or its sign."""
        value = self.cells[block].value
        if self.metric is None or value is None:
            return self.cells[block].kind.sign
        factor = 1e3 if self.unit == "µs" else 1.0
        is_time = self.metric.unit == "ms"
        number = digits_text(value * factor, 3) if is_time else self.metric.format(value)
        return f"{STAR} {number}" if block == self.best else number

    def words(self, block: Block) -> str:
        """Return what is known of a cell, beside the best one."""
        cell = self.cells[block]
        words = cell.words if cell.kind is Kind.ILLEGAL else f"{self.variant}, {cell.words}"
        if block == self.best:
            return f"{words} The best here."
        if self.best and self.ratio(block) > 1:
            return f"{words} The best, {self.best}, is {self.ratio(block):.3g}× better."
        return words


def map_of(variant: str, cells: Cells, shown: AnyMetric, limits: Limits) -> BlockMap:
    """Return the map of a kernel by its cells; the other blocks of their rows and columns are in it too."""
    xs = tuple(sorted({block.x for block in cells}))
    ys = tuple(sorted({block.y for block in cells}))
    drawn = {
        block: _known(block, cells[block], shown) if block in cells else _other(block, limits)
        for block in (Block(x, y) for x in xs for y in ys)
    }
    values = {block: cell.value for block, cell in drawn.items() if cell.value is not None}
    best = (max if shown.more_is_better else min)(values, key=lambda block: values[block], default=None)
    # Where all are the same, none is better.
    are_same = len(values) > 1 and len(set(values.values())) == 1
    return BlockMap(variant, xs, ys, drawn, None if are_same else best, shown)


def _other(block: Block, limits: Limits) -> MapCell:
    # Without the nearest legal block: of 100 cells that takes 300 ms.
    if reason := why_illegal(block, limits):
        return MapCell(Kind.ILLEGAL, str(reason))
    return MapCell(Kind.NOT_CHOSEN, f"{block}: not in the list of blocks.")


def _known(block: Block, cell: Compared | Reason | None, shown: AnyMetric) -> MapCell:
    if cell is None:
        return MapCell(Kind.WAITING, f"{block}: waiting for its turn.")
    if isinstance(cell, Reason):
        return MapCell(Kind.REFUSED, str(cell))
    result, value = cell.result, shown.value(cell)
    if result.is_refuted:
        return MapCell(Kind.FAILED, f"{block}: {result.status}")
    if value is None or not math.isfinite(value):
        return MapCell(Kind.NO_NUMBER, f"{block}: {result.proof}; no {shown.title}.")
    return MapCell(Kind.VALUE, f"{block}: {shown.words(cell)}, {result.proof}.", float(value))


# Beyond this times look the same: a block of one thread would leave one colour for the rest.
_MOST_RATIO = 8.0
_LEAST_RATIO = 1.25
_MOST_WIDTH = 9 * GRID
_LEAST_HEIGHT, _MOST_HEIGHT = 2 * GRID, 4 * GRID

Index = QModelIndex | QPersistentModelIndex


class BlockTable(NumberTable):
    """Shows a `BlockMap`; arrow keys move between its cells, Enter or a click loads one."""

    chosen = Signal(object)  # the Block to load
    # What is known of the cell under the mouse or the keyboard's cursor; empty when there is none any more.
    pointed = Signal(str)

    def __init__(self) -> None:
        super().__init__("Map of block sizes", chosen_from=True)
        self.shown = BlockMap()
        self.ground = self._ground
        self.setMinimumSize(20 * GRID, 11 * GRID)
        for policy in (self.setHorizontalScrollBarPolicy, self.setVerticalScrollBarPolicy):
            policy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        self.setHorizontalScrollMode(NumberTable.ScrollMode.ScrollPerPixel)
        for header in (self.horizontalHeader(), self.verticalHeader()):
            header.show()
            header.setHighlightSections(False)
            header.setSectionsClickable(False)
            header.setStyleSheet("QHeaderView::section { padding: 0 3px; border: 0; }")
        for chosen in (self.clicked, self.activated):
            chosen.connect(self._load)
        self.entered.connect(self._point)
        self.viewportEntered.connect(lambda: self.pointed.emit(""))
        self.show_map(BlockMap(), None)

    def block_at(self, index: Index) -> Block | None:
        """Return the block of a cell; None for no cell."""
        return self._block(index.row(), index.column()) if index.isValid() else None

    def index_of(self, block: Block | None) -> QModelIndex:
        """Return the cell of a block; an invalid index where the map has none."""
        if block is None or block not in self.shown.cells:
            return QModelIndex()
        row = len(self.shown.ys) - 1 - self.shown.ys.index(block.y)
        return self.texts.index(row, self.shown.xs.index(block.x))

    def show_map(self, shown: BlockMap, loaded: Block | None) -> None:
        """Show a map; `loaded` is the block of the workspace."""
        current, self.shown = self.block_at(self.currentIndex()), shown
        rows = [[Block(x, y) for x in shown.xs] for y in reversed(shown.ys)]
        texts, words = ([[say(one) for one in row] for row in rows] for say in (shown.text, shown.words))
        self.show_texts(texts, words)
        self.texts.labels[Qt.Orientation.Horizontal] = [str(x) for x in shown.xs]
        self.texts.labels[Qt.Orientation.Vertical] = [f"× {y}" for y in reversed(shown.ys)]
        self.horizontalHeader().setToolTip("Width of the blocks, in threads")
        self.verticalHeader().setToolTip("Height of the blocks, in threads")
        self.framed = self.index_of(loaded)
        known = (block for block in (current, loaded, shown.best) if block in shown.cells)
        self.setCurrentIndex(self.index_of(next(known, None)))
        kinds = [cell.kind for cell in shown.cells.values()]
        counts = ", ".join(f"{kinds.count(kind)} {kind.words}" for kind in Kind if kind in kinds)
        best = f"best {shown.cells[shown.best].words} " if shown.best else ""
        self.setAccessibleDescription(f"{shown.variant}: {best}{counts}." if kinds else "")
        self._fit()

    def ink(self, ground: QColor, row: int, column: int) -> QColor:
        kind, theme = self.shown.cells[self._block(row, column)].kind, current_theme()
        if kind is Kind.VALUE:
            return super().ink(ground, row, column)
        return QColor(theme.error if kind is Kind.FAILED else theme.muted)

    def currentChanged(self, current: Index, previous: Index) -> None:
        super().currentChanged(current, previous)
        if self.hasFocus():
            self._point(current)

    def leaveEvent(self, event: QEvent) -> None:
        self.pointed.emit("")

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.pointed.emit("")

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _block(self, row: int, column: int) -> Block:
        return Block(self.shown.xs[column], self.shown.ys[-1 - row])

    def _ground(self, row: int, column: int) -> QColor:
        """Return the colour of a cell: a measured one's is on a logarithmic scale."""
        block, theme = self._block(row, column), current_theme()
        kind = self.shown.cells[block].kind
        if kind is not Kind.VALUE:
            return QColor(theme.base if kind is Kind.NOT_CHOSEN else theme.raised)
        span = math.log(min(max(self.shown.worst_ratio, _LEAST_RATIO), _MOST_RATIO))
        return heat(1.0 - math.log(self.shown.ratio(block)) / span)

    def _fit(self) -> None:
        """Give all cells the room that there is, and each column what its texts need."""
        shown, area = self.shown, self.maximumViewportSize()
        texts = [*map(shown.text, shown.cells), *map(str, shown.xs)]
        least = max(map(self.fontMetrics().horizontalAdvance, texts), default=0) + GRID
        width = max(least, min(area.width() // max(1, len(shown.xs)), _MOST_WIDTH))
        bar = self.horizontalScrollBar().sizeHint().height() if width * len(shown.xs) > area.width() else 0
        height = max(_LEAST_HEIGHT, min((area.height() - bar) // max(1, len(shown.ys)), _MOST_HEIGHT))
        self.set_cell_size(width, height)
        self.updateGeometries()

    def _point(self, index: Index) -> None:
        block = self.block_at(index)
        self.pointed.emit(self.shown.words(block) if block else "")

    def _load(self, index: Index) -> None:
        block = self.block_at(index)
        if block is not None and (cell := self.shown.cells[block]).kind in (Kind.ILLEGAL, Kind.REFUSED):
            self.pointed.emit(f"Not loaded. {cell.words}")
        elif block is not None:
            self.chosen.emit(block)


_WARP = 32
_LARGE = tuple(block for block in every_block() if block.threads >= _WARP)
_SETS: tuple[tuple[str, tuple[Block, ...]], ...] = (
    ("Only the block set under Kernel", ()),
    ("Common: 8x8 … 64x4", PRESETS),
    ("Squares: 4x4, 8x8, 16x16, 32x32", tuple(Block(side, side) for side in (4, 8, 16, 32))),
    ("A warp across: 32x1, 32x2 … 32x32", tuple(Block(_WARP, 1 << power) for power in range(6))),
    ("256 threads in every shape", tuple(block for block in every_block() if block.threads == 256)),
    (f"At least a warp, sides 1, 2, 4 … ({len(_LARGE)})", _LARGE),
    (f"All with sides 1, 2, 4 … ({len(every_block())})", every_block()),
)
_TIP = (
    f'Blocks to compare, width × height, such as 8x8, 16x16, 32x8; "{EVERY}" is every one with sides 1, 2, '
    "4 … that CUDA allows. Run measures each with the chosen kernel, Run all with every kernel. Empty: "
    "only the block set under Kernel."
)


_EMPTY = (
    "A kernel's time with each block, the best one marked.\n"
    "Choose a CUDA kernel, write blocks or choose a set, then press Compare (Return)."
)
_NO_BLOCKS = (
    "Block sizes are compared for convolutions only.\nChoose Convolution under Operation; another "
    "operation takes the block of the panel Kernel."
)
_COMPARE_TIP = (
    "Run the chosen kernel with each of these blocks; without a list, with the common ones (Return)."
)
_SIMULATOR = "In the simulator blocks are compared by what is counted."
_SIGNS = "\n".join(f"{kind.sign}  {kind.words}" for kind in Kind if kind.sign.strip())
_HINT = f"Click a cell to load its block and kernel.\n{STAR}  best\n{_SIGNS}"


class BlocksPanel(QWidget):
    """Follows the cells; `run` compares the blocks, and `cure` chooses the simulator where no GPU is."""

    def __init__(
        self, selection: Selection, cells: BlockCells, run: QAction, cure: Callable[[], object]
    ) -> None:
        super().__init__()
        self._workspace, self._engine_state = workspace, engine_state = selection.workspace, selection.state
        self._selection, self._cells, self._run, self._pointed = selection, cells, run, ""
        self.compare_button = QPushButton("Compare")
        self.compare_button.setToolTip(_COMPARE_TIP)
        label, beside = QLabel("Bloc&ks"), (self.compare_button,)
        self.field = ListField("blocks", _SETS, read_blocks, blocks_text, before=(label,), after=beside)
        edit = named(self.field.field, "Blocks to compare, width × height, with commas", _TIP)
        edit.setPlaceholderText("for example 8x8, 16x16")
        edit.setMinimumWidth(digits_width(9))
        label.setBuddy(edit)
        simulate = QAction(SIMULATE, self, toolTip="Choose the simulator, with a picture that it takes.")
        self.summary = ElidedLabel(small=True)
        self.table = BlockTable()
        self.empty = PlaceholderStack(boxed(column(self.summary, (self.table, 1), spacing=HALF_GRID)))
        self.empty.offer(simulate)
        self.stack = PlaceholderStack(self.empty)
        self.setLayout(column(self.field, (self.stack, 1), spacing=HALF_GRID, margins=ROUND_MARGINS))
        self.compare_button.clicked.connect(self._compare)
        edit.returnPressed.connect(self._compare)
        self.field.chosen.connect(lambda blocks: workspace.change(blocks=blocks))
        follow(lambda: self.field.show_items(workspace.settings.blocks), workspace.settings_changed)
        simulate.triggered.connect(lambda: cure())
        self.table.pointed.connect(self._point)
        self.table.chosen.connect(lambda block: self.load(self.table.shown.variant, block))
        engine_state.running_changed.connect(self._allow)
        of_page = workspace.settings_changed, selection.changed, engine_state.ready_changed
        follow(self.refresh, cells.changed, cells.results.bars_changed, *of_page, theme_notifier().changed)
        follow(self._allow, workspace.operation_changed)

    def load(self, variant: str, block: Block) -> None:
        """Choose a kernel with a block, and select its run."""
        self._workspace.change(variant=variant, block=block)
        run = self._cells.all().get(variant, {}).get(block)
        if isinstance(run, ComparedRun):
            self._cells.results.describe(run.result)

    def refresh(self) -> None:
        all_cells, known = self._cells.all(), self._selection.known
        device = self._engine_state.used_device(self._workspace.settings.device)
        limits = device.limits if device is not None and device.kind == "cuda" else Limits()
        # A kernel without blocks has no map: then that of another one.
        candidates = (known.key if known else "", *reversed(all_cells))
        key = next((key for key in candidates if key in all_cells), "")
        number = self._cells.results.bars.metric
        shown = map_of(key, all_cells[key], number, limits) if key else BlockMap()
        loaded = self._selection.block if known is not None and known.key == key else None
        self.empty.say("" if all_cells else f"{_EMPTY}{self._no_gpu()}")
        is_simulator = self._workspace.settings.device == SIMULATOR
        self.empty.button.setVisible(bool(self._no_gpu()) and not is_simulator)
        self.table.show_map(shown, loaded)
        self._allow()
        self._show_summary()

    def _compare(self) -> None:
        """Run with the blocks that are typed; with the common ones where none are."""
        self.field.take()
        if self.field.is_refused or not self.compare_button.isEnabled():
            return
        if not self._workspace.settings.blocks:
            self._workspace.change(blocks=PRESETS)
        self._run.trigger()

    def _allow(self) -> None:
        is_filtering = self._workspace.is_filtering
        self.field.setEnabled(is_filtering)
        self.stack.say("" if is_filtering else _NO_BLOCKS)
        self.compare_button.setEnabled(is_filtering and not self._engine_state.why_no_run)

    def _show_summary(self) -> None:
        shown, number = self.table.shown, self._cells.results.bars.metric
        waiting = sum(cell.kind is Kind.WAITING for cell in shown.cells.values())
        parts = (
            shown.variant,
            f"{waiting} to come" if waiting else "",
            f"Best {shown.cells[shown.best].words.rstrip('.')}" if shown.best else "",
            "Simulated runs are not timed" if self._cells.results.are_simulated else "",
            number.header,
            f"cells in {shown.unit}" if shown.unit != number.unit and shown.best else "",
        )
        summary = " · ".join(filter(None, parts))
        self.summary.setText(self._pointed or summary)
        self.summary.setToolTip(f"{summary}\n\n{_HINT}")

    def _point(self, words: str) -> None:
        self._pointed = words
        self._show_summary()

    def _no_gpu(self) -> str:
        """Return why no kernel with blocks can be timed here, on a line of its own; empty if one can."""
        why = self._engine_state.no_gpu
        return f"\nThere is no GPU here ({why.short}). {_SIMULATOR}" if why else ""
