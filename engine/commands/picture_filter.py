"""What `filter` and `batch` do with each picture, and what can be said before what filters is imported.

A `PictureFilter` opens pictures: it counts their memory and refuses results that cannot be saved. Its
`run_type` filters them.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from engine.commands.picture_settings import PictureSettings
from engine.errors import BadValue
from engine.image.canvas import Allocate
from engine.image.form import Form
from engine.image.formats import Format, quality_words
from engine.image.open import open_image
from engine.image.picture import Picture
from engine.image.save import DEFAULT_QUALITY, DEPTH_DTYPES, check_holds
from engine.mask.mask import Mask
from engine.mask.resolve import resolve_mask
from engine.tasks.work import FLOAT_BYTES

if TYPE_CHECKING:
    from engine.commands.mask_run import MaskRun
    from engine.commands.picture_run import PictureRun

WORK = "filtering and saving"


class Opened(NamedTuple):
    """A picture and the sample type that its result will be saved in."""

    picture: Picture
    dtype: np.dtype[Any]


class PictureFilter(ABC):
    """A mask or another operation, with everything that was asked for."""

    name: str  # what is computed, in a word
    done = "filtered"  # what became of the pictures, for the summary of a batch
    mask: Mask | None = None

    def __init__(self, settings: PictureSettings) -> None:
        self.settings = settings

    def asking(self, settings: PictureSettings) -> Self:
        """Return the same with other settings."""
        other = copy(self)
        other.settings = settings
        return other

    @abstractmethod
    def run_type(self) -> "type[PictureRun]":
        """Return what filters an opened picture; the first call imports it, which takes 65 ms."""

    def check(self, probe: Picture) -> list[str]:
        """Refuse what is wrong with every picture; return a sentence for each option that changes nothing.

        What another operation needs of a picture is known when it is opened.
        """
        return []

    @abstractmethod
    def working_bytes(self, result_bytes: int) -> int:
        """Return the memory that is needed beside a picture and its float32 result of so many bytes."""

    def form_of_result(self, picture: Picture) -> tuple[tuple[int, ...], np.dtype[Any]]:
        """Return the shape and the sample type that the result of a picture will be saved in.

        Refused is a range where float32 values are kept as they are, or where the kernel has already clipped
        them.
        """
        depth, mode = self.settings.depth, f"--range {self.settings.range}"
        dtype = picture.dtype if depth == "keep" else np.dtype(DEPTH_DTYPES[depth])
        if dtype == np.float32 and self.settings.range != "clip":
            why = "a float32 result keeps its values as they are, whatever their range"
            raise BadValue(mode, why, "Leave --range out, or choose --depth 8 or --depth 16.")
        if self.settings.result_type == "same" and self.settings.range != "clip":
            why = "results of the picture's type are clipped where they are computed"
            raise BadValue(f"{mode} with --result-type same", why, "Leave one of the two out.")
        return picture.pixels.shape, dtype

    def work_bytes(self, form: Form, saved_as: Format) -> int:
        """Return the most bytes that filtering and saving a picture of a form take.

        Counted are the decoded picture, which is kept, and the largest of three: the float32 result, with
        what its computation needs; the result and the picture to be saved; that picture, its encoder's copies
        and the encoded file, which noise makes as large.
        """
        depth = self.settings.depth
        itemsize = form.dtype.itemsize if depth == "keep" else DEPTH_DTYPES[depth]().itemsize
        result, finished = FLOAT_BYTES * form.values, itemsize * form.values
        # Results of the picture's type are in memory together with the floats that they become.
        same = form.decoded_bytes if self.settings.result_type == "same" else 0
        stacked = finished if form.has_alpha else 0
        encoder = saved_as.encoder_bytes * form.pixel_count
        return form.decoded_bytes + max(
            result + self.working_bytes(result),
            result + finished + same,
            (2 + saved_as.encoder_copies) * finished + stacked + encoder,
        )

    def open(
        self,
        source: str,
        target: str,
        saved_as: Format,
        allocate: Allocate | None = None,
        on_form: Callable[[Form], object] = lambda form: None,
    ) -> Opened:
        """Open a picture, and refuse a target whose format cannot hold its result. Called on: any thread.

        `allocate` returns the arrays that the picture is decoded into. `on_form` is called with its form
        before it is decoded, not yet upright, and with alpha where it may have one.
        """

        def count(form: Form) -> int:
            on_form(form)
            return self.work_bytes(form, saved_as)

        limit = self.settings.max_bytes
        picture = open_image(source, max_bytes=limit, work_bytes=count, work=WORK, allocate=allocate)
        (height, width, *_), dtype = self.form_of_result(picture)
        check_holds(saved_as, dtype, height, width, target)
        return Opened(picture, dtype)


class MaskFilter(PictureFilter):
    """A mask, correlated with each picture or convolved."""

    mask: Mask

    def __init__(self, settings: PictureSettings, mask: Mask) -> None:
        super().__init__(settings)
        self.mask = mask
        self.name = "convolution" if settings.flip else "correlation"

    def run_type(self) -> "type[MaskRun]":
        """Return what filters a picture with the mask."""
        from engine.commands.mask_run import MaskRun

        return MaskRun

    def check(self, probe: Picture) -> list[str]:
        """Refuse what is wrong with every picture; return a sentence for each option that changes nothing.

        Which pictures can have results of their own type is known when they are opened.
        """
        floats = self.asking(replace(self.settings, result_type="float32"))
        run = self.run_type()(floats, Opened(probe, np.dtype(np.float32)))
        run.refuse()
        return run.unused()

    def working_bytes(self, result_bytes: int) -> int:
        """Return the memory of the picture as float32, where a variant converts it."""
        # A constant border may have a value that the picture's type does not hold; transforms are of floats;
        # two passes over the whole picture have one of sums between them.
        copying = "cpu-fft", "cpu-separable-serial"
        is_copied = self.settings.border.takes_value or self.settings.variant in copying
        return result_bytes if is_copied else 0


def filter_for(settings: PictureSettings) -> PictureFilter:
    """Return what the settings ask for; refuse an unknown mask or operation."""
    if settings.mask is None:
        # Imported here because a mask does not need it.
        from engine.commands.operation_run import OperationFilter

        return OperationFilter(settings)
    return MaskFilter(settings, _changed(resolve_mask(settings.mask), settings))


def _changed(mask: Mask, settings: PictureSettings) -> Mask:
    """Return a mask as the options change it; refuse two that contradict one another."""
    if settings.anchor is not None:
        mask = mask.with_anchor(settings.anchor)
    if settings.divisor is not None and settings.normalize:
        raise BadValue("--divisor with --normalize", "both divide the weights", "Give one of the two.")
    if settings.divisor is not None:
        mask = mask.divided_by(settings.divisor)
    if settings.normalize:
        mask = mask.normalised()
    return mask if settings.offset is None else mask.with_offset(settings.offset)


def unused_quality(asked: PictureSettings, formats: list[Format]) -> list[str]:
    """Return a sentence where `--quality` changes nothing in any of the files that are written."""
    if asked.quality == DEFAULT_QUALITY or any(known.has_quality for known in formats):
        return []
    return [f"--quality was not used: it is for {quality_words()}."]
