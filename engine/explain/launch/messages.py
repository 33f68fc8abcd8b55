"""What the window asks of a launch before it runs, and the reply. No Numba in here."""

from dataclasses import dataclass
from typing import ClassVar

from engine.explain.architectures import Architecture
from engine.explain.launch.curves import Curves
from engine.explain.launch.launches import ExplainedLaunch
from engine.work.messages import PictureJob


@dataclass(frozen=True, slots=True)
class LaunchRequest:
    """Describe: the launches of a job's CUDA kernel, before any run. Reply: LaunchAdvice.

    It takes up to 20 ms and compiles nothing: registers are in the reply if they were found before.
    """

    answers: ClassVar[str] = "engine.explain.launch.answers"
    is_quick: ClassVar[bool] = True
    job: PictureJob  # with a variant by its name, not "auto"
    architecture: Architecture | None = None  # None: the job's GPU; where there is none, sm_90


@dataclass(frozen=True, slots=True)
class CompiledLaunchRequest(LaunchRequest):
    """The same with registers: the kernel is compiled where that was not done, 0.2 to 0.5 s for each.

    It waits for what is running, as a run does, so that it disturbs no measurement.
    """

    answers: ClassVar[str] = "engine.explain.launch.compiled_answers"
    is_quick: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class LaunchAdvice:
    """The launches of a job, one per pass; none with the reason."""

    variant: str
    gpu: str = ""  # the GPU in words
    launches: tuple[ExplainedLaunch, ...] = ()
    curves: tuple[Curves, ...] = ()  # of each launch
    reason: str = ""  # why there are no launches, or why registers will not be known; else empty

    @property
    def is_complete(self) -> bool:
        """Whether compiling would say no more."""
        return bool(self.reason) or all(launch.is_compiled for launch in self.launches)
