"""What the engine's process is asked about filters, and its replies."""

from dataclasses import dataclass
from typing import Any, ClassVar

from engine.geometry.tile_plan import TilePlan
from engine.host.protocol import Filtered, PictureHandle
from engine.host.request import Request
from engine.mask.mask import Mask
from engine.verify.regions import Region
from engine.work.filtering.problem import Problem
from engine.work.filtering.request import FilterRequest
from engine.work.filtering.results import RunResult


@dataclass(frozen=True, slots=True)
class FiltersRequest:
    """Describe: every variant, in teaching order. Reply: tuple of VariantInfo."""

    answers: ClassVar[str] = "engine.work.filtering.answers"


@dataclass(frozen=True, slots=True)
class EffectsRequest:
    """Describe: what masks do to the middle of a picture, or of a sample. Reply: RGB bytes of each."""

    answers: ClassVar[str] = "engine.work.filtering.effects"
    is_quick: ClassVar[bool] = False
    masks: tuple[Mask, ...]
    picture: PictureHandle | None
    side: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterJob(FilterRequest):
    """Everything that one filtering depends on. Preview and Run reply: Filtered."""

    answers: ClassVar[str] = "engine.work.filtering.answers"
    tile_answers: ClassVar[str] = "engine.flow.tiles"
    resolved_by: ClassVar[str] = "engine.work.filtering.resolve:ResolvedFilter"
    picture: PictureHandle
    range_mode: str = "clip"  # how results outside the picture's range are shown (`engine.image.convert`)
    # Of a large picture, row and column of the middle of the part that a run measures; None: its own middle.
    centre: tuple[int, int] | None = None
    # The part that is filtered: the rest of the result keeps the picture's values. None: all of it.
    region: Region | None = None


@dataclass(frozen=True, slots=True)
class SaveFiltered(Request):
    """Save the result of a picture that stays in its file, in bands and in full size. Reply: Saved.

    `job` is that of a filter, of an operation or of a chain.
    """

    job: Any
    path: str
    depth: str = "keep"
    path_field: ClassVar[str] = "path"
    handler: ClassVar[str] = "engine.flow.saving:save_filtered"


@dataclass(frozen=True, slots=True)
class ShowDifference(Request):
    """Filter by two jobs on one picture, and show where their results differ. Reply: Difference."""

    first: FilterJob
    second: FilterJob
    handler: ClassVar[str] = "engine.work.filtering.difference:difference"


@dataclass(frozen=True, slots=True)
class Difference:
    """The absolute difference of two results as a picture, the largest one white."""

    shown: Filtered
    largest: float


@dataclass(frozen=True, slots=True)
class TileRequest:
    """Describe: who loads what in one block of a job's CUDA kernel; no device is asked. Reply: BlockTiles."""

    answers: ClassVar[str] = "engine.work.filtering.tiles"
    job: FilterJob
    at: tuple[int, int] | None = None  # the block's place in the grid; None: an inner one, if there is one


@dataclass(frozen=True, slots=True)
class SumOrderRequest:
    """Describe: in which order the variant of a job adds up a result. Reply: SumOrder."""

    answers: ClassVar[str] = "engine.work.filtering.sum_orders"
    job: FilterJob
    reads_floats: bool = False  # it reads another step's result, float32, in the place of the picture


@dataclass(frozen=True, slots=True, eq=False)
class BlockTiles:
    """The tiles of a block, one per pass; none with the reason."""

    variant: str
    grid: tuple[int, int] = (1, 1)  # blocks across and down
    at: tuple[int, int] = (0, 0)
    tiles: tuple[TilePlan, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """Describe: recorded runs for a problem. Reply: RecordedRuns."""

    answers: ClassVar[str] = "engine.tasks.recorded_runs"
    problem: Problem
    mask: Mask  # flipped and normalised already


@dataclass(frozen=True, slots=True)
class RecordedRuns:
    """Recorded runs, one of each variant; `note` says how they differ from the problem, or why none is."""

    runs: tuple[RunResult, ...] = ()
    note: str = ""
