"""The selected kernel or run, which all panels explain, and the head that names it."""

from itertools import groupby
from typing import Any

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QWidget

from engine.device_info import AUTO
from engine.explain.launches import ABSENT_GPUS, DEFAULT, Architecture
from engine.geometry.block import Block
from engine.host.protocol import Filtered
from engine.host.request import VariantInfo
from engine.results.measurement import Measurement
from engine.results.metrics import Compared
from engine.work.messages import PictureJob
from engine.work.problem import ChainProblem
from gui.engine_link.engine_state import EngineState
from gui.explore.jobs import comparable_of, is_chain
from gui.explore.results.results_model import ResultsModel
from gui.explore.workspace import Workspace
from gui.page.panels import PanelTabs
from gui.style.metrics import HALF_GRID, follow
from gui.widgets.labels import ElidedLabel
from gui.widgets.panel_parts import NarrowBox, fill_box, icon_button, row

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
        self.workspace, self.state, self.results = workspace, state, results
        self._choices: dict[str, str] = {}  # what Automatic chose last, by the operation
        self._kernel = self._other = ""
        self._block: Block | None = None
        self._gpu: Architecture | None = None
        self._run: Measurement[Any] | None = None
        self._means_chain = False
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
        return self._kernel or self.workspace.settings.variant

    @property
    def known(self) -> VariantInfo | None:
        """The kernel as the engine describes it; that which Automatic chose in its place."""
        return self.state.variant(self._chosen_by_auto or AUTO if self.kernel == AUTO else self.kernel)

    @property
    def block(self) -> Block | None:
        """The block of the kernel: that of the run, of the settings, or its default; None without blocks."""
        known = self.known
        if known is None or not known.uses_block:
            return None
        return self._block or self.workspace.settings.block or known.default_block

    @property
    def run(self) -> Compared | None:
        """The selected or newest run of this kernel; a chain's until a kernel is selected. Else None."""
        run, known = self.results.described, self.known
        if run is None or known is None or run.result.variant == known.key:
            return run
        return run if self._means_chain and self.workspace.is_chain else None

    @property
    def job(self) -> PictureJob | None:
        """The job with this kernel; None without a picture, and for an operation that is no convolution."""
        return self._with_kernel(self.workspace.filter_job())

    @property
    def any_job(self) -> PictureJob | None:
        """The same, also of another operation."""
        job = self.job if self.workspace.is_filtering else self._with_kernel(self.workspace.job())
        return None if is_chain(job) else job

    @property
    def alternatives(self) -> tuple[VariantInfo, ...]:
        """All kernels that can do such a job, on whatever device."""
        return self.state.variants_of(self.workspace.operation)

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
    def gpu(self) -> Architecture | None:
        """The architecture that the kernel is compiled for; None for that of the GPU that is here."""
        return self._gpu or (None if self.state.has_gpu else DEFAULT)

    def why_not(self, no_engine: str, no_filter: str, no_picture: str) -> str:
        """Return the reason that there is nothing to explain, most of them one of these; empty for none."""
        if not self.state.is_ready:
            return no_engine
        if no_filter and not self.workspace.is_filtering:
            return no_filter
        job = self.any_job
        if job is None:
            return _READS_A_RESULT if self.workspace.is_chain and self.workspace.picture else no_picture
        # Of another operation, whatever is chosen has code.
        return _NO_CHOICE if job.variant == AUTO and self.workspace.is_filtering else ""

    def select(self, key: str) -> None:
        """Select a kernel, and its newest run if there is one. Run runs it if it can run here."""
        did_mean_chain, self._means_chain = self._means_chain, False
        self._select("" if key == self.workspace.settings.variant else key, None)
        newest = self.newest_runs().get(key)
        if newest is not None:
            self.results.describe(newest)
        elif did_mean_chain:
            self.changed.emit()

    def newest_runs(self) -> dict[str, Measurement[Any]]:
        """Return the newest run of each kernel on the present problem."""
        job = self.workspace.step_job()
        present = job and comparable_of(job)
        layouts = ("", self.workspace.settings.layout)
        return {
            result.variant: result
            for result in self.results.results()
            if result.layout in layouts and self.results.problem_of(result) == present
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
        if job is not None and self._kernel:
            job = job.changed(variant=self._kernel, block=self._block or job.block)
        if job is not None and job.variant == AUTO and self.workspace.is_filtering:
            job = job.changed(variant=self._chosen_by_auto or AUTO)
        return job

    @property
    def _chosen_by_auto(self) -> str:
        return self._choices.get(self.workspace.operation, "")

    def _follow_settings(self) -> None:
        before = self._settings
        self._settings = settings = self.workspace.settings.variant, self.workspace.settings.block
        # The block field is that of the selected kernel.
        if settings != before:
            self._select(self._kernel if settings[0] == before[0] else "", None)

    def _follow_run(self) -> None:
        # Questions about each run as it comes would disturb the next.
        run = self.results.described.result if self.results.described else None
        if self.state.running or run is self._run:
            return
        self._run = run
        self._means_chain = run is not None and run.task == ChainProblem.task
        if run is None or self._means_chain:
            # With the last run its kernel goes, which may be one that cannot run here.
            self._kernel, self._block = "", None
            self.changed.emit()
        elif any(known.key == run.variant for known in self.alternatives):
            is_chosen = run.variant == self._chosen_by_auto and self.workspace.settings.variant == AUTO
            self._select(*("", None) if is_chosen else (run.variant, run.block))

    def _note_choice(self, filtered: Filtered) -> None:
        others = (known.key for known in self.alternatives if known.key != self._chosen_by_auto)
        if filtered.chosen_because and filtered.variant in others:
            self._choices[self.workspace.operation] = filtered.variant
            self.changed.emit()


_TIP = (
    "Select another kernel in the list of kernels, also one that cannot run here, or a run: every panel "
    "explains the one that is selected."
)
_OTHER_TIP = "Another kernel: what its run, launch, tile, code and costs have otherwise."
_GPU_TIP = "The GPU that the kernel is compiled for. It need not be here."
_OF_GPU = "launch", "code"  # segments that are about a GPU which need not be here


class ExplainHead(QWidget):
    """Names what is explained. `enlarge` is checked while Explain has the whole page."""

    def __init__(self, selection: Selection, segments: PanelTabs) -> None:
        super().__init__()
        self._selection, self._segments = selection, segments
        self.kernel = ElidedLabel(is_plain=True, name="Selected kernel")
        self.other = NarrowBox("Kernel to compare with", _OTHER_TIP, 8)
        self.swap = icon_button("swap-horizontal", "Swap the two kernels", "Swap the two kernels")
        self.gpu = NarrowBox("GPU that is compiled for", _GPU_TIP, 5)
        self.enlarge = icon_button("arrow-expand", "Large panel", "Explain over the picture, and back")
        self.enlarge.setCheckable(True)
        head = row((self.kernel, 1), self.other, self.swap, self.gpu, self.enlarge, spacing=HALF_GRID)
        head.setAlignment(self.kernel, Qt.AlignmentFlag.AlignVCenter)
        self.setLayout(head)
        self.other.chosen.connect(selection.compare_with)
        self.swap.clicked.connect(selection.swap)
        self.gpu.chosen.connect(selection.choose_gpu)
        follow(self._show, selection.changed, segments.bar.currentChanged)

    def _show(self) -> None:
        selection = self._selection
        known, block, other = selection.known, selection.block, selection.other
        front = self._segments.front.objectName()
        title = known.title if known else ""
        if front == "why" and (run := selection.run) is not None:
            # That is about the run, whatever block is set now.
            block = run.result.block
            title = f"Chain, {run.result.title}" if run.result.task == ChainProblem.task else title
        self.kernel.setText(f"{title}, block {block}" if block else title)
        self.kernel.setToolTip(f"{self.kernel.text()}\n\n{_TIP}".strip())
        others = {"": "Compare …"}
        for heading, kernels in groupby(selection.others, lambda one: one.heading):
            others |= {f"head {heading}": heading} | {one.key: one.title for one in kernels}
        fill_box(self.other, others, other.key if other else "", heads="head ")
        here = {None: "This GPU"} if selection.state.has_gpu else {}
        fill_box(self.gpu, here | {key: gpu.title for key, gpu in ABSENT_GPUS.items()}, selection.gpu)
        shown = {front} | {panel.objectName() for panel in self._segments.panels if panel.is_own_window}
        self.swap.setVisible(other is not None)
        is_cuda = known is not None and known.kind == "cuda"
        self.gpu.setVisible(is_cuda and not shown.isdisjoint(_OF_GPU))
