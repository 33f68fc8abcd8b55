"""What travels between client and host: frozen requests and replies with an id, pixels by name.

Pixels lie in shared memory and are never pickled; a `SharedArray` names a segment of it. No Numba and no Qt
in here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from engine.device_info import SIMULATOR, DeviceInfo
from engine.errors import CodeNotKept, EngineError
from engine.geometry.block import Block
from engine.host.queue_policy import QueuePolicy
from engine.host.request import Request
from engine.host.shared_array import SharedArray
from engine.results.measurement import RunResult
from engine.tasks.filtering.request import FilterRequest


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
    """A picture that lies in shared memory.

    Parameters
    ----------
    pixels : SharedArray
        H x W x C in the picture's own type.
    alpha : SharedArray, optional
        H x W, straight alpha, carried along and not filtered.
    screen : ScreenLevels
    title : str
        File or sample name.
    description : str
        One line: name, size, colours, depth.
    path : str
        Where it came from; empty for a sample.
    sample : str
        Key of the sample; empty for a file.
    notes : tuple of str
        Sentences for the person (damage, NaN, further pages).
    icc_profile : bytes, optional
    metadata : tuple of str
        What the file holds beside this and a saved picture will not: "EXIF data", "resolution (DPI)".
    """

    pixels: SharedArray
    alpha: SharedArray | None
    screen: ScreenLevels
    title: str
    description: str
    path: str = ""
    sample: str = ""
    notes: tuple[str, ...] = ()
    icc_profile: bytes | None = None
    metadata: tuple[str, ...] = ()

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
    """Everything that one filtering depends on.

    Parameters
    ----------
    picture : PictureHandle
    range_mode : str
        How results outside the picture's range are shown: a key of `engine.image.convert.RANGE_MODES`.
    """

    picture: PictureHandle
    range_mode: str = "clip"


@dataclass(frozen=True, slots=True)
class OpenPicture(Request):
    """Open a picture file, or a sample by key. Reply: PictureHandle."""

    path: str = ""
    sample: str = ""


@dataclass(frozen=True, slots=True)
class Preview(Request):
    """Filter once, as fast as the device allows, unverified and untimed. Reply: Filtered."""

    job: FilterJob
    queue: ClassVar[QueuePolicy] = QueuePolicy.NEWEST

    @property
    def wants_simulator(self) -> bool:
        """Whether the job is for the simulator's process."""
        return self.job.device == SIMULATOR


@dataclass(frozen=True, slots=True)
class Run(Request):
    """Verify, warm up, sample. Reply: Filtered, with `result`. Progress arrives on the way.

    Parameters
    ----------
    job : FilterJob
    budget_s : float
        Time to spend on samples, seconds.
    """

    job: FilterJob
    budget_s: float = 0.5

    @property
    def wants_simulator(self) -> bool:
        """Whether the job is for the simulator's process."""
        return self.job.device == SIMULATOR


@dataclass(frozen=True, slots=True)
class CheckVariants(Request):
    """Ask which variants can do a job, at once even while something runs. Reply: tuple of Availability."""

    job: FilterJob
    queue: ClassVar[QueuePolicy] = QueuePolicy.AT_ONCE


@dataclass(frozen=True, slots=True)
class SaveResult(Request):
    """Write a result (or a picture) to a file. Reply: Saved.

    Parameters
    ----------
    picture : PictureHandle
        Gives type, alpha and colour profile.
    values : SharedArray, optional
        A result, float32 or of the picture's type; None saves the picture itself.
    depth : str
        "keep", "8", "16" or "float32", as `engine.image.save.save_image` takes it.
    """

    picture: PictureHandle
    values: SharedArray | None
    path: str
    range_mode: str = "clip"
    depth: str = "keep"

    @property
    def written_path(self) -> str:
        """The file."""
        return self.path


@dataclass(frozen=True, slots=True)
class Filtered:
    """A filtered picture: its values for the cursor, levels for the screen, and of a `Run` its result.

    Parameters
    ----------
    values : SharedArray, optional
        H x W x C, of the type that the job asks for; None where the run failed.
    screen : ScreenLevels, optional
    variant, device : str
        What really ran.
    elapsed_ms : float
        Filtering and preparing for the screen, host's clock.
    result : RunResult, optional
    chosen_because : str
        The planner's reason where "auto" was asked for.
    """

    values: SharedArray | None
    screen: ScreenLevels | None
    variant: str
    device: str
    elapsed_ms: float
    result: RunResult | None = None
    chosen_because: str = ""


@dataclass(frozen=True, slots=True)
class Saved:
    """A file that was written.

    Parameters
    ----------
    path : str
    notes : tuple of str
        A sentence for each thing that its format cannot keep and that was left out.
    """

    path: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Availability:
    """Whether one variant can do a job on a device.

    Parameters
    ----------
    variant : str
    reason : str
        Why not, in words; empty if it can.
    nearest_block : Block, optional
        The nearest legal block where the block is the reason.
    """

    variant: str
    reason: str = ""
    nearest_block: Block | None = None


@dataclass(frozen=True, slots=True)
class VariantInfo:
    """A variant, as the window shows it; `remark` is what a person should know before using it."""

    key: str
    title: str
    kind: str
    idea: str
    default_block: Block
    uses_block: bool
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Ready:
    """The host is up: what it can do."""

    variants: tuple[VariantInfo, ...]
    devices: tuple[DeviceInfo, ...]


@dataclass(frozen=True, slots=True)
class Progress:
    """A step of a request begins.

    Parameters
    ----------
    stage : str
        In words: "compiling", "verifying", "sampling 12 of 30".
    fraction : float
        Done so far, 0 to 1.
    expected_s : float
        Estimate of this step; the client gives up on the host after ten times that, and never before 5 s.
    """

    stage: str
    fraction: float
    expected_s: float


Report = Callable[[Progress], None]
"""Tells progress; raises `Cancelled` where the person stopped the request."""


@dataclass(frozen=True, slots=True)
class ToHost:
    """The envelope of a request."""

    id: int
    request: Request


@dataclass(frozen=True, slots=True)
class Cancel:
    """Stop request `id` between two launches or samples."""

    id: int


@dataclass(frozen=True, slots=True)
class Release:
    """The window needs these segments of shared memory no longer."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stop:
    """End the process in order."""


@dataclass(frozen=True, slots=True)
class Done:
    """Request `id` succeeded."""

    id: int
    value: object


@dataclass(frozen=True, slots=True)
class Failed:
    """Request `id` failed, in words. `fatal`: the host is lost for CUDA and ends itself after this."""

    id: int
    error: EngineError
    fatal: bool = False


@dataclass(frozen=True, slots=True)
class Working:
    """Request `id` goes on."""

    id: int
    progress: Progress


@dataclass(frozen=True, slots=True)
class Noticed:
    """Something that the person should know and no request failed by: code that cannot be kept."""

    warning: CodeNotKept
