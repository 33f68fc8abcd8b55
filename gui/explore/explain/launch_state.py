"""The launches of the selected kernel.

The first answer is there at once, without registers. They follow once the kernel is compiled.
"""

from engine.errors import EngineError
from engine.explain.launch.launches import Curves, ExplainedLaunch
from engine.explain.messages import CompiledLaunchRequest, LaunchAdvice, LaunchRequest
from engine.work.messages import PictureJob
from gui.engine_link.engine_link import EngineLink, needs_no_message
from gui.engine_link.engine_state import EngineState
from gui.explore.explain.question import KernelQuestion
from gui.explore.explain.selection import Selection

_OTHERS = "\n\nSelect a CUDA kernel in the list of kernels: its launch is explained without a GPU too."


class LaunchState(KernelQuestion[LaunchAdvice]):
    """What the launches take of a GPU, or the reason why there are none."""

    no_filter = (
        "Launches are explained of convolutions only.\n"
        "Choose Convolution under Operation to see what a block takes of a GPU."
    )
    no_picture = "Open a picture: what the chosen kernel takes of a GPU appears here, before it runs."
    no_engine = "The launch appears once the engine is up."
    asking = "Finding out what the kernel takes of a GPU."

    def __init__(self, selection: Selection, state: EngineState, link: EngineLink) -> None:
        super().__init__(selection, state, link)
        self._pass = 0
        self._is_others = False
        self._not_compiled = ""

    @property
    def launch(self) -> ExplainedLaunch | None:
        """The launch that is shown; None with `words`."""
        return self.found.launches[self.pass_number] if self.found and self.found.launches else None

    @property
    def curves(self) -> Curves | None:
        """The curves of the launch that is shown."""
        return self.found.curves[self.pass_number] if self.found and self.found.launches else None

    @property
    def pass_number(self) -> int:
        """Which of the kernel's launches is shown."""
        return min(self._pass, len(self.found.launches) - 1) if self.found else 0

    @property
    def is_compiling(self) -> bool:
        """Whether registers are on their way."""
        return self._wanted is not None and not self._is_others

    @property
    def other_launch(self) -> ExplainedLaunch | None:
        """The launch of the kernel that it is compared with; None where it has none."""
        launches = self.other.launches if self.other else ()
        return launches[min(self._pass, len(launches) - 1)] if launches else None

    @property
    def words(self) -> str:
        """Why there is no launch."""
        reason = self.found.reason if self.found and not self.found.launches else ""
        return self._why_not or (f"{reason}{_OTHERS}" if reason else "")

    @property
    def note(self) -> str:
        """Why registers are not known, and will not be; empty otherwise."""
        return self._not_compiled or (self.found.reason if self.found and self.found.launches else "")

    def choose_pass(self, number: int) -> None:
        """Show another launch of the kernel."""
        self._pass = number
        self.changed.emit()

    def _request_about(self, job: PictureJob) -> LaunchRequest:
        return LaunchRequest(job, self.selection.gpu)

    def _take(self, found: LaunchAdvice) -> None:
        self._is_others, self._not_compiled = False, ""
        job = self._job
        if job is not None and not found.is_complete:
            self._want(CompiledLaunchRequest(job, self.selection.gpu))
        super()._take(found)
        self._compile_other()

    def _take_other(self, other: LaunchAdvice) -> None:
        self.other = other
        self._compile_other()
        self.changed.emit()

    def _compile_other(self) -> None:
        """Have the registers of the other kernel, once those of the selected one are known."""
        job, is_next = self.selection.other_job, self.found is not None and self._wanted is None
        if is_next and job is not None and self.other is not None and not self.other.is_complete:
            self._is_others = True
            self._want(CompiledLaunchRequest(job, self.selection.gpu))

    def _take_compiled(self, answer: LaunchAdvice | EngineError) -> None:
        if self._is_others:
            self.other = self.other if isinstance(answer, EngineError) else answer
            self.changed.emit()
            return
        if isinstance(answer, EngineError):
            # A lost host's successor is asked again once it is ready.
            self._not_compiled = "" if needs_no_message(answer) else str(answer)
            self.changed.emit()
        else:
            self._show(answer, "")
        self._compile_other()
