"""How much memory `filter` and `batch` take for one picture, told from its header: before it is decoded."""

import argparse
from collections.abc import Callable

from engine.image.form import Form
from engine.image.formats import format_to_save
from engine.image.save import DEPTH_DTYPES

WORK = "filtering and saving"

_FLOAT_BYTES = 4


def work_bytes(options: argparse.Namespace, output: str) -> Callable[[Form], int]:
    """Return what says how many bytes the whole way of a picture takes at most, from its form.

    Counted are the decoded picture, which is kept, and the largest of three: the float32 result, with the
    picture as float32 where a variant makes it that; the result and the picture that is to be saved; that
    picture, a copy in one piece and the encoded file, which noise makes as large.

    Parameters
    ----------
    options : argparse.Namespace
        Those of `add_filter_options`.
    output : str
        The file to write; its extension says how it is encoded.
    """
    known = format_to_save(output)
    encoder_bytes = 0 if known is None else known.encoder_bytes

    def count(form: Form) -> int:
        depth = form.dtype.itemsize if options.depth == "keep" else DEPTH_DTYPES[options.depth]().itemsize
        result = _FLOAT_BYTES * form.values
        finished = depth * form.values
        # A constant border may have a value that the picture's type does not hold; transforms are of floats.
        working = result if options.border == "constant" or options.variant == "cpu-fft" else 0
        # With results of the picture's type, these and the floats that they become are there together.
        same = form.decoded_bytes if options.result_type == "same" else 0
        stacked = finished if form.has_alpha else 0
        encoder = encoder_bytes * form.pixel_count
        return form.decoded_bytes + max(
            result + working, result + finished + same, 2 * finished + stacked + encoder
        )

    return count
