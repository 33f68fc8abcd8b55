"""The kernel that panels explain: the one that is chosen with its block, or another one to look at."""

from PySide6.QtCore import QObject, Signal

from engine.device_info import AUTO
from engine.geometry.block import Block
from engine.host.messages import VariantInfo
from engine.host.protocol import Filtered
from engine.work.messages import PictureJob
from gui.engine_link.engine_state import EngineState
from gui.explore.picture_job import is_chain
from gui.explore.workspace import Workspace

AS_CHOSEN = ""
"""In place of a kernel's key: the one that the panel Kernel has chosen, with its block."""

_READS_A_RESULT = (
    "This step reads the result of another one. A kernel is explained for a step that reads the picture: "
    "select such a step of the chain."
)
_NO_CHOICE = "Automatic has not chosen a kernel for this picture yet. Choose one above."


class LookedAt(QObject):
    """A kernel, its block, and the job that these make. Whether it could run here does not matter."""

    changed = Signal()

    def __init__(self, workspace: Workspace, state: EngineState) -> None:
        super().__init__()
        self._workspace = workspace
        self._state = state
        self._chosen_by_auto = ""
        self.kernel = AS_CHOSEN
        self.block: Block | None = None
        """Of a kernel that is not the chosen one; None for its default."""
        workspace.job_changed.connect(self.changed)
        state.ready_changed.connect(self.changed)
        state.filtered.connect(self._note_choice)

    @property
    def can_choose(self) -> bool:
        """Whether another kernel could be explained."""
        return self._workspace.is_filtering

    @property
    def kernels(self) -> tuple[VariantInfo, ...]:
        """The kernels that can be looked at, whether or not a GPU is there to run them."""
        return tuple(known for known in self._state.variants if known.kind == "cuda")

    @property
    def takes_block(self) -> bool:
        """Whether it has a block of its own to choose: that of the chosen kernel is the panel Kernel's."""
        uses_block = any(known.key == self.kernel and known.uses_block for known in self.kernels)
        return uses_block and self.can_choose

    @property
    def job(self) -> PictureJob | None:
        """The job with this kernel; None without a picture, and for an operation that is no convolution."""
        job = self._workspace.filter_job()
        if job is not None and self.kernel:
            job = job.changed(variant=self.kernel, block=self.block)
        if job is not None and job.variant == AUTO:
            job = job.changed(variant=self._chosen_by_auto or AUTO)
        return job

    @property
    def any_job(self) -> PictureJob | None:
        """The same, or the job of another operation, with the kernel that is chosen for it."""
        job = self.job if self.can_choose else self._workspace.job()
        return None if is_chain(job) else job

    @property
    def alternatives(self) -> tuple[VariantInfo, ...]:
        """All kernels that can do such a job, on whatever device."""
        return self._state.variants_of(self._workspace.operation)

    def why_not(self, no_engine: str, no_filter: str, no_picture: str) -> str:
        """Return the reason that there is nothing to explain, most of them one of these; empty for none."""
        if not self._state.is_ready:
            return no_engine
        if not self.can_choose:
            return no_filter
        job = self.job
        if job is None:
            return _READS_A_RESULT if self._workspace.is_chain and self._workspace.picture else no_picture
        return _NO_CHOICE if job.variant == AUTO else ""

    def choose_kernel(self, key: str) -> None:
        """Look at another kernel with its default block; `AS_CHOSEN` follows the panel Kernel."""
        self.kernel, self.block = key, None
        self.changed.emit()

    def choose_block(self, block: Block) -> None:
        """Look at that kernel with another block."""
        self.block = block
        self.changed.emit()

    def _note_choice(self, filtered: Filtered) -> None:
        if self.can_choose and filtered.chosen_because and filtered.variant != self._chosen_by_auto:
            self._chosen_by_auto = filtered.variant
            self.changed.emit()
