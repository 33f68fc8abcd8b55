"""Results of a warp in 4 rows, stored in whole lines by way of shared memory.

Of several channels a lane has 32 to 64 bytes of a row, of which it stores 16 at once: lanes beside one another would write to places 32 to
64 bytes apart. So each row is laid out in shared memory first, and lanes store neighbouring pieces.
"""

from typing import Any

from engine.variants.digit_sums.digit_shape import PIECE, PIXELS, DigitShape
from engine.variants.ir.cuda_code import CudaCode
from engine.variants.ir.quantise import stored_words
from engine.variants.ir.value import I32
from engine.variants.register_blocked.result_storer import store_block


def store_staged(
    code: CudaCode, out: Any, place: list[Any], stage: Any, lane: Any, words: list[Any], shape: DigitShape
) -> None:
    """Store the results of a warp, all of whose lanes are there.

    Where some of them lie outside the picture, or its rows do not begin at whole pieces, lanes store their own.

    Parameters
    ----------
    code : CudaCode
    out : array
        Of results.
    place : list of int32
        Row and sample of the warp's first result, and the samples in a row of the picture.
    stage : pointer
        To the bytes in shared memory that are the warp's own, `shape.stage_bytes` of them.
    lane : int32
    words : list of int32
        The lane's results, bytes of one row.
    shape : DigitShape
    """
    row, sample, samples = place
    height, row_pixels, channels = (code.narrow(side) for side in code.shape(out))
    pitch = row_pixels * channels
    along, row_of_four = lane >> 2, lane & 3
    across = along * shape.across
    is_whole = code.all_of(
        (pitch & (PIECE - 1)) == 0, row + PIXELS <= height, sample + shape.out_samples <= samples
    )

    def staged() -> None:
        below = row_of_four * shape.stage_pitch
        own = (stage + (below + across)).pointing_to(I32)
        for first in range(0, len(words), 4):
            (own + first).store(words[first : first + 4])
        code.statement("bar.warp.sync 0xffffffff;", "~{memory}", [])
        _store_pieces(code, code.pointer(out), row, sample, pitch, stage, lane, shape)

    def directly() -> None:
        stored = stored_words(code, words)
        store_block(code, out, row + row_of_four, sample + across, samples, stored, 1, shape.across)

    code.when(is_whole, staged, directly)


def _store_pieces(
    code: CudaCode, out: Any, row: Any, sample: Any, pitch: Any, stage: Any, lane: Any, shape: DigitShape
) -> None:
    """Copy what lies in the stage, a piece a lane and round."""
    pieces = shape.out_samples // PIECE
    numbers = [lane + first for first in range(0, PIXELS * pieces, 32)]
    copied = []
    for number in numbers:
        line, piece = divmod(number, pieces)
        across = piece * PIECE
        loaded = (stage + (line * shape.stage_pitch + across)).pointing_to(I32).load(4)
        below, right = row + line, sample + across
        above = code.unsigned(below) * code.unsigned(pitch)
        copied.append((out + (above + code.unsigned(right)), loaded))
    for target, loaded in copied:
        target.pointing_to(I32).store(loaded)
