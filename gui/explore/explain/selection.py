"""The kernel that is selected, in the list of kernels or by its run: all panels that explain speak of it."""

from typing import Any

from PySide6.QtCore import QObject, Signal

from engine.device_info import AUTO
from engine.explain.gpus import DEFAULT, Architecture
from engine.geometry.block import Block
from engine.host.messages import VariantInfo
from engine.host.protocol import Filtered
from engine.results.measurement import Measurement
from engine.results.metrics import Compared
from engine.work.messages import PictureJob
from gui.engine_link.engine_state import EngineState
from gui.explore.picture_job import comparable_of, is_chain
from gui.explore.results.results_model import ResultsModel
from gui.explore.workspace import Workspace

_READS_A_RESULT = (
    "This step reads the result of another one. A kernel is explained for a step that reads the picture: "
    "select such a step of the chain."
)
_NO_CHOICE = "Automatic has not chosen a kernel for this picture yet. Select one in the list of kernels."


class Selection(QObject):
    """A kernel, its block, and the job that these make. Whether it can run here does not matter.

    It is the kernel of the settings until another is selected: one that cannot run here, or that of a run.
    """

    changed = Signal()

    def __init__(self, workspace: Workspace, state: EngineState, results: ResultsModel) -> None:
        super().__init__()
        self._workspace, self._state, self._results = workspace, state, results
        # What Automatic chose last, by the operation.
        self._choices: dict[str, str] = {}
        self._kernel = ""
        self._block: Block | None = None
        self._other = ""
        self._gpu: Architecture | None = None
        self._run: Measurement[Any] | None = None
        self._settings = workspace.settings.variant, workspace.settings.block
        workspace.job_changed.connect(self.changed)
        workspace.settings_changed.connect(self._follow_settings)
        workspace.operation_changed.connect(lambda: self._select("", None))
        state.ready_changed.connect(self.changed)
        state.filtered.connect(self._note_choice)
        for signal in (results.described_changed, state.running_changed):
            signal.connect(self._follow_run)

    @property
    def kernel(self) -> str:
        """The key of the kernel; "auto" where the settings say so, and no other one is selected."""
        return self._kernel or self._workspace.settings.variant

    @property
    def known(self) -> VariantInfo | None:
        """The kernel as the engine describes it; that which Automatic chose in its place."""
        return self._state.variant(self._chosen_by_auto or AUTO if self.kernel == AUTO else self.kernel)

    @property
    def block(self) -> Block | None:
        """The block of the kernel: that of the run, of the settings, or its default; None without blocks."""
        known = self.known
        if known is None or not known.uses_block:
            return None
        return self._block or self._workspace.settings.block or known.default_block

    @property
    def run(self) -> Compared | None:
        """The selected run, or the newest; None where the selected kernel is another one than its own."""
        run, known = self._results.described, self.known
        is_other = run is not None and known is not None and run.result.variant != known.key
        return None if is_other else run

    @property
    def job(self) -> PictureJob | None:
        """The job with this kernel; None without a picture, and for an operation that is no convolution."""
        return self._with_kernel(self._workspace.filter_job())

    @property
    def any_job(self) -> PictureJob | None:
        """The same, also of another operation."""
        job = self.job if self._workspace.is_filtering else self._with_kernel(self._workspace.job())
        return None if is_chain(job) else job

    @property
    def alternatives(self) -> tuple[VariantInfo, ...]:
        """All kernels that can do such a job, on whatever device."""
        return self._state.variants_of(self._workspace.operation)

    @property
    def others(self) -> tuple[VariantInfo, ...]:
        """The kernels that this one can be compared with."""
        own = self.known.key if self.known else ""
        return tuple(known for known in self.alternatives if known.key != own)

    @property
    def other(self) -> VariantInfo | None:
        """The kernel that it is compared with; None for none."""
        return next((known for known in self.others if known.key == self._other), None)

    @property
    def other_job(self) -> PictureJob | None:
        """The job with that kernel, and the same block."""
        job, other = self.job, self.other
        return job.changed(variant=other.key) if job is not None and other is not None else None

    @property
    def has_gpu(self) -> bool:
        """Whether a GPU is here."""
        return self._state.has_gpu

    @property
    def gpu(self) -> Architecture | None:
        """The architecture that the kernel is compiled for; None for that of the GPU that is here."""
        return self._gpu or (None if self.has_gpu else DEFAULT)

    def why_not(self, no_engine: str, no_filter: str, no_picture: str) -> str:
        """Return the reason that there is nothing to explain, most of them one of these; empty for none."""
        if not self._state.is_ready:
            return no_engine
        if no_filter and not self._workspace.is_filtering:
            return no_filter
        job = self.any_job
        if job is None:
            return _READS_A_RESULT if self._workspace.is_chain and self._workspace.picture else no_picture
        # Of another operation, whatever is chosen has code.
        return _NO_CHOICE if job.variant == AUTO and self._workspace.is_filtering else ""

    def select(self, key: str) -> None:
        """Select a kernel, and its newest run if there is one. Run runs it if it can run here."""
        self._select("" if key == self._workspace.settings.variant else key, None)
        newest = self.newest_runs().get(key)
        if newest is not None:
            self._results.describe(newest)

    def newest_runs(self) -> dict[str, Measurement[Any]]:
        """Return the newest run of each kernel on the present problem."""
        job = self._workspace.step_job()
        present = job and comparable_of(job)
        layouts = ("", self._workspace.settings.layout)
        return {
            result.variant: result
            for result in self._results.results()
            if result.layout in layouts and self._results.problem_of(result) == present
        }

    def compare_with(self, key: str) -> None:
        """Compare with another kernel; empty for none."""
        self._other = key
        self.changed.emit()

    def swap(self) -> None:
        """Select the other kernel, and compare it with this one."""
        known, other = self.known, self.other
        if known is not None and other is not None:
            self._other = known.key
            self.select(other.key)

    def choose_gpu(self, architecture: Architecture | None) -> None:
        """Compile for another GPU; None for the one that is here."""
        self._gpu = architecture
        self.changed.emit()

    def _select(self, key: str, block: Block | None) -> None:
        if (key, block) != (self._kernel, self._block):
            self._kernel, self._block = key, block
            self.changed.emit()

    def _with_kernel(self, job: PictureJob | None) -> PictureJob | None:
        if job is None:
            return None
        if self._kernel:
            job = job.changed(variant=self._kernel, block=self._block or job.block)
        if job.variant == AUTO and self._workspace.is_filtering:
            job = job.changed(variant=self._chosen_by_auto or AUTO)
        return job

    @property
    def _chosen_by_auto(self) -> str:
        return self._choices.get(self._workspace.operation, "")

    def _can_do_it(self, variant: str) -> bool:
        return any(known.key == variant for known in self.alternatives)

    def _follow_settings(self) -> None:
        settings = self._workspace.settings.variant, self._workspace.settings.block
        before, self._settings = self._settings, settings
        if settings[0] != before[0]:
            self._select("", None)
        elif settings[1] != before[1]:
            # The block field is that of the selected kernel.
            self._select(self._kernel, None)

    def _follow_run(self) -> None:
        if self._state.running:
            # Questions about each run as it comes would disturb the next.
            return
        run = self._results.described
        before, self._run = self._run, run.result if run else None
        if self._run is before:
            return
        if self._run is None:
            # With the last run its kernel goes, which may be one that cannot run here.
            self._select("", None)
        elif self._can_do_it(self._run.variant):
            is_chosen = self._run.variant == self._chosen_by_auto and self._workspace.settings.variant == AUTO
            self._select(*("", None) if is_chosen else (self._run.variant, self._run.block))

    def _note_choice(self, filtered: Filtered) -> None:
        is_new = filtered.variant != self._chosen_by_auto and self._can_do_it(filtered.variant)
        if filtered.chosen_because and is_new:
            self._choices[self._workspace.operation] = filtered.variant
            self.changed.emit()
