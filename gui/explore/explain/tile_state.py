"""The tile of one block of the selected kernel."""

from PySide6.QtCore import Signal

from engine.explain.messages import BlockTiles, TileRequest
from engine.geometry.tile_plan import NOBODY, TilePlan
from engine.work.messages import PictureJob
from gui.engine_link.engine_link import EngineLink
from gui.engine_link.engine_state import EngineState
from gui.explore.explain import question
from gui.explore.explain.question import KernelQuestion
from gui.explore.explain.selection import Selection

_OTHERS = "\n\nSelect another kernel in the list of kernels: blocks are interpreted, so it need not run here."


class TileState(KernelQuestion[BlockTiles]):
    """The tile of one block of the chosen kernel, or the reason why there is none."""

    no_filter = (
        "Tiles are drawn of convolutions only.\n"
        "Choose Convolution under Operation to see who loads which cell."
    )
    no_picture = "Open a picture: the tile of a block of the chosen kernel appears here, cell by cell."
    no_engine = "The tile appears once the engine is up."
    asking = "Finding out who loads which cell."
    step_changed = Signal()

    def __init__(self, selection: Selection, state: EngineState, link: EngineLink) -> None:
        super().__init__(selection, state, link)
        # A block runs 0.1 s in the engine, and the next preview waits for it: not at each step of an edit.
        self._timer.setInterval(question.COMPILE_AFTER_MS)
        self._pass = 0
        self.step: int | None = None
        """The step that loads the cell which is looked at; 0: it is read where it is used; None: no thread
        reads it, or there is none."""
        self._at: tuple[int, int] | None = None
        # The kernel and the block that both are of.
        self._before = selection.known, selection.block

    @property
    def plan(self) -> TilePlan | None:
        """The tile that is shown; None with `words`."""
        tiles = self.found.tiles if self.found else ()
        return tiles[min(self._pass, len(tiles) - 1)] if tiles else None

    @property
    def pass_number(self) -> int:
        """Which of the kernel's passes, or of its warps' strips, is shown."""
        return min(self._pass, len(self.found.tiles) - 1) if self.found and self.found.tiles else 0

    @property
    def words(self) -> str:
        """Why there is no tile."""
        reason = self.found.reason if self.found else ""
        return self._why_not or (f"{reason}{_OTHERS}" if reason else "")

    def choose_pass(self, number: int) -> None:
        """Show another pass of the kernel, or another warp's strip."""
        if number != self._pass and number >= 0:
            self._pass = number
            self.changed.emit()

    def choose_block(self, across: int, down: int) -> None:
        """Show another block of the grid."""
        self._at = across, down
        self.ask_now()

    def look_at(self, cell: tuple[int, int] | None) -> None:
        """Note which cell of the tile is looked at."""
        step = _step_of(self.plan, cell) if self.plan is not None and cell is not None else None
        if step != self.step:
            self.step = step
            self.step_changed.emit()

    def _request_about(self, job: PictureJob) -> TileRequest:
        return TileRequest(job, self._at)

    def _ask(self) -> None:
        selection = self.selection
        before, self._before = self._before, (selection.known, selection.block)
        if before != self._before:
            self._at = None
            self._pass = self._pass if before[0] == selection.known else 0
        super()._ask()


def _step_of(plan: TilePlan, cell: tuple[int, int]) -> int | None:
    return None if plan.loaders[cell] == NOBODY else int(plan.steps[cell])
