"""What the window asks of a kernel's code, and the reply. No Numba in here."""

from dataclasses import dataclass
from typing import ClassVar

from engine.explain.architectures import DEFAULT, Architecture
from engine.explain.code.code_diff import Diff
from engine.explain.code.listing import Form
from engine.explain.code.shown_code import KernelSource, ListedKernel
from engine.explain.code.tile_steps import TileSteps
from engine.geometry.block import Block
from engine.host.request import Request
from engine.results.measurement import AnyResult
from engine.work.messages import PictureJob


@dataclass(frozen=True, slots=True)
class CodeRequest:
    """Describe: the code of a job's kernel, for an architecture that need not be here. Reply: ShownCode.

    It waits for what is running, so that it disturbs no measurement. The source takes up to 20 ms, PTX and
    SASS 0.1 to 1 s the first time. With `other`, the diff of both.
    """

    answers: ClassVar[str] = "engine.explain.code.answers"
    is_quick: ClassVar[bool] = False
    job: PictureJob  # a convolution with a variant by its name, not "auto"
    form: Form | None = None  # None: the source alone
    architecture: Architecture = DEFAULT
    other: str = ""  # the key of a kernel to compare with


@dataclass(frozen=True, slots=True)
class ShownCode:
    """The code of a kernel. Its source is always there."""

    variant: str
    block: Block | None  # of its threads; None for a kernel that has none to choose
    compiled_for: str  # in words
    note: str  # why that is not what the job says; else empty
    other_note: str  # the same of the kernel that it is compared with
    source: KernelSource
    steps: tuple[TileSteps, ...]  # of each of its kernels
    kernels: tuple[ListedKernel, ...] = ()  # their listings in the form that was asked for
    diff: Diff | None = None  # in that form; without what was measured


@dataclass(frozen=True, slots=True)
class SaveSlides(Request):
    """Write the teaching order as slides, as the command `code --story` does. Reply: Saved.

    What a step saved is taken from `results`. It takes 30 s where nothing was compiled before, and can be
    stopped between two kernels: then nothing is written.
    """

    path: str
    results: tuple[AnyResult, ...] = ()
    architecture: Architecture = DEFAULT
    path_field: ClassVar[str] = "path"
    handler: ClassVar[str] = "engine.explain.code.answers:save_slides"
