"""Which block's tile is shown: asks the engine whenever the job changes while somebody looks."""

from dataclasses import replace

from PySide6.QtCore import QObject, QTimer, Signal

from engine.device_info import AUTO
from engine.errors import EngineError
from engine.geometry.block import Block
from engine.geometry.tile_plan import TilePlan
from engine.host.messages import VariantInfo
from engine.host.protocol import Filtered
from engine.host.verbs import Describe
from engine.tasks.filtering.messages import BlockTiles, TileRequest
from gui.engine_link.engine_link import EngineLink, needs_no_message
from gui.engine_link.engine_state import EngineState
from gui.engine_link.newest import Newest
from gui.explore.workspace import Workspace

_NO_FILTER = (
    "Tiles are drawn of convolutions only.\nChoose Convolution under Operation to see who loads which cell."
)
_NO_PICTURE = "Open a picture: the tile of a block of the chosen kernel appears here, cell by cell."
_NO_ENGINE = "The tile appears once the engine is up."
_ASKING = "Finding out who loads which cell."
_NO_CHOICE = "Automatic has not chosen a kernel for this picture yet. Choose one above."
AS_CHOSEN = ""
"""In place of a kernel's key: the one that the panel Kernel has chosen, with its block."""


class TileState(QObject):
    """The tile of one block of the chosen kernel, or the reason why there is none."""

    changed = Signal()  # `found`, `plan` or `words`

    def __init__(self, workspace: Workspace, state: EngineState, link: EngineLink) -> None:
        super().__init__()
        self._workspace = workspace
        self._state = state
        self._tiles = Newest(link)
        self.found: BlockTiles | None = None
        self._at: tuple[int, int] | None = None
        self._pass = 0
        self.kernel = AS_CHOSEN
        self._block: Block | None = None
        self._why_not = _NO_PICTURE
        self._is_watched = False
        self._chosen_by_auto = ""
        # Edits that arrive together make one question.
        self._timer = QTimer(self, singleShot=True, interval=0)
        self._timer.timeout.connect(self._ask)
        workspace.job_changed.connect(self._refresh)
        state.ready_changed.connect(self._refresh)
        state.filtered.connect(self._note_choice)

    def watch(self, is_watched: bool) -> None:
        """Follow the job from now on, or let it be: nobody looks."""
        self._is_watched = is_watched
        self._refresh()

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
    def can_choose(self) -> bool:
        """Whether another kernel could have a tile."""
        return self._workspace.is_filtering

    @property
    def words(self) -> str:
        """Why there is no tile."""
        reason = self.found.reason if self.found else ""
        more = "" if self.kernel or not reason else "\n\nThe tile of another kernel can be chosen above."
        return self._why_not or f"{reason}{more}"

    @property
    def kernels(self) -> tuple[VariantInfo, ...]:
        """The kernels whose tiles can be looked at, whether or not a GPU is there to run them."""
        return tuple(known for known in self._state.variants if known.kind == "cuda")

    def choose_kernel(self, key: str) -> None:
        """Look at another kernel's tile, with its default block; `AS_CHOSEN` follows the panel Kernel."""
        self.kernel, self._block, self._at, self._pass = key, None, None, 0
        self._refresh()

    def choose_threads(self, block: Block) -> None:
        """Look at that kernel's tile with another block."""
        self._block, self._at = block, None
        self._refresh()

    def choose_block(self, across: int, down: int) -> None:
        """Show another block of the grid."""
        self._at = across, down
        self._refresh()

    def choose_pass(self, number: int) -> None:
        """Show another pass."""
        if number != self._pass and number >= 0:
            self._pass = number
            self.changed.emit()

    def _note_choice(self, filtered: Filtered) -> None:
        if self.can_choose and filtered.chosen_because and filtered.variant != self._chosen_by_auto:
            self._chosen_by_auto = filtered.variant
            self._refresh()

    def _refresh(self) -> None:
        if self._is_watched:
            self._timer.start()

    def _ask(self) -> None:
        job = self._workspace.filter_job()
        if job is not None and self.kernel:
            job = replace(job, variant=self.kernel, block=self._block)
        if job is not None and job.variant == AUTO:
            job = replace(job, variant=self._chosen_by_auto or AUTO)
        why_not = (
            _NO_ENGINE
            if not self._state.is_ready
            else _NO_FILTER
            if not self._workspace.is_filtering
            else _NO_PICTURE
            if job is None
            else _NO_CHOICE
            if job.variant == AUTO
            else ""
        )
        if job is None or why_not:
            self._tiles.forget()
            self._show(None, why_not)
            return
        self._tiles.ask(
            Describe(TileRequest(job, self._at)), lambda found: self._show(found, ""), self._failed
        )
        if self.plan is None:
            # The first answer takes a second; why there was no tile may no longer hold.
            self._show(None, _ASKING)

    def _failed(self, error: EngineError) -> None:
        # A lost host's successor is asked again once it is ready.
        self._show(None, _NO_ENGINE if needs_no_message(error) else str(error))

    def _show(self, found: BlockTiles | None, why_not: str) -> None:
        self.found, self._why_not = found, why_not
        self.changed.emit()
