"""Opening a picture that is filtered and saved: its memory is counted, and its file can hold the result.

What filters takes longer to import than a picture to decode, so nothing in here imports it.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import NamedTuple

import numpy as np

from engine.commands.step_options import SavingOptions
from engine.errors import BadValue, EngineError
from engine.geometry.block import FLOAT_BYTES
from engine.image.format import RAISE_LIMIT, Allocate, Form, Format
from engine.image.formats import FORMATS
from engine.image.formats.npy import is_by_columns
from engine.image.large.opening import kind_of, kind_of_result
from engine.image.open import open_image
from engine.image.picture import Picture
from engine.image.save import DEPTH_DTYPES, check_holds
from engine.work.steps import PictureRequest

WORK = "filtering and saving"
# How many bytes of work one byte of a TIFF may make: the tags of a smaller file are not read twice.
_MOST_COMPRESSED = 64
_TIFF = next(known for known in FORMATS if known.title == "TIFF")


class Opened(NamedTuple):
    """A picture and the sample type that its result will be saved in."""

    picture: Picture
    dtype: np.dtype


@dataclass
class Opening:
    """The request, and what becomes of a result: how each picture is opened for it."""

    request: PictureRequest
    saving: SavingOptions

    def open(
        self,
        source: str,
        target: str,
        saved_as: Format,
        allocate: Allocate | None = None,
        on_form: Callable[[Form], object] = lambda form: None,
        remedy: str = RAISE_LIMIT,
    ) -> Opened:
        """Open a picture, and refuse a target whose format cannot hold its result. Called on: any thread.

        `allocate` returns the arrays that the picture is decoded into. `on_form` is called with its form
        before it is decoded, not yet upright, and with alpha where it may have one. `remedy` is as of
        `open_image`.
        """

        def count(form: Form) -> int:
            on_form(form)
            return self.bytes_for(form, saved_as)

        most = self.saving.max_bytes
        picture = open_image(
            source, max_bytes=most, work_bytes=count, work=WORK, remedy=remedy, allocate=allocate
        )
        dtype, (height, width, *_) = self.saved_type(picture.dtype), picture.pixels.shape
        if not self.makes_plot:
            check_holds(saved_as, dtype, height, width, target)
        return Opened(picture, dtype)

    @property
    def makes_plot(self) -> bool:
        """Whether the result is a plot, and no picture of the picture's size; any format holds it."""
        step = self.request.operation
        return step is not None and step.known.result.name == "PLOT"

    def saved_type(self, own_type: np.dtype) -> np.dtype:
        """Return the sample type that the result of a picture of its `own_type` will be saved in.

        Refused is a range where float32 values are kept as they are, or where the kernel has already clipped
        them.
        """
        if self.makes_plot:
            return np.dtype(np.uint8)
        mode, is_clipped = f"--range {self.saving.range}", self.saving.range == "clip"
        dtype = np.dtype(DEPTH_DTYPES.get(self.saving.depth, own_type))
        if dtype == np.float32 and not is_clipped:
            why = "a float32 result keeps its values as they are, whatever their range"
            raise BadValue(mode, why, "Leave --range out, or choose --depth 8 or --depth 16.")
        if self.request.filter is not None and self.request.result_type == "same" and not is_clipped:
            why = "results of the picture's type are clipped where they are computed"
            raise BadValue(f"{mode} with --result-type same", why, "Leave one of the two out.")
        return dtype

    def bytes_for(self, form: Form, saved_as: Format) -> int:
        """Return the most bytes that filtering and saving a picture of a form take.

        Counted are the decoded picture, which is kept, and the largest of three: the float32 result, with
        what its computation needs; the result and the picture to be saved; that picture, its encoder's copies
        and the encoded file, which noise makes as large.
        """
        request, saved = self.request, np.dtype(DEPTH_DTYPES.get(self.saving.depth, form.dtype))
        result, finished = FLOAT_BYTES * form.values, saved.itemsize * form.values
        # Results of the picture's type are in memory together with the floats that they become.
        same = form.decoded_bytes if request.filter is not None and request.result_type == "same" else 0
        # How many arrays of the size of a float32 result there are beside it while it is computed.
        if request.step is None:
            # The picture as float32, two results that a step reads, and what is between where samples are
            # scaled.
            copies = 4
        elif request.filter is None:
            # Coefficients and samples, or the picture as float32 planes.
            copies = 2
        else:
            # The picture as float32: a constant border may have a value that its type does not hold;
            # transforms are of floats; two passes over the whole picture have one of sums between them.
            copying = request.variant in ("cpu-fft", "cpu-separable-serial")
            copies = 1 if request.filter.border.takes_value or copying else 0
        stacked = finished if form.has_alpha else 0
        encoder = saved_as.encoder_bytes * form.pixel_count
        return form.decoded_bytes + max(
            result * (1 + copies),
            result + finished + same,
            (2 + saved_as.encoder_copies) * finished + stacked + encoder,
        )

    def is_in_parts(self, source: str, target: str) -> bool:
        """Return whether a picture is filtered in bands: OME-Zarr is, and a TIFF too large for memory.

        So is a TIFF where `--memory` is given, or where its result is to be an OME-Zarr or .npy, and an .npy
        to a file of these kinds. Of a TIFF only the tags are read.
        """
        kind = kind_of(source)
        if kind == "npy" and (not kind_of_result(target) or is_by_columns(source)):
            return False  # as a whole: other formats are not written in bands, nor columns read
        if kind != "tiff":
            return bool(kind)
        if self.saving.memory is not None or kind_of_result(target) in ("zarr", "npy"):
            return True
        try:
            if os.path.getsize(source) * _MOST_COMPRESSED < self.saving.max_bytes:
                return False
            return self.bytes_for(form_in_parts(source), _TIFF) > self.saving.max_bytes
        except (EngineError, OSError):
            return False  # opened as a whole, it is refused with the reason


def form_in_parts(source: str) -> Form:
    """Return the form of a picture that is filtered in bands; raises ImageReadError."""
    # With it come all readers.
    open_large = import_module("engine.image.large.opening").open_large
    with open_large(source) as picture:
        colours = picture.channels - picture.has_alpha
        return Form(picture.height, picture.width, colours, picture.has_alpha, picture.dtype)
