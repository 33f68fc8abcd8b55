"""The launches of the selected kernel.

The first answer is there at once, without registers. They follow once the kernel is compiled.
"""

from functools import partial

from engine.errors import EngineError
from engine.explain.launch.launches import Curves, ExplainedLaunch
from engine.explain.messages import CompiledLaunchRequest, LaunchAdvice, LaunchRequest
from engine.host.request import Describe
from gui.engine_link.engine_link import EngineLink, needs_no_message
from gui.engine_link.engine_state import EngineState
from gui.engine_link.newest import Newest
from gui.explore.question import CompiledQuestion
from gui.explore.selection import Selection

_NO_FILTER = (
    "Launches are explained of convolutions only.\n"
    "Choose Convolution under Operation to see what a block takes of a GPU."
)
_NO_PICTURE = "Open a picture: what the chosen kernel takes of a GPU appears here, before it runs."
_NO_ENGINE = "The launch appears once the engine is up."
_ASKING = "Finding out what the kernel takes of a GPU."
_OTHERS = "\n\nSelect a CUDA kernel in the list of kernels: its launch is explained without a GPU too."


class LaunchState(CompiledQuestion):
    """What the launches take of a GPU, or the reason why there are none."""

    def __init__(self, selection: Selection, state: EngineState, link: EngineLink) -> None:
        super().__init__(selection.changed, state=state, link=link)
        self.selection = selection
        self._pass = 0
        self._launches = Newest(link)
        self.advice: LaunchAdvice | None = None
        # The same of the kernel that it is compared with.
        self._others = Newest(link)
        self.other: LaunchAdvice | None = None
        """What the kernel that it is compared with takes; None for none."""
        self._is_others = False
        self._why_not = _NO_PICTURE
        self._not_compiled = ""

    @property
    def launch(self) -> ExplainedLaunch | None:
        """The launch that is shown; None with `words`."""
        return self.advice.launches[self.pass_number] if self.advice and self.advice.launches else None

    @property
    def curves(self) -> Curves | None:
        """The curves of the launch that is shown."""
        return self.advice.curves[self.pass_number] if self.advice and self.advice.launches else None

    @property
    def pass_number(self) -> int:
        """Which of the kernel's launches is shown."""
        return min(self._pass, len(self.advice.launches) - 1) if self.advice else 0

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
        reason = self.advice.reason if self.advice and not self.advice.launches else ""
        return self._why_not or (f"{reason}{_OTHERS}" if reason else "")

    @property
    def note(self) -> str:
        """Why registers are not known, and will not be; empty otherwise."""
        return self._not_compiled or (self.advice.reason if self.advice and self.advice.launches else "")

    def choose_pass(self, number: int) -> None:
        """Show another launch of the kernel."""
        self._pass = number
        self.changed.emit()

    def _ask(self) -> None:
        self._want(None)
        self._others.forget()
        self.other = None
        job, gpu = self.selection.job, self.selection.gpu
        why_not = self.selection.why_not(_NO_ENGINE, _NO_FILTER, _NO_PICTURE)
        if job is None or why_not:
            self._launches.forget()
            self._show(None, why_not)
            return
        compiled = Describe(CompiledLaunchRequest(job, gpu))
        self._launches.ask(
            Describe(LaunchRequest(job, gpu)), partial(self._described, compiled), self._failed
        )
        if (other := self.selection.other_job) is not None:
            self._others.ask(Describe(LaunchRequest(other, gpu)), self._compare, lambda error: None)
        if self.launch is None:
            # Why there was no launch may no longer hold.
            self._show(None, _ASKING)

    def _described(self, compiled: Describe[CompiledLaunchRequest], advice: LaunchAdvice) -> None:
        self._is_others = False
        self._want(None if advice.is_complete else compiled)
        self._show(advice, "")
        self._compile_other()

    def _compare(self, advice: LaunchAdvice) -> None:
        self.other = advice
        self._compile_other()
        self.changed.emit()

    def _compile_other(self) -> None:
        """Have the registers of the other kernel, once those of the selected one are known."""
        job, is_next = self.selection.other_job, self.advice is not None and self._wanted is None
        if is_next and job is not None and self.other is not None and not self.other.is_complete:
            self._is_others = True
            self._want(Describe(CompiledLaunchRequest(job, self.selection.gpu)))

    def _take_compiled(self, answer: LaunchAdvice | EngineError) -> None:
        if self._is_others:
            self.other = self.other if isinstance(answer, EngineError) else answer
            self.changed.emit()
            return
        if isinstance(answer, EngineError):
            # A lost host's successor is asked again once it is ready.
            self._show(self.advice, "", "" if needs_no_message(answer) else str(answer))
        else:
            self._show(answer, "")
        self._compile_other()

    def _failed(self, error: EngineError) -> None:
        self._show(None, _NO_ENGINE if needs_no_message(error) else str(error))

    def _show(self, advice: LaunchAdvice | None, why_not: str, not_compiled: str = "") -> None:
        self.advice, self._why_not, self._not_compiled = advice, why_not, not_compiled
        self.changed.emit()
