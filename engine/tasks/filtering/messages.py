"""What the engine's process is asked about filters, and its replies."""

from dataclasses import dataclass
from typing import ClassVar

from engine.geometry.tile_plan import TilePlan
from engine.host.protocol import PictureHandle
from engine.tasks.filtering.request import FilterRequest


@dataclass(frozen=True, slots=True)
class FiltersRequest:
    """Describe: every variant, in teaching order. Reply: tuple of VariantInfo."""

    answers: ClassVar[str] = "engine.tasks.filtering.answers"


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterJob(FilterRequest):
    """Everything that one filtering depends on. Preview and Run reply: Filtered."""

    answers: ClassVar[str] = "engine.tasks.filtering.answers"
    picture: PictureHandle
    range_mode: str = "clip"  # how results outside the picture's range are shown (`engine.image.convert`)


@dataclass(frozen=True, slots=True)
class TileRequest:
    """Describe: who loads what in one block of a job's CUDA kernel; no device is asked. Reply: BlockTiles."""

    answers: ClassVar[str] = "engine.tasks.filtering.tiles"
    job: FilterJob
    at: tuple[int, int] | None = None  # the block's place in the grid; None: an inner one, if there is one


@dataclass(frozen=True, slots=True, eq=False)
class BlockTiles:
    """The tiles of a block, one per pass; none with the reason."""

    variant: str
    grid: tuple[int, int] = (1, 1)  # blocks across and down
    at: tuple[int, int] = (0, 0)
    tiles: tuple[TilePlan, ...] = ()
    reason: str = ""
