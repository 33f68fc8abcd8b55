"""The ablation of the selected kernel: run on a click by the queue of all runs, never before."""

from dataclasses import fields, replace

from engine.device_info import SIMULATOR
from engine.explain.ablation.results import Ablation
from engine.explain.messages import AblationJob
from engine.host.request import Run
from engine.work.messages import PictureJob
from gui.engine_link.engine_state import EngineState
from gui.explore.question import Question
from gui.explore.selection import Selection
from gui.page.jobs import Job, JobQueue
from gui.page.messages import PageMessages

SOURCE = "ablation"
BUDGET_S = 0.3
"""For the samples of the kernel and of each sibling, seconds: they take 3 s together."""
_NO_FILTER = "Ablations are of convolutions only.\nChoose Convolution under Operation."
_NO_PICTURE = "Open a picture: what each cost of the chosen kernel takes is found on it."
_NO_ENGINE = "The engine is not up yet."
_ON_CPU = (
    "The costs are those of CUDA kernels, and {} runs on the CPU.\n"
    "Select a CUDA kernel in the list of kernels."
)
_INVITATION = (
    "What each cost of the kernel takes: border test, loads, stores, barrier.\n"
    "Each is taken out of the kernel's own source, and {}. Press Run ablation."
)


class AblationState(Question):
    """What the last ablation found, and whether it is that of the selected kernel."""

    def __init__(
        self, selection: Selection, state: EngineState, jobs: JobQueue, messages: PageMessages
    ) -> None:
        super().__init__(selection.changed, state.running_changed)
        self.selection = selection
        self._state, self._jobs, self._messages = state, jobs, messages
        self.ablation: Ablation | None = None
        self._of: AblationJob | None = None

    @property
    def is_earlier(self) -> bool:
        """Whether what was found is of an earlier kernel, picture or mask."""
        return self.ablation is not None and self._of != self._job

    @property
    def times(self) -> bool:
        """Whether a device is there that gives times."""
        job = self.selection.job
        is_simulated = job is not None and job.device == SIMULATOR
        return not is_simulated and self._state.has_gpu

    @property
    def words(self) -> str:
        """What stands in the place of a chart; empty where there is one."""
        if self.ablation is not None and not self.is_earlier:
            has_steps = next(self.ablation.steps(), None) is not None
            return "" if has_steps else self.ablation.reason
        if why_not := self.why_not:
            return why_not
        return "" if self._has_chart else _INVITATION.format(self._what_is_done)

    @property
    def why_not(self) -> str:
        """Why nothing can be run for the selected kernel; empty if it can."""
        why_not = self.selection.why_not(_NO_ENGINE, _NO_FILTER, _NO_PICTURE)
        job = self.selection.job
        known = self._state.variant(job.variant) if job else None
        if why_not or known is None or known.kind == "cuda":
            return why_not
        return _ON_CPU.format(known.key)

    @property
    def why_not_now(self) -> str:
        """Why the button does nothing now; empty if it does."""
        return self.why_not or self._state.why_no_run

    def run(self) -> None:
        """Run the kernel and its siblings; what it finds takes the place of what was found before."""
        asked = self._job
        if asked is None or self.why_not_now:
            return

        def replied(found: Ablation) -> None:
            self.ablation, self._of = found, asked
            self.changed.emit()

        known = self._state.variant(asked.variant)
        title = f"Ablation of {known.title if known else asked.variant}"
        self._jobs.begin(SOURCE, [Job(title, Run(asked, BUDGET_S), replied)], self._messages)

    @property
    def _has_chart(self) -> bool:
        return self.ablation is not None and next(self.ablation.steps(), None) is not None

    @property
    def _what_is_done(self) -> str:
        return "what is left is timed" if self.times else "the instructions that are left are counted"

    @property
    def _job(self) -> AblationJob | None:
        job = self.selection.job
        if job is None:
            return None
        # How a result is shown does not matter: none is.
        plain = replace(job, chain=replace(job.chain, range="clip"))
        return AblationJob(**{one.name: getattr(plain, one.name) for one in fields(PictureJob)})

    def _ask(self) -> None:
        # Nothing is asked before a click.
        self.changed.emit()
