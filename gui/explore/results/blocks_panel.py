"""The panel Block sizes: what to compare, and the map of the selected kernel.

It shows the number that the bars of the runs show.
"""

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QLabel, QPushButton, QWidget

from engine.device_info import SIMULATOR
from engine.geometry.block import Block, Limits
from engine.geometry.block_list import EVERY, blocks_text, every_block, read_blocks
from engine.results.compare import ComparedRun
from engine.results.metrics import AnyMetric
from gui.engine_link.engine_state import EngineState
from gui.explore.explain.selection import Selection
from gui.explore.kernel.block_editor import PRESETS
from gui.explore.kernel.variants_model import SIMULATE
from gui.explore.results.block_map import STAR, BlockCells, BlockMap, Kind, map_of
from gui.explore.results.block_table import BlockTable
from gui.explore.workspace import Workspace
from gui.style.metrics import GRID, HALF_GRID, digits_width
from gui.style.theme import theme_notifier
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.list_field import ListField
from gui.widgets.panel_parts import Placeholder, column

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


class BlocksField(ListField):
    """Edits `Settings.blocks`; `beside` stand in its line."""

    def __init__(self, workspace: Workspace, *beside: QWidget) -> None:
        label = QLabel("Bloc&ks")
        super().__init__("blocks", _SETS, read_blocks, blocks_text, before=(label,), after=beside)
        label.setBuddy(self.field)
        self.field.setPlaceholderText("for example 8x8, 16x16")
        self.field.setToolTip(_TIP)
        self.field.setAccessibleName("Blocks to compare, width × height, with commas")
        self.field.setMinimumWidth(digits_width(9))
        self.chosen.connect(lambda blocks: workspace.change(blocks=blocks))
        workspace.settings_changed.connect(lambda settings: self.show_items(settings.blocks))
        self.show_items(workspace.settings.blocks)


_EMPTY = (
    "A kernel's time with each block, the best one marked.\n"
    "Choose a CUDA kernel, write blocks or choose a set, then press Compare (Return)."
)
_SIMULATOR = "In the simulator blocks are compared by what is counted."
_SIGNS = "\n".join(f"{kind.sign}  {kind.words}" for kind in Kind if kind.sign.strip())
_HINT = f"Click a cell to load its block and kernel.\n{STAR}  best\n{_SIGNS}"


class BlocksPanel(QWidget):
    """Follows the cells."""

    run_wanted = Signal()  # the person wants the blocks compared
    cure_wanted = Signal()  # the person wants the simulator, because there is no GPU

    def __init__(
        self,
        workspace: Workspace,
        engine_state: EngineState,
        selection: Selection,
        cells: BlockCells,
    ) -> None:
        super().__init__()
        self._workspace = workspace
        self._engine_state = engine_state
        self._selection = selection
        self._cells = cells
        self._pointed = ""
        self.compare_button = QPushButton("Compare")
        self.compare_button.setToolTip(
            "Run the chosen kernel with each of these blocks; without a list, with the common ones (Return)."
        )
        self.field = BlocksField(workspace, self.compare_button)
        simulate = QAction(SIMULATE, self, toolTip="Choose the simulator, with a picture that it takes.")
        self.summary = ElidedLabel(small=True)
        self.table = BlockTable()
        compared = QWidget()
        compared.setLayout(column(self.summary, (self.table, 1), spacing=HALF_GRID))
        self.empty = Placeholder(compared)
        self.empty.offer(simulate)
        self.stack = Placeholder(self.empty)
        margins = (GRID, HALF_GRID, GRID, HALF_GRID)
        self.setLayout(column(self.field, (self.stack, 1), spacing=HALF_GRID, margins=margins))
        self.compare_button.clicked.connect(self._compare)
        self.field.field.returnPressed.connect(self._compare)
        simulate.triggered.connect(self.cure_wanted)

        self.table.pointed.connect(self._point)
        self.table.chosen.connect(lambda block: self.load(self.table.shown.variant, block))
        of_results = cells.changed, cells.results.bars_changed
        for changed in (*of_results, workspace.settings_changed, selection.changed):
            changed.connect(self.refresh)
        engine_state.running_changed.connect(self._allow)
        engine_state.ready_changed.connect(self.refresh)
        theme_notifier().changed.connect(self.refresh)
        self.refresh()

    @property
    def is_refused(self) -> bool:
        """Whether what is typed is not a list of blocks."""
        return self.field.is_refused

    def explain(self, why_not: str) -> None:
        """Say why no blocks can be compared now; empty if they can."""
        self.field.setEnabled(not why_not)
        self._allow()
        self.stack.say(why_not)

    def load(self, variant: str, block: Block) -> None:
        """Choose a kernel with a block, and select its run."""
        self._workspace.change(variant=variant, block=block)
        run = self._cells.all().get(variant, {}).get(block)
        if isinstance(run, ComparedRun):
            self._cells.results.describe(run.result)

    def refresh(self) -> None:
        """Read the state again."""
        all_cells, known = self._cells.all(), self._selection.known
        # A kernel without blocks has no map: then that of another one.
        candidates = (known.key if known else "", *reversed(all_cells))
        key = next((key for key in candidates if key in all_cells), "")
        shown = map_of(key, all_cells[key], self._number, self._limits()) if key else BlockMap()
        loaded = self._selection.block if known is not None and known.key == key else None
        self.empty.say("" if all_cells else f"{_EMPTY}{self._no_gpu()}")
        is_simulator = self._workspace.settings.device == SIMULATOR
        self.empty.button.setVisible(bool(self._no_gpu()) and not is_simulator)
        self.table.show_map(shown, loaded)
        self._allow()
        self._show_summary()

    @property
    def _number(self) -> AnyMetric:
        return self._cells.results.bars.metric

    def _compare(self) -> None:
        """Run with the blocks that are typed; with the common ones where none are."""
        self.field.take()
        if self.is_refused or not self.compare_button.isEnabled():
            return
        if not self._workspace.settings.blocks:
            self._workspace.change(blocks=PRESETS)
        self.run_wanted.emit()

    def _allow(self) -> None:
        self.compare_button.setEnabled(self.field.isEnabled() and not self._engine_state.why_no_run)

    def _show_summary(self) -> None:
        summary = self._summary()
        self.summary.setText(self._pointed or summary)
        self.summary.setToolTip(f"{summary}\n\n{_HINT}")

    def _summary(self) -> str:
        shown, number = self.table.shown, self._number
        waiting = sum(cell.kind is Kind.WAITING for cell in shown.cells.values())
        parts = (
            shown.variant,
            f"{waiting} to come" if waiting else "",
            f"Best {shown.cells[shown.best].words.rstrip('.')}" if shown.best else "",
            "Simulated runs are not timed" if self._cells.results.are_simulated else "",
            number.header,
            f"cells in {shown.unit}" if shown.unit != number.unit and shown.best else "",
        )
        return " · ".join(filter(None, parts))

    def _point(self, words: str) -> None:
        self._pointed = words
        self._show_summary()

    def _no_gpu(self) -> str:
        """Return why no kernel with blocks can be timed here, on a line of its own; empty if one can."""
        why = self._engine_state.no_gpu
        return f"\nThere is no GPU here ({why.short}). {_SIMULATOR}" if why else ""

    def _limits(self) -> Limits:
        device = self._engine_state.used_device(self._workspace.settings.device)
        return device.limits if device is not None and device.kind == "cuda" else Limits()
