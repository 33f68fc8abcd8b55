"""The launches of the selected kernel.

The first answer is there at once, without registers. They follow once the kernel is compiled.
"""

from functools import partial

from engine.errors import EngineError
from engine.explain.gpus import DEFAULT, Architecture
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
        self._chosen_gpu: Architecture | None = None
        self._why_not = _NO_PICTURE
        self._not_compiled = ""

    @property
    def has_gpu(self) -> bool:
        """Whether a GPU is here."""
        return any(device.is_usable_gpu for device in self._state.devices)

    @property
    def architecture(self) -> Architecture | None:
        """The architecture that is explained; None for that of the GPU that is here."""
        return self._chosen_gpu or (None if self.has_gpu else DEFAULT)

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
        return self._wanted is not None

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

    def choose_gpu(self, architecture: Architecture | None) -> None:
        """Explain the launch on another GPU; None for the one that is here."""
        self._chosen_gpu = architecture
        self.refresh()

    def _ask(self) -> None:
        self._want(None)
        job = self.selection.job
        why_not = self.selection.why_not(_NO_ENGINE, _NO_FILTER, _NO_PICTURE)
        if job is None or why_not:
            self._launches.forget()
            self._show(None, why_not)
            return
        compiled = Describe(CompiledLaunchRequest(job, self.architecture))
        self._launches.ask(
            Describe(LaunchRequest(job, self.architecture)), partial(self._described, compiled), self._failed
        )
        if self.launch is None:
            # Why there was no launch may no longer hold.
            self._show(None, _ASKING)

    def _described(self, compiled: Describe[CompiledLaunchRequest], advice: LaunchAdvice) -> None:
        self._want(None if advice.is_complete else compiled)
        self._show(advice, "")

    def _take_compiled(self, answer: LaunchAdvice | EngineError) -> None:
        if isinstance(answer, EngineError):
            # A lost host's successor is asked again once it is ready.
            self._show(self.advice, "", "" if needs_no_message(answer) else str(answer))
        else:
            self._show(answer, "")

    def _failed(self, error: EngineError) -> None:
        self._show(None, _NO_ENGINE if needs_no_message(error) else str(error))

    def _show(self, advice: LaunchAdvice | None, why_not: str, not_compiled: str = "") -> None:
        self.advice, self._why_not, self._not_compiled = advice, why_not, not_compiled
        self.changed.emit()
