"""The requests about times, launches, tiles, code and ablations, and the replies. No Numba in here."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from engine.explain.ablation_results import Ablation
from engine.explain.code_diff import Diff
from engine.explain.code_lines import KernelSource, Listing, ListingForm
from engine.explain.launches import DEFAULT, Architecture, ExplainedLaunch
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.host.request import QueuePolicy, Request
from engine.message import Message
from engine.results.measurement import ExplainedTime
from engine.work.messages import PictureJob

DIRECT = -1
"""In place of a thread: the cell is not kept in shared memory; each result reads it from global memory."""

NO_THREAD = -2
"""In place of a thread: no thread loads the cell, or no thread writes the result."""

Cells = NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TilePlan:
    """What one block of a pass loads, and which results it computes.

    The arrays of cells have the shape of the tile: rows x columns of what lies in shared memory, and what is
    read around it. Columns are pixels, or samples where a block has all channels of a pixel side by side.
    Rows and columns outside the picture are those of ghost cells, before the border's rule.
    """

    height: int  # of the picture
    width: int  # of the picture, in columns as above
    border: Border
    block: Block  # of threads
    first: tuple[int, int]  # row and column of the tile's first cell in the picture
    loaders: Cells  # the thread that puts the cell into shared memory: x + block.x * y; DIRECT; NO_THREAD
    steps: Cells  # in which of the block's loads, counted from 1; 0 where there is no thread
    first_result: tuple[int, int]  # row and column of the first result in the picture
    writers: Cells  # the thread that writes each result; NO_THREAD
    # The cells under the mask of the first result: from row and column `window_at` of the tile on, so many,
    # `apart` columns from one another.
    window_shape: tuple[int, int]
    window_at: tuple[int, int]
    apart: int  # samples of a pixel, where these are columns
    loads: int  # of samples of the picture that are kept
    direct_reads: int  # of the others
    at_once: int  # samples that a thread loads at once, at most
    reads: str = "N"  # what the pass reads and writes: N and P in the lecture, S is between two passes
    writes: str = "P"
    title: str = ""  # of the pass or the warp, where there are several

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the tile."""
        rows, columns = self.loaders.shape
        return rows, columns

    @property
    def source_rows(self) -> Cells:
        """The row of the picture that each row of the tile lies in."""
        return np.arange(self.shape[0], dtype=np.int32) + np.int32(self.first[0])

    @property
    def source_columns(self) -> Cells:
        """The same of columns."""
        return np.arange(self.shape[1], dtype=np.int32) + np.int32(self.first[1])

    @property
    def ghosts(self) -> NDArray[np.bool_]:
        """Which cells lie outside the picture."""
        rows, columns = self.source_rows[:, None], self.source_columns
        return (rows < 0) | (rows >= self.height) | (columns < 0) | (columns >= self.width)

    @property
    def own(self) -> NDArray[np.bool_]:
        """Which cells lie where the block has a result; the others are its halo."""
        is_own = np.zeros(self.shape, bool)
        rows, columns = np.nonzero(self.writers >= 0)
        down, across = (one - first for one, first in zip(self.first_result, self.first, strict=True))
        is_own[rows + down, columns + across] = True
        return is_own

    def window(self, i: int, j: int) -> tuple[slice, slice]:
        """Return rows and columns of the tile that are under the mask of result (i, j)."""
        (rows, columns), top, left = self.window_shape, i + self.window_at[0], j + self.window_at[1]
        return slice(top, top + rows), slice(left, left + (columns - 1) * self.apart + 1, self.apart)

    def source(self, row: int, column: int) -> tuple[int, int] | None:
        """Return the cell of the picture that a cell of the tile has by the border's rule; None: a value."""
        rule, per_pixel = self.border.rule, self.apart
        pixel, channel = divmod(int(self.source_columns[column]), per_pixel)
        own_row = rule(int(self.source_rows[row]), self.height)
        own_pixel = rule(pixel, self.width // per_pixel)
        return None if own_row < 0 or own_pixel < 0 else (own_row, own_pixel * per_pixel + channel)

    def result_at(self, row: int, column: int) -> tuple[int, int] | None:
        """Return the result (i, j) at a cell of the tile; None on the halo."""
        i, j = row + self.first[0] - self.first_result[0], column + self.first[1] - self.first_result[1]
        rows, columns = self.writers.shape
        is_one = 0 <= i < rows and 0 <= j < columns and self.writers[i, j] >= 0
        return (i, j) if is_one else None

    def result_place(self, i: int, j: int) -> tuple[int, int]:
        """Return where in the picture result (i, j) lies."""
        return self.first_result[0] + i, self.first_result[1] + j


class TimeRequest(Message, Request, frozen=True):
    """Ask why a job takes its time.

    What its kernels ask of memory is counted, 0.01 to 3 s, and kept by problem; a cancelled request ends
    within it. Limits of the device must have been measured (`MeasureLimits`).
    """

    handler: ClassVar[str] = "engine.explain.why:answer_time"
    reply: ClassVar[object] = ExplainedTime
    job: PictureJob  # with a variant by its name, not "auto"
    measured_ms: float | None = None  # the median kernel time of its run


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


class LaunchRequest(Message, Request, frozen=True):
    """Ask for the launches of a job's CUDA kernel, before any run.

    It takes up to 20 ms and compiles nothing: registers are in the reply if they are known already.
    """

    handler: ClassVar[str] = "engine.explain.answers:advice"
    reply: ClassVar[object] = LaunchAdvice
    policy: ClassVar[QueuePolicy] = QueuePolicy.AT_ONCE
    job: PictureJob  # with a variant by its name, not "auto"
    architecture: Architecture | None = None  # None: the job's GPU; where there is none, sm_90


class CompiledLaunchRequest(LaunchRequest, frozen=True):
    """The same with registers: the kernel is compiled where that was not done, 0.2 to 0.5 s for each.

    It waits for what is running, as a run does, so that it disturbs no measurement.
    """

    policy: ClassVar[QueuePolicy] = QueuePolicy.IN_ORDER


class BlockTiles(Message, frozen=True, eq=False):
    """The tiles of a block, one per pass; none with the reason."""

    variant: str
    grid: tuple[int, int] = (1, 1)  # blocks across and down
    at: tuple[int, int] = (0, 0)
    tiles: tuple[TilePlan, ...] = ()
    reason: str = ""


class TileRequest(Message, Request, frozen=True):
    """Ask who loads what in a block of a mask's CUDA kernel; no device is needed.

    The block runs in the interpreter, 5 to 150 ms, once its kernel is compiled. It waits for what is running,
    so that it disturbs no measurement.
    """

    handler: ClassVar[str] = "engine.explain.tiles:block_tiles"
    reply: ClassVar[object] = BlockTiles
    job: PictureJob  # with a variant by its name, not "auto"
    at: tuple[int, int] | None = None  # the block's place in the grid; None: an inner one, if there is one


class ShownCode(Message, frozen=True):
    """The code of a kernel. Its source is always there."""

    variant: str
    block: Block | None  # of its threads; None for a kernel that has none to choose
    compiled_for: str  # in words
    note: str  # why that is not what the job says; else empty
    other_note: str  # the same of the kernel that it is compared with
    source: KernelSource
    kernels: tuple[Listing, ...] = ()  # in the requested form
    diff: Diff | None = None  # in that form; without what was measured


class CodeRequest(Message, Request, frozen=True):
    """Ask for the code of a job's kernel, for an architecture that need not be here.

    It waits for what is running, so that it disturbs no measurement. The source takes up to 20 ms, PTX and
    SASS 0.1 to 1 s the first time. With `other`, the diff of both.
    """

    handler: ClassVar[str] = "engine.explain.answers:shown_code"
    reply: ClassVar[object] = ShownCode
    job: PictureJob  # a convolution with a variant by its name, not "auto"
    form: ListingForm | None = None  # None: the source alone
    architecture: Architecture = DEFAULT
    other: str = ""  # the key of a kernel to compare with


class AblationJob(PictureJob, frozen=True, kw_only=True):
    """Run: time a job's kernel, and altered ones without one cost each.

    It needs the name of a variant, not "auto". Without a GPU nothing is timed, and instructions are counted.
    """

    answers: ClassVar[str] = "engine.explain.ablation_runs"
    reply: ClassVar[object] = Ablation

    @property
    def kind(self) -> type:
        """What faults are counted of."""
        return AblationJob
