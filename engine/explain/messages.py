"""What is asked of times, limits, launches, code and ablations, and the replies. No Numba in here."""

from typing import ClassVar

from engine.explain.code_diff import Diff
from engine.explain.code_lines import Form, KernelSource, ListedKernel
from engine.explain.launches import DEFAULT, Architecture, ExplainedLaunch
from engine.geometry.block import Block, TilePlan
from engine.host.request import QueuePolicy, Request
from engine.message import Message
from engine.work.messages import PictureJob


class TimeRequest(Message, Request, frozen=True):
    """Ask why a job takes its time. Reply: `engine.results.measurement.ExplainedTime`.

    What its kernels ask of memory is counted, 0.01 to 3 s, and kept by problem; a cancelled request ends
    within it. Limits of the device must have been measured (`MeasureLimits`).
    """

    handler: ClassVar[str] = "engine.explain.why:answer_time"
    job: PictureJob  # with a variant by its name, not "auto"
    measured_ms: float | None = None  # the median kernel time of its run


class LaunchRequest(Message, Request, frozen=True):
    """Ask for the launches of a job's CUDA kernel, before any run. Reply: LaunchAdvice.

    It takes up to 20 ms and compiles nothing: registers are in the reply if they were found before.
    """

    handler: ClassVar[str] = "engine.explain.answers:advice"
    policy: ClassVar[QueuePolicy] = QueuePolicy.AT_ONCE
    job: PictureJob  # with a variant by its name, not "auto"
    architecture: Architecture | None = None  # None: the job's GPU; where there is none, sm_90


class CompiledLaunchRequest(LaunchRequest, frozen=True):
    """The same with registers: the kernel is compiled where that was not done, 0.2 to 0.5 s for each.

    It waits for what is running, as a run does, so that it disturbs no measurement.
    """

    policy: ClassVar[QueuePolicy] = QueuePolicy.IN_ORDER


class LaunchAdvice(Message, frozen=True):
    """The launches of a job, one per pass; none with the reason."""

    variant: str
    gpu: str = ""  # the GPU in words
    launches: tuple[ExplainedLaunch, ...] = ()
    reason: str = ""  # why there are no launches, or why registers will not be known; else empty

    @property
    def is_complete(self) -> bool:
        """Whether compiling would say no more."""
        return bool(self.reason) or all(launch.is_compiled for launch in self.launches)


class TileRequest(Message, Request, frozen=True):
    """Ask who loads what in a block of a mask's CUDA kernel; no device is asked. Reply: BlockTiles.

    The block runs in the interpreter, 5 to 150 ms, once its kernel is compiled. It waits for what is running,
    so that it disturbs no measurement.
    """

    handler: ClassVar[str] = "engine.explain.tiles:block_tiles"
    job: PictureJob  # with a variant by its name, not "auto"
    at: tuple[int, int] | None = None  # the block's place in the grid; None: an inner one, if there is one


class BlockTiles(Message, frozen=True, eq=False):
    """The tiles of a block, one per pass; none with the reason."""

    variant: str
    grid: tuple[int, int] = (1, 1)  # blocks across and down
    at: tuple[int, int] = (0, 0)
    tiles: tuple[TilePlan, ...] = ()
    reason: str = ""


class CodeRequest(Message, Request, frozen=True):
    """Ask for the code of a job's kernel, for an architecture that need not be here. Reply: ShownCode.

    It waits for what is running, so that it disturbs no measurement. The source takes up to 20 ms, PTX and
    SASS 0.1 to 1 s the first time. With `other`, the diff of both.
    """

    handler: ClassVar[str] = "engine.explain.answers:shown_code"
    job: PictureJob  # a convolution with a variant by its name, not "auto"
    form: Form | None = None  # None: the source alone
    architecture: Architecture = DEFAULT
    other: str = ""  # the key of a kernel to compare with


class ShownCode(Message, frozen=True):
    """The code of a kernel. Its source is always there."""

    variant: str
    block: Block | None  # of its threads; None for a kernel that has none to choose
    compiled_for: str  # in words
    note: str  # why that is not what the job says; else empty
    other_note: str  # the same of the kernel that it is compared with
    source: KernelSource
    kernels: tuple[ListedKernel, ...] = ()  # their listings in the form that was asked for
    diff: Diff | None = None  # in that form; without what was measured


class AblationJob(PictureJob, frozen=True, kw_only=True):
    """Run: time a job's kernel, and its siblings without one cost each. Reply: Ablation.

    It needs the name of a variant, not "auto". Without a GPU nothing is timed, and instructions are counted.
    """

    answers: ClassVar[str] = "engine.explain.ablation_runs"

    @property
    def kind(self) -> type:
        """What faults are counted of."""
        return AblationJob
