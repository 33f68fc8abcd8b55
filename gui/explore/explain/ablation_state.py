"""The ablation of the selected kernel: run on a click by the queue of all runs, never before."""

from msgspec import structs

from engine.device_info import SIMULATOR
from engine.explain.ablation.results import Ablation
from engine.explain.messages import AblationJob
from engine.host.request import Run
from engine.work.messages import PictureJob
from gui.engine_link.engine_state import EngineState
from gui.explore.explain.question import Question
from gui.explore.explain.selection import Selection
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


# So many are remembered: enough to go back and forth between kernels.
_REMEMBERED = 16


class AblationState(Question):
    """What was found of the selected kernel, and of the one that it is compared with."""

    def __init__(
        self, selection: Selection, state: EngineState, jobs: JobQueue, messages: PageMessages
    ) -> None:
        super().__init__(selection.changed, state.running_changed)
        self.selection = selection
        self._state, self._jobs, self._messages = state, jobs, messages
        self._found: list[tuple[AblationJob, Ablation]] = []

    @property
    def ablation(self) -> Ablation | None:
        """What was found of the selected kernel on this picture with this mask; None before it ran."""
        return self._found_for(self._job(self.selection.job))

    @property
    def other(self) -> Ablation | None:
        """The same of the kernel that it is compared with."""
        return self._found_for(self._job(self.selection.other_job))

    @property
    def times(self) -> bool:
        """Whether a device is there that gives times."""
        job = self.selection.job
        is_simulated = job is not None and job.device == SIMULATOR
        return not is_simulated and self._state.has_gpu

    @property
    def words(self) -> str:
        """What stands in the place of a chart; empty where there is one."""
        if self.ablation is not None:
            return "" if next(self.ablation.steps(), None) is not None else self.ablation.reason
        return self.why_not or _INVITATION.format(self._what_is_done)

    @property
    def not_compared(self) -> str:
        """Why the kernel to compare with has no bars beside the others; empty for none, and where it has."""
        other = self.selection.other
        if other is None or (self.other is not None and next(self.other.steps(), None) is not None):
            return ""
        if other.kind != "cuda":
            return f"{other.key} runs on the CPU: it has none of these costs."
        return self.other.reason if self.other is not None else f"Run ablation: it runs {other.key} too."

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
        """Run the kernel and its siblings, and those of the kernel to compare with."""
        if self.why_not_now:
            return
        other = self.selection.other
        jobs = self.selection.job, self.selection.other_job if other and other.kind == "cuda" else None
        asked = [made for job in jobs if (made := self._job(job)) is not None]
        self._jobs.begin(SOURCE, map(self._run_of, asked), self._messages)

    def _run_of(self, asked: AblationJob) -> Job:
        def replied(found: Ablation) -> None:
            kept = [one for one in self._found if one[0] != asked]
            self._found = [(asked, found), *kept][:_REMEMBERED]
            self.changed.emit()

        known = self._state.variant(asked.variant)
        title = f"Ablation of {known.title if known else asked.variant}"
        return Job(title, Run(asked, BUDGET_S), replied)

    def _found_for(self, job: AblationJob | None) -> Ablation | None:
        return next((found for asked, found in self._found if asked == job), None)

    @property
    def _what_is_done(self) -> str:
        return "what is left is timed" if self.times else "the instructions that are left are counted"

    @staticmethod
    def _job(job: PictureJob | None) -> AblationJob | None:
        if job is None:
            return None
        # How a result is shown does not matter: none is.
        plain = structs.replace(job, chain=structs.replace(job.chain, range="clip"))
        return AblationJob(**structs.asdict(plain))

    def _ask(self) -> None:
        # Nothing is asked before a click.
        self.changed.emit()
