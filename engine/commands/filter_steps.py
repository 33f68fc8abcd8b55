"""One picture's way through `filter` and `batch`: its memory, opening, the request, the picture to save."""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.api.filtering import Request
from engine.commands.filter_options import AUTO_TYPE, filter_arguments
from engine.errors import BadValue
from engine.image.form import Form
from engine.image.formats import format_to_save
from engine.image.open import open_image
from engine.image.picture import Picture
from engine.image.result_picture import finished_picture, lost_values, result_as_it_is
from engine.image.save import DEPTH_DTYPES, encoded_image
from engine.mask.mask import Mask
from engine.tasks.work import FLOAT_BYTES

WORK = "filtering and saving"


@dataclass(frozen=True, slots=True)
class Opened:
    """A picture and the sample type that its result will be saved in."""

    picture: Picture
    dtype: np.dtype[Any]


def work_bytes(options: argparse.Namespace, output: str) -> Callable[[Form], int]:
    """Return a function from the form of a picture to the most bytes that filtering and saving it take.

    Counted are the decoded picture, which is kept, and the largest of three: the float32 result, with the
    picture as float32 where a variant converts it; the result and the picture to be saved; that picture, a
    copy in one piece and the encoded file, which noise makes as large.

    `output` is the file to write: its extension says how it is encoded.
    """
    known = format_to_save(output)
    encoder_bytes = 0 if known is None else known.encoder_bytes

    def count(form: Form) -> int:
        depth = form.dtype.itemsize if options.depth == "keep" else DEPTH_DTYPES[options.depth]().itemsize
        result = FLOAT_BYTES * form.values
        finished = depth * form.values
        # A constant border may have a value that the picture's type does not hold; transforms are of floats.
        working = result if options.border == "constant" or options.variant == "cpu-fft" else 0
        # Results of the picture's type are in memory together with the floats that they become.
        same = form.decoded_bytes if options.result_type == "same" else 0
        stacked = finished if form.has_alpha else 0
        encoder = encoder_bytes * form.pixel_count
        return form.decoded_bytes + max(
            result + working, result + finished + same, 2 * finished + stacked + encoder
        )

    return count


def open_for(options: argparse.Namespace, source: str, output: str) -> Opened:
    """Open a picture, and refuse an output that cannot hold its result. Called on: any thread."""
    picture = open_image(
        source, max_bytes=options.max_bytes, work_bytes=work_bytes(options, output), work=WORK
    )
    dtype = depth_of_result(picture, options)
    check_format(output, picture.channels, dtype, options.quality)
    return Opened(picture, dtype)


def depth_of_result(picture: Picture, options: argparse.Namespace) -> np.dtype[Any]:
    """Return the sample type that the result of a picture will be saved in.

    Refused is a range where float32 values are kept as they are, or where the kernel has already clipped
    them.
    """
    target = picture.dtype if options.depth == "keep" else np.dtype(DEPTH_DTYPES[options.depth])
    asked = f"--range {options.range}"
    if target == np.float32 and options.range != "clip":
        why = "a float32 result keeps its values as they are, whatever their range"
        raise BadValue(asked, why, "Leave --range out, or choose --depth 8 or --depth 16.")
    if options.result_type == "same" and options.range != "clip":
        why = "results of the picture's type are clipped where they are computed"
        raise BadValue(f"{asked} with --result-type same", why, "Leave one of the two out.")
    return target


def check_format(path: str, channels: int, dtype: np.dtype[Any], quality: int) -> None:
    """Refuse a file whose format does not exist, or cannot hold pictures of so many channels and this type.

    One pixel is encoded in memory, so all that `save_image` refuses is refused here, with the same message.
    """
    encoded_image(np.zeros((1, 1) if channels == 1 else (1, 1, channels), dtype), path, quality=quality)


def request_for(
    options: argparse.Namespace, mask: Mask, picture: Picture, saved: np.dtype[Any] | None = None
) -> Request:
    """Return the request to filter a picture, with its alpha as one more channel if that is filtered too.

    `saved` is the sample type of the file. Where the choice is ours and the file has the very same samples,
    the kernel then writes them itself: a result of 12 megapixels takes 36 MB instead of 180.
    """
    pixels = picture.pixels
    if options.alpha == "filter" and picture.alpha is not None:
        pixels = np.dstack([pixels, picture.alpha])
    request = Request(pixels, mask, anchor=None, key=options.variant, **filter_arguments(options))
    is_ours = options.result_type == AUTO_TYPE and options.range == "clip" and saved == picture.dtype
    if is_ours and _is_finite(request):
        return request.quantised() or request
    return request


def _is_finite(request: Request) -> bool:
    """Return whether no result can become infinite, which is noted (`lost_values`)."""
    samples, mask = request.samples.dtype, request.mask
    if samples == np.float32:
        return False
    largest = max(float(np.iinfo(samples).max), abs(request.problem.ghost_value))
    most = float(np.abs(mask.weights).sum()) * largest + abs(mask.offset)
    # Far below what the rounding of a sum could lift over it.
    return most < float(np.finfo(np.float32).max) / 2


def finished_result(
    options: argparse.Namespace, opened: Opened, values: np.ndarray
) -> tuple[Picture, tuple[str, ...]]:
    """Return the picture to save, and a note for each kind of value that it cannot hold."""
    with_alpha = options.alpha == "filter"
    if values.dtype == opened.dtype and values.dtype != np.float32:
        return result_as_it_is(opened.picture, values, with_alpha=with_alpha), ()
    # Whole numbers of 8 and 16 bit stay what they are in float32.
    floats = values.astype(np.float32, copy=False)
    finished = finished_picture(opened.picture, floats, opened.dtype, options.range, with_alpha=with_alpha)
    return finished, lost_values(floats, opened.dtype)
