"""Opening a picture for `filter` and `batch`: its memory, its depth, and whether its result can be saved.

Nothing that filters is imported here, so that `filter` can open its picture meanwhile.
"""

import argparse
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from engine.errors import BadValue
from engine.image.canvas import Allocate
from engine.image.form import Form
from engine.image.formats import format_to_save
from engine.image.open import open_image
from engine.image.picture import Picture
from engine.image.save import DEPTH_DTYPES, check_sides, encoded_image
from engine.tasks.work import FLOAT_BYTES

WORK = "filtering and saving"


class Opened(NamedTuple):
    """A picture and the sample type that its result will be saved in."""

    picture: Picture
    dtype: np.dtype[Any]


def work_bytes(options: argparse.Namespace, output: str) -> Callable[[Form], int]:
    """Return a function from the form of a picture to the most bytes that filtering and saving it take.

    Counted are the decoded picture, which is kept, and the largest of three: the float32 result, with the
    picture as float32 where a variant converts it; the result and the picture to be saved; that picture, its
    encoder's copies and the encoded file, which noise makes as large.

    `output` is the file to write: its extension says how it is encoded.
    """
    known = format_to_save(output)
    encoder_bytes, copies = (0, 0) if known is None else (known.encoder_bytes, known.encoder_copies)

    def count(form: Form) -> int:
        depth = form.dtype.itemsize if options.depth == "keep" else DEPTH_DTYPES[options.depth]().itemsize
        result = FLOAT_BYTES * form.values
        finished = depth * form.values
        # A constant border may have a value that the picture's type does not hold; transforms are of floats;
        # two passes over the whole picture have one of sums between them.
        has_copy = options.border == "constant" or options.variant in ("cpu-fft", "cpu-separable-serial")
        working = result if has_copy else 0
        if options.operation is not None:
            # Coefficients and samples of a compression, or a picture as float32 planes.
            working = 2 * result
        # Results of the picture's type are in memory together with the floats that they become.
        same = form.decoded_bytes if options.result_type == "same" else 0
        stacked = finished if form.has_alpha else 0
        encoder = encoder_bytes * form.pixel_count
        return form.decoded_bytes + max(
            result + working, result + finished + same, (2 + copies) * finished + stacked + encoder
        )

    return count


def open_for(
    options: argparse.Namespace,
    source: str,
    output: str,
    allocate: Allocate | None = None,
    on_form: Callable[[Form], object] = lambda form: None,
) -> Opened:
    """Open a picture, and refuse an output that cannot hold its result. Called on: any thread.

    `allocate` returns the arrays that the picture is decoded into. `on_form` is called with its form before
    it is decoded, not yet upright, and with alpha where it may have one.
    """
    count = work_bytes(options, output)

    def count_and_tell(form: Form) -> int:
        on_form(form)
        return count(form)

    picture = open_image(
        source,
        max_bytes=options.max_bytes,
        work_bytes=count_and_tell,
        work=WORK,
        allocate=allocate,
    )
    shape, dtype = form_of_result(picture, options)
    check_format(output, shape, dtype, options.quality)
    return Opened(picture, dtype)


def form_of_result(picture: Picture, options: argparse.Namespace) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return the shape and the sample type that the result of a picture will be saved in."""
    if options.operation is not None:
        from engine.tasks.operation.contract import ResultKind
        from engine.tasks.operation.operations import operation_named

        if operation_named(options.operation).result is ResultKind.PLOT:
            # 8-bit colours, whatever the picture is; any format holds its size.
            return (1, 1, 3), np.dtype(np.uint8)
    return picture.pixels.shape, depth_of_result(picture, options)


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


def check_format(path: str, shape: tuple[int, ...], dtype: np.dtype[Any], quality: int) -> None:
    """Refuse a file whose format does not exist, or cannot hold pictures of this shape and type.

    One pixel is encoded in memory, so all that `save_image` refuses is refused here, with the same message.
    """
    encoded_image(np.zeros((1, 1, *shape[2:]), dtype), path, quality=quality)
    known = format_to_save(path)
    assert known is not None
    check_sides(known, dtype, shape[0], shape[1], f"{path} cannot be saved")
