"""Requests to the engine's process about work on pictures, and its replies. No Numba in here."""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from engine.geometry.border import RangeMode
from engine.host.protocol import FilePixels, Filtered, OfValues, PictureHandle, Saved, ScreenLevels
from engine.host.request import ComputedResult, QueuePolicy, Request, SharedArray, VariantInfo
from engine.mask.mask import Mask
from engine.message import Message
from engine.verify.verification import Region
from engine.work.filtering.sum_order import SumOrder
from engine.work.steps import Chain, PictureRequest

MEASURED_SIDE = 2048
"""Sides of the part of a large picture that a run measures, pixels, at most."""


class OperationInfo(Message, frozen=True):
    """An operation with its variants, in teaching order."""

    key: str
    variants: tuple[VariantInfo, ...]


class ListRequest(Message, Request, frozen=True):
    """Ask what there is to choose from."""

    handler: ClassVar[str] = "engine.work.answers:describe"
    reply: ClassVar[object] = tuple[VariantInfo | OperationInfo | Chain, ...]
    policy: ClassVar[QueuePolicy] = QueuePolicy.AT_ONCE
    of: str = "filters"  # in teaching order; or "operations", or "chains", the ready ones


class EffectsRequest(Message, Request, frozen=True):
    """Ask what masks do to the middle of a picture, or of a sample. The reply: RGB bytes of each."""

    handler: ClassVar[str] = "engine.work.comparing:effects"
    reply: ClassVar[object] = tuple[bytes, ...]
    masks: tuple[Mask, ...]
    picture: PictureHandle | None
    side: int


class PictureJob(PictureRequest, frozen=True, kw_only=True):
    """Everything that work on a picture of the window depends on."""

    answers: ClassVar[str] = "engine.work.answers"
    reply: ClassVar[object] = Filtered
    tile_answers: ClassVar[str] = "engine.flow.tiles"
    file_fields: ClassVar[tuple[str, ...]] = ("patch_path",)
    picture: PictureHandle
    patch_path: str = ""  # a file with the patch to find; empty: what the parameters cut from the picture
    # Of a large picture, row and column of the middle of the part that a run measures; None: its own middle.
    centre: tuple[int, int] | None = None
    # The part that a mask filters: the rest of the result keeps the picture's values. None: all of it.
    region: Region | None = None

    @property
    def kind(self) -> type:
        """What faults are counted of: masks, other operations, chains."""
        step = self.step
        return Chain if step is None else type(step)

    @property
    def range_mode(self) -> RangeMode:
        """How results outside the picture's range are shown (`engine.image.convert`)."""
        return self.chain.range


class SumOrderRequest(Message, Request, frozen=True):
    """Ask in which order the variant of a mask adds up a result."""

    handler: ClassVar[str] = "engine.work.answers:sum_order"
    reply: ClassVar[object] = SumOrder
    policy: ClassVar[QueuePolicy] = QueuePolicy.AT_ONCE
    job: PictureJob
    reads_floats: bool = False  # it reads another step's result, float32, in the place of the picture


class Merger(Message, frozen=True):
    """A proposal: these steps as one mask."""

    ids: tuple[str, ...]  # the last is the one whose place the mask takes
    frame: tuple[int, int, int, int]  # rows at the top and the bottom, columns left and right that differ
    chain: Chain  # with the mask
    separate_ms: float  # estimated for the picture, of all these steps one after the other
    merged_ms: float  # and of the one mask

    @property
    def is_faster(self) -> bool:
        """Whether the one mask is estimated to take less time."""
        return self.merged_ms < self.separate_ms

    @property
    def mask(self) -> Mask:
        """The one mask."""
        return next(one.mask for one in self.chain.steps if one.id == self.ids[-1])  # type: ignore[union-attr]

    @property
    def sentence(self) -> str:
        """The proposal in words, its steps by their names."""
        return f"{', '.join(self.ids)} {self.effect}"

    @property
    def effect(self) -> str:
        """What becomes of the steps, in words that follow theirs."""
        frame = "; the results are the same up to the edges"
        if any(self.frame):
            top, bottom, left, right = self.frame
            rows = f"{top} row{'s' * (top != 1)} at the top, {bottom} at the bottom"
            columns = f"{left} column{'s' * (left != 1)} at the left, {right} at the right"
            frame = f"; {rows}, {columns} differ, where the border now counts once"
        return (
            f"as one mask of {self.mask.rows} × {self.mask.columns}: about "
            f"{self.merged_ms:.2g} ms instead of {self.separate_ms:.2g} ms{frame}"
        )


class MergeRequest(Message, Request, frozen=True):
    """Ask what of a chain could become one mask, for its picture on its device."""

    handler: ClassVar[str] = "engine.work.answers:merger_offers"
    reply: ClassVar[object] = tuple[Merger, ...]
    policy: ClassVar[QueuePolicy] = QueuePolicy.AT_ONCE
    job: PictureJob


class Compared(Message, frozen=True):
    """The picture for the screen, and what black, grey and white mean."""

    screen: ScreenLevels
    words: str
    is_whole: bool = True


class ComparePictures(Message, OfValues, frozen=True):
    """Make a picture of result less original, or of the error against float64."""

    picture: PictureHandle
    values: SharedArray | ComputedResult  # the result
    job: PictureJob | None  # of the error; None for the difference
    variant: str  # that ran
    seen: Region  # of an error that is not affordable as a whole, this part is computed
    handler: ClassVar[str] = "engine.work.comparing:compare"
    reply: ClassVar[object] = Compared


def measured_shape(picture: PictureHandle) -> tuple[int, int, int]:
    """Return rows, columns and channels of what a run measures: the picture, or a part of a large one."""
    if isinstance(picture.pixels, FilePixels):
        return min(picture.height, MEASURED_SIDE), min(picture.width, MEASURED_SIDE), picture.channels
    return picture.height, picture.width, picture.channels


def blank(picture: PictureHandle) -> NDArray[np.generic]:
    """Return samples of that shape without their memory: nothing is read for a question."""
    return np.broadcast_to(np.zeros((), picture.dtype), measured_shape(picture))


def measured_part(job: PictureJob) -> tuple[slice, slice]:
    """Return the rows and columns of a large picture that a run measures: around the job's centre."""
    height, width, _ = measured_shape(job.picture)
    row, column = job.centre or (job.picture.height // 2, job.picture.width // 2)
    top = min(max(row - height // 2, 0), job.picture.height - height)
    left = min(max(column - width // 2, 0), job.picture.width - width)
    return slice(top, top + height), slice(left, left + width)


class SaveFiltered(Message, Request, frozen=True):
    """Save the result of a picture that stays in its file, in bands and in full size."""

    job: PictureJob
    path: str
    depth: str = "keep"
    path_field: ClassVar[str] = "path"
    handler: ClassVar[str] = "engine.flow.tiles:save_filtered"
    reply: ClassVar[object] = Saved
