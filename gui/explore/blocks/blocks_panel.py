"""The panel Block sizes: what to compare, the map of a kernel, and beside it a line for each kernel."""

from functools import partial

from PySide6.QtCore import QSignalBlocker, QSize, Qt
from PySide6.QtGui import QActionGroup
from PySide6.QtWidgets import QComboBox, QMenu, QSplitter, QStackedWidget, QToolButton, QWidget

from engine.geometry.block import Block, Limits
from engine.results.columns import KERNEL, layout_suffix, problem_text
from engine.results.metrics import metric, metrics_of
from engine.tasks.filtering.problem import Problem
from gui.engine_link.engine_state import EngineState
from gui.explore.blocks.block_cells import BlockCells
from gui.explore.blocks.block_lines import BlockLines
from gui.explore.blocks.block_map import BlockMap
from gui.explore.blocks.blocks_field import BlocksField
from gui.explore.blocks.kernels_button import KernelsButton
from gui.explore.blocks.map_cells import BlockMapData, Kind, map_of
from gui.explore.results.results_model import ResultsModel
from gui.explore.run_words import EARLIER
from gui.explore.workspace import Workspace
from gui.style.metrics import GRID, HALF_GRID
from gui.style.theme import theme_notifier
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.panel_parts import centred_text, column, row
from gui.widgets.turns import TURNS_FROM, Turns

_EMPTY = (
    "A kernel's time with each block, the best one marked.\n"
    "Write blocks above or choose a set, choose a CUDA kernel, then press Run (Ctrl+R)."
)
_SIMULATOR = "In the simulator, with a picture up to 64 × 64, blocks are compared by what is counted."
_HINT = "Click a cell to load its block and kernel."


class BlocksPanel(QWidget):
    """Follows the cells. It is made after the first paint, because of the lines."""

    def __init__(
        self,
        workspace: Workspace,
        engine_state: EngineState,
        results: ResultsModel,
        cells: BlockCells,
        turns: Turns | None = None,
    ) -> None:
        super().__init__()
        self._workspace = workspace
        self._engine_state = engine_state
        self._results = results
        self._cells = cells
        self._turns = turns
        self._shown = metric(KERNEL)
        # The kernel that the person wants to see; empty: that of the newest run.
        self._wanted = ""
        self._pointed = ""
        self.field = BlocksField(workspace)
        self.kernels = KernelsButton(workspace, engine_state)
        self.field.line.addWidget(self.kernels)
        self.kernel = QComboBox()
        self.kernel.setAccessibleName("Kernel of the map")
        self.kernel.setToolTip("The kernel whose map is shown.")
        self.kernel.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.summary = ElidedLabel(small=True)
        self.axis_button = self._axis_button()
        self.map = BlockMap(_EMPTY)
        self.lines = BlockLines()
        self._views = QSplitter(Qt.Orientation.Horizontal)
        self._views.setChildrenCollapsible(False)
        for view in (self.map, self.lines):
            self._views.addWidget(view)
        head = row(self.kernel, (self.summary, 1), self.axis_button, spacing=HALF_GRID)
        compared, self._words = QWidget(), centred_text()
        compared.setLayout(column(head, (self._views, 1), spacing=HALF_GRID))
        self._stack = QStackedWidget()
        self._stack.addWidget(compared)
        self._stack.addWidget(self._words)
        margins = (GRID, HALF_GRID, GRID, HALF_GRID)
        self.setLayout(column(self.field, (self._stack, 1), spacing=HALF_GRID, margins=margins))

        self.map.pointed.connect(self._point)
        self.lines.chosen.connect(self.load)
        self.map.chosen.connect(lambda block: self.load(self.map.data.variant, block))
        self.kernel.textActivated.connect(self._want)
        cells.changed.connect(self._refresh_soon)
        workspace.settings_changed.connect(self._follow_settings)
        engine_state.running_changed.connect(self._follow_run)
        engine_state.ready_changed.connect(self.refresh)
        theme_notifier().changed.connect(self.refresh)
        self.refresh()

    @property
    def words(self) -> str:
        """Why no blocks can be compared now; empty if they can."""
        return self._words.text() if self._stack.currentIndex() else ""

    @property
    def is_refused(self) -> bool:
        """Whether what is typed is not a list of blocks."""
        return self.field.is_refused

    def explain(self, why_not: str) -> None:
        """Say why no blocks can be compared now; empty if they can."""
        self.field.setEnabled(not why_not)
        self.kernels.setEnabled(not why_not)
        self._words.setText(why_not)
        self._stack.setCurrentIndex(1 if why_not else 0)

    def load(self, variant: str, block: Block) -> None:
        """Choose a kernel with a block."""
        self._workspace.change(variant=variant, block=block)

    def choose(self, key: str) -> None:
        """Show another number of the runs."""
        self._shown = metric(key, Problem)
        self.refresh()

    def refresh(self) -> None:
        """Read the state again."""
        every = self._cells.all()
        limits = self._limits()
        maps = [map_of(variant, cells, self._shown, limits) for variant, cells in every.items()]
        shown = self._kernel_shown(list(every))
        self._show_kernels(list(every), shown)
        data = next((one for one in maps if one.variant == shown), BlockMapData())
        settings = self._workspace.settings
        self.map.empty_text.setText(f"{_EMPTY}{self._no_gpu()}")
        loaded = self._loaded_block() if settings.variant == shown else None
        is_earlier = self._cells.is_earlier
        self.map.show_map(data, loaded, is_earlier=is_earlier)
        self.lines.show_maps(maps, is_earlier=is_earlier)
        self.axis_button.setVisible(bool(every))
        # What to do first needs the whole width.
        self.lines.setVisible(bool(every))
        self._show_summary()

    def sizeHint(self) -> QSize:
        return QSize(70 * GRID, 28 * GRID)

    def _refresh_soon(self) -> None:
        if self._turns is None or sum(map(len, self._cells.all().values())) < TURNS_FROM:
            self.refresh()
        else:
            self._turns.ask(self.refresh)

    def _loaded_block(self) -> Block | None:
        chosen = self._engine_state.variant(self._workspace.settings.variant)
        return self._workspace.settings.block or (chosen.default_block if chosen else None)

    def _kernel_shown(self, kernels: list[str]) -> str:
        newest = self._cells.newest
        wanted = (self._wanted, newest.variant if newest else "", *kernels)
        return next((key for key in wanted if key in kernels), "")

    def _show_kernels(self, kernels: list[str], shown: str) -> None:
        with QSignalBlocker(self.kernel):
            if kernels != [self.kernel.itemText(at) for at in range(self.kernel.count())]:
                self.kernel.clear()
                self.kernel.addItems(kernels)
            self.kernel.setCurrentText(shown)
        self.kernel.setVisible(bool(kernels))

    def _show_summary(self) -> None:
        self.summary.setText(self._pointed or self._summary())
        self.summary.setToolTip(f"{self._summary()}\n\n{_HINT}" if self.map.data.cells else "")
        self.summary.setVisible(bool(self.map.data.cells))

    def _summary(self) -> str:
        data = self.map.data
        kinds = [cell.kind for cell in data.cells.values()]
        best = data.cells[data.best].words.rstrip(".") if data.best else ""
        waiting = f"{kinds.count(Kind.WAITING)} to come" if Kind.WAITING in kinds else ""
        newest = self._cells.newest
        problem = f"{problem_text(newest)}{layout_suffix(newest)}" if newest else ""
        earlier = f"{EARLIER[0].upper()}{EARLIER[1:]}" if self._cells.is_earlier else ""
        parts = (earlier, waiting, best and f"Best {best}", self._shown.header, problem)
        return " · ".join(part for part in parts if part)

    def _point(self, words: str) -> None:
        self._pointed = words
        self._show_summary()

    def _want(self, variant: str) -> None:
        self._wanted = variant
        self.refresh()

    def _follow_settings(self) -> None:
        # The map of a kernel that is chosen in the panel Kernel, if it has one.
        if self._workspace.settings.variant in self._cells.all():
            self._wanted = self._workspace.settings.variant
        self.refresh()

    def _follow_run(self) -> None:
        if self._engine_state.running and not self._engine_state.cancelling:
            self._wanted = ""

    def _no_gpu(self) -> str:
        """Return why no kernel with blocks can be timed here, on a line of its own; empty if one can."""
        devices = [device for device in self._engine_state.devices if device.kind == "cuda"]
        if not devices or any(device.is_usable_gpu for device in devices):
            return ""
        why = next((device.reason.short for device in devices if device.reason), "")
        return f"\nThere is no GPU here{f' ({why})' if why else ''}. {_SIMULATOR}"

    def _limits(self) -> Limits:
        device = self._engine_state.used_device(self._workspace.settings.device)
        return device.limits if device is not None and device.kind == "cuda" else Limits()

    def _axis_button(self) -> QToolButton:
        button = QToolButton(autoRaise=True)
        button.setText("Axis")
        button.setAccessibleName("Block sizes: what is drawn")
        button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        button.setToolTip("Choose which number of the runs is drawn.")
        # Fusion draws the arrow over the text without this.
        button.setMinimumWidth(button.sizeHint().width() + 3 * HALF_GRID)
        menu, group = QMenu(button), QActionGroup(button)
        menu.setToolTipsVisible(True)
        for entry in metrics_of(Problem):
            action = menu.addAction(entry.header)
            action.setToolTip(entry.explanation)
            action.setCheckable(True)
            action.setChecked(entry.key == self._shown.key)
            action.triggered.connect(partial(self.choose, entry.key))
            group.addAction(action)
        button.setMenu(menu)
        return button
