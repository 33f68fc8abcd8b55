"""What the engine's process is asked about operations on a picture, and its replies."""

from dataclasses import dataclass
from typing import ClassVar

from engine.host.messages import VariantInfo
from engine.host.protocol import Filtered, PictureHandle
from engine.verify.regions import Region
from engine.work.operations.found import Mark, Quantity
from engine.work.operations.request import OperationRequest
from engine.work.operations.results import OperationResult


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationJob(OperationRequest):
    """Everything that one operation on a picture depends on. Preview and Run reply: Operated."""

    answers: ClassVar[str] = "engine.work.operations.answers"
    tile_answers: ClassVar[str] = "engine.flow.tiles"
    resolved_by: ClassVar[str] = "engine.work.operations.resolve:resolved_for_parts"
    region: ClassVar[Region | None] = None  # an operation is done with all of the picture
    range_mode: ClassVar[str] = "clip"  # results are of the picture's type
    file_fields: ClassVar[tuple[str, ...]] = ("patch_path",)
    picture: PictureHandle
    # Of a large picture, row and column of the middle of the part that a run measures; None: its own middle.
    centre: tuple[int, int] | None = None
    patch_path: str = ""  # a file with the patch to find; empty: what the parameters cut from the picture


@dataclass(frozen=True, slots=True)
class OperationsRequest:
    """Describe: the variants of every operation. Reply: tuple of OperationInfo."""

    answers: ClassVar[str] = "engine.work.operations.answers"


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
