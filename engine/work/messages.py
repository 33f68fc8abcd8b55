"""What the engine's process is asked about work on pictures, and its replies. No Numba in here."""

from typing import ClassVar

from engine.geometry.range_modes import RangeMode
from engine.host.messages import VariantInfo
from engine.host.protocol import OfValues, PictureHandle, ScreenLevels
from engine.host.request import Computed, QueuePolicy, Request, SharedArray
from engine.mask.mask import Mask
from engine.message import Message
from engine.verify.regions import Region
from engine.work.request import PictureRequest
from engine.work.steps import Chain


class ListRequest(Message, Request, frozen=True):
    """Ask what there is to choose from.

    Reply: of "filters" a tuple of VariantInfo, in teaching order; of "operations" one of OperationInfo; of
    "chains", the ready ones, one of Chain.
    """

    handler: ClassVar[str] = "engine.work.answers:describe"
    policy: ClassVar[QueuePolicy] = QueuePolicy.AT_ONCE
    of: str = "filters"


class OperationInfo(Message, frozen=True):
    """An operation with its variants, in teaching order."""

    key: str
    variants: tuple[VariantInfo, ...]


class EffectsRequest(Message, Request, frozen=True):
    """Ask what masks do to the middle of a picture, or of a sample. Reply: RGB bytes of each."""

    handler: ClassVar[str] = "engine.work.comparing:effects"
    masks: tuple[Mask, ...]
    picture: PictureHandle | None
    side: int


class PictureJob(PictureRequest, frozen=True, kw_only=True):
    """Everything that work on a picture of the window depends on. Preview and Run reply: Filtered."""

    answers: ClassVar[str] = "engine.work.answers"
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
    """Ask in which order the variant of a mask adds up a result. Reply: SumOrder."""

    handler: ClassVar[str] = "engine.work.questions:sum_order"
    policy: ClassVar[QueuePolicy] = QueuePolicy.AT_ONCE
    job: PictureJob
    reads_floats: bool = False  # it reads another step's result, float32, in the place of the picture


class ComparePictures(Message, OfValues, frozen=True):
    """Make a picture of result less original, or of the error against the float64 reference.

    Reply: Compared.
    """

    picture: PictureHandle
    values: SharedArray | Computed  # the result
    job: PictureJob | None  # of the error; None for the difference
    variant: str  # that ran
    seen: Region  # of an error that is not affordable as a whole, this part is computed
    handler: ClassVar[str] = "engine.work.comparing:compare"


class Compared(Message, frozen=True):
    """The picture for the screen, and what black, grey and white mean."""

    screen: ScreenLevels
    words: str
    is_whole: bool = True


class SaveFiltered(Message, Request, frozen=True):
    """Save the result of a picture that stays in its file, in bands and in full size. Reply: Saved."""

    job: PictureJob
    path: str
    depth: str = "keep"
    path_field: ClassVar[str] = "path"
    handler: ClassVar[str] = "engine.flow.tiles:save_filtered"
