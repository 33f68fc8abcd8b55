"""Requests to a host, and their replies: frozen, plain data; pixels by name.

Those about the network are in `engine.host.network_protocol`; `engine.host.handlers` lists all of them.

Pixels lie in shared memory and are never pickled; a `SharedArray` names a segment of it. No Numba and no Qt
in here.
"""

from dataclasses import dataclass
from typing import ClassVar

from engine.course.paper import CourseTable
from engine.errors import ImageReadError
from engine.geometry.block import Block
from engine.geometry.refusal import Refusal
from engine.geometry.tile_plan import TilePlan
from engine.host.messages import VariantInfo
from engine.host.request import QueuePolicy, Request
from engine.host.shared_array import SharedArray
from engine.reason import Reason
from engine.results.measurement import OperationResult, RunResult
from engine.tasks.filtering.request import FilterRequest
from engine.tasks.operation.found import Mark, Quantity
from engine.tasks.operation.request import OperationRequest
from engine.tasks.product.problem import MatrixProduct


@dataclass(frozen=True, slots=True)
class ScreenLevels:
    """A picture ready to be painted: level 0 in full size, each further one half as large, halves averaged.

    Every level is H x W x 4, uint8, in the order blue, green, red, alpha (Qt's premultiplied ARGB32 on
    little-endian machines).
    """

    levels: tuple[SharedArray, ...]
    opaque: bool = True


@dataclass(frozen=True, slots=True)
class PictureHandle:
    """A picture that lies in shared memory."""

    pixels: SharedArray  # H x W x C in the picture's own type
    alpha: SharedArray | None  # H x W, straight; carried along and not filtered
    screen: ScreenLevels
    title: str  # name of the file or sample
    description: str  # one line: name, size, colours, depth
    path: str = ""  # empty for a sample
    sample: str = ""  # its key; empty for a file
    notes: tuple[str, ...] = ()  # sentences for the user: damage, NaN, further pages
    icc_profile: bytes | None = None
    metadata: tuple[str, ...] = ()  # content of the file that a save drops, such as "EXIF data"

    @property
    def height(self) -> int:
        """Rows of the picture."""
        return self.pixels.shape[0]

    @property
    def width(self) -> int:
        """Columns of the picture."""
        return self.pixels.shape[1]

    @property
    def channels(self) -> int:
        """Colour channels: 1 or 3, alpha not counted."""
        return self.pixels.shape[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterJob(FilterRequest):
    """Everything that one filtering depends on."""

    picture: PictureHandle
    range_mode: str = "clip"  # how results outside the picture's range are shown (`engine.image.convert`)


@dataclass(frozen=True, slots=True)
class OpenPicture(Request):
    """Open a picture file, or a sample by key. Reply: PictureHandle."""

    path: str = ""
    sample: str = ""

    def error_if_late(self) -> ImageReadError:
        """Return an error that names the file: a process that was given up for it is as good as any."""
        return ImageReadError(
            f"{self.path or self.sample} cannot be opened",
            "it took more than ten times as long as its size lets expect, and was given up",
            "Copy it to a disk of this machine, or save it again from the program that made it.",
        )


@dataclass(frozen=True, slots=True)
class Preview(Request):
    """Filter once, as fast as the device allows, unverified and untimed. Reply: Filtered."""

    job: FilterJob
    queue: ClassVar[QueuePolicy] = QueuePolicy.NEWEST
    device_field: ClassVar[str] = "job.device"


@dataclass(frozen=True, slots=True)
class Run(Request):
    """Verify, warm up, sample for `budget_s` seconds. Reply: Filtered, with `result`. Reports progress."""

    job: FilterJob
    budget_s: float = 0.5
    device_field: ClassVar[str] = "job.device"


@dataclass(frozen=True, slots=True)
class CheckVariants(Request):
    """Check which variants can do a job, also during a run. Reply: tuple of Availability."""

    job: FilterJob
    queue: ClassVar[QueuePolicy] = QueuePolicy.AT_ONCE


@dataclass(frozen=True, slots=True)
class CheckBlocks(Request):
    """Cross variants with blocks for a job, also during a run. Reply: tuple of BlockAvailability.

    "auto" is the variant that it would choose; one without blocks is answered once. No variants: all.
    """

    job: FilterJob
    variants: tuple[str, ...]
    blocks: tuple[Block, ...]
    queue: ClassVar[QueuePolicy] = QueuePolicy.AT_ONCE


@dataclass(frozen=True, slots=True)
class DescribeTile(Request):
    """Say who loads what in one block of a job's CUDA kernel; no device is asked. Reply: BlockTiles."""

    job: FilterJob
    at: tuple[int, int] | None = None  # the block's place in the grid; None: an inner one, if there is one
    queue: ClassVar[QueuePolicy] = QueuePolicy.AT_ONCE


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationJob(OperationRequest):
    """Everything that one operation on a picture depends on."""

    picture: PictureHandle
    patch_path: str = ""  # a file with the patch to find; empty: what the parameters cut from the picture


@dataclass(frozen=True, slots=True)
class DescribeOperations(Request):
    """List the variants of every operation. Reply: tuple of OperationInfo."""

    queue: ClassVar[QueuePolicy] = QueuePolicy.AT_ONCE


@dataclass(frozen=True, slots=True)
class PreviewOperation(Request):
    """Do an operation once, unverified and untimed. Reply: Operated."""

    job: OperationJob
    queue: ClassVar[QueuePolicy] = QueuePolicy.NEWEST
    device_field: ClassVar[str] = "job.device"


@dataclass(frozen=True, slots=True)
class RunOperation(Request):
    """Do an operation: verify, warm up, sample for `budget_s` seconds. Reply: Operated, with `result`."""

    job: OperationJob
    budget_s: float = 0.5
    device_field: ClassVar[str] = "job.device"


@dataclass(frozen=True, slots=True)
class CheckOperation(Request):
    """Check which variants of an operation can do a job, also during a run. Reply: tuple of Availability."""

    job: OperationJob
    queue: ClassVar[QueuePolicy] = QueuePolicy.AT_ONCE


@dataclass(frozen=True, slots=True)
class SaveResult(Request):
    """Write a result, or a picture, to a file. Reply: Saved."""

    picture: PictureHandle  # gives type, alpha and colour profile
    values: SharedArray | None  # a result, float32 or of the picture's type; None saves the picture itself
    path: str
    range_mode: str = "clip"
    depth: str = "keep"  # or "8", "16", "float32", as `engine.image.save.save_image` takes it
    path_field: ClassVar[str] = "path"


@dataclass(frozen=True, slots=True)
class CountMatmul(Request):
    """Count the memory accesses of every matrix kernel, and check whether it can run.

    Reply: tuple of ProductResult, one per variant, and per tile where the variant has one.
    """

    product: MatrixProduct
    tiles: tuple[int, ...]
    device: str = "auto"
    queue: ClassVar[QueuePolicy] = QueuePolicy.AT_ONCE


@dataclass(frozen=True, slots=True)
class RunMatmul(Request):
    """Multiply random matrices with one variant: verify, warm up, sample for `budget_s` seconds.

    Reply: ProductResult. Reports progress. Without `tile` the variant's default is taken.
    """

    product: MatrixProduct
    variant: str
    tile: int | None = None
    device: str = "auto"
    seed: int = 0
    budget_s: float = 0.5
    device_field: ClassVar[str] = "device"


@dataclass(frozen=True, slots=True)
class CountCourse(Request):
    """Count what can be counted of a paper's tables: 1 to 20 ms. Reply: tuple of CourseTable."""

    paper: str
    queue: ClassVar[QueuePolicy] = QueuePolicy.AT_ONCE


@dataclass(frozen=True, slots=True)
class MeasureCourse(Request):
    """Measure a paper's tables on this machine, which may take minutes. Reply: tuple of CourseTable."""

    paper: str
    device: str = "auto"


@dataclass(frozen=True, slots=True)
class SaveCourse(Request):
    """Write a paper's tables, as the command `course PAPER --out FOLDER` does. Reply: Saved.

    The folder is created if its parent exists. `device` is the measured one, for the lines about the machine.
    """

    paper: str
    tables: tuple[CourseTable, ...]
    folder: str
    device: str = "auto"
    path_field: ClassVar[str] = "folder"


@dataclass(frozen=True, slots=True)
class Filtered:
    """A filtered picture: its values for the cursor, levels for the screen, and of a `Run` its result."""

    values: SharedArray | None  # H x W x C, of the type that the job asks for; None where the run failed
    screen: ScreenLevels | None
    variant: str  # the one that ran
    device: str
    elapsed_ms: float  # filtering and preparing for the screen, by the host's clock
    result: RunResult | None = None
    chosen_because: Reason | None = None  # the planner's reason where "auto" was asked for


@dataclass(frozen=True, slots=True)
class OperationInfo:
    """An operation with its variants, in teaching order."""

    key: str
    variants: tuple[VariantInfo, ...]


@dataclass(frozen=True, slots=True)
class Operated:
    """What an operation found: the picture to show (nothing where the run failed), numbers, counts."""

    shown: Filtered  # with a frame around the best match of a patch; of a histogram the picture as it is
    quantities: tuple[Quantity, ...] = ()
    counts: tuple[tuple[int, ...], ...] = ()  # of a histogram: a row for each channel
    mark: Mark | None = None
    result: OperationResult | None = None


@dataclass(frozen=True, slots=True, eq=False)
class BlockTiles:
    """The tiles of a block, one per pass; none with the reason."""

    variant: str
    grid: tuple[int, int] = (1, 1)  # blocks across and down
    at: tuple[int, int] = (0, 0)
    tiles: tuple[TilePlan, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Saved:
    """A file that was written, with a sentence for each property that its format could not keep."""

    path: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Availability:
    """Why one variant cannot do a job, None if it can."""

    variant: str
    reason: Reason | None = None

    @property
    def refusal(self) -> Refusal | None:
        """The reason, where the variant itself refuses."""
        return self.reason if isinstance(self.reason, Refusal) else None

    @property
    def nearest_block(self) -> Block | None:
        """The nearest legal block, where another block helps."""
        return None if self.refusal is None else self.refusal.nearest_block


@dataclass(frozen=True, slots=True)
class BlockAvailability:
    """Why one variant cannot do a job with a block, None if it can.

    There is no block where it does not matter: for a variant without blocks, or one that no block helps.
    """

    variant: str
    block: Block | None
    reason: Reason | None = None
