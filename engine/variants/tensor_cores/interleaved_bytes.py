"""Bytes of interleaved samples sorted by channel and back; a warp's results stored in whole lines.

Of several channels a lane has 32 to 64 bytes of a row, of which it stores 16 at once: neighbouring lanes
would write 32 to 64 bytes apart. So each row is laid out in shared memory first, and lanes store neighbouring
pieces.
"""

from engine.variants.ir.cuda_code import CudaCode
from engine.variants.ir.quantise import stored_words
from engine.variants.ir.value import I32, ArrayArgument, Value
from engine.variants.tensor_cores.digit_shape import PIECE, PIXELS, DigitShape
from engine.variants.tiles.result_storer import store_block

Values = list[Value]
Places = list[tuple[int, int] | None]


def planar_word(code: CudaCode, words: dict[int, Value], places: Places) -> Value:
    """Return a word of 4 bytes of any words: one `prmt` (PTX ISA 9.7.9.7) for two, one more for each other.

    `places` has the (word, byte) of each byte, lowest first; None where any will do.
    """
    sources = sorted({place[0] for place in places if place})
    if len(sources) == 1 and all(place is None or place[1] == byte for byte, place in enumerate(places)):
        return words[sources[0]]
    first, second = sources[0], sources[min(1, len(sources) - 1)]
    start = {first: 0, second: 4 if second != first else 0}
    # A byte of a word that comes in later is taken from anywhere.
    chosen = [start.get(place[0], 0) + place[1] if place else 0 for place in places]
    value = _permuted(code, words[first], words[second], chosen)
    for later in sources[2:]:
        chosen = [4 + place[1] if place and place[0] == later else byte for byte, place in enumerate(places)]
        value = _permuted(code, value, words[later], chosen)
    return value


def interleaved_words(code: CudaCode, planes: list[list[Value]]) -> list[Value]:
    """Return the words of a row of pixels from those of each channel, of 4 pixels each."""
    channels, fours = len(planes), len(planes[0])
    words = dict(enumerate(word for plane in planes for word in plane))
    interleaved = []
    for number in range(channels * fours):
        samples = (divmod(4 * number + byte, channels) for byte in range(4))
        places: Places = [(channel * fours + pixel // 4, pixel % 4) for pixel, channel in samples]
        interleaved.append(planar_word(code, words, places))
    return interleaved


def _permuted(code: CudaCode, low: Value, high: Value, chosen: list[int]) -> Value:
    """Return the bytes of two words, 0 to 3 and 4 to 7, in the order asked for."""
    selector = sum(byte << 4 * place for place, byte in enumerate(chosen))
    return code.assembly(f"prmt.b32 $0, $1, $2, {selector};", "=r,r,r", [low, high], I32)


def store_words(
    code: CudaCode, out: ArrayArgument, place: Values, stage: Value, lane: Value, words: Values,
    shape: DigitShape,
) -> None:  # fmt: skip
    """Store the results of a warp, all of whose lanes take part.

    Where some results lie outside the picture, or its rows do not begin at whole pieces, or the shape is not
    staged, lanes store their own. `place` has row and sample of the warp's first result and the samples in a
    row of the picture; `stage` points to the warp's own `shape.stage_bytes` bytes of shared memory; `words`
    are the lane's results, bytes of one row.
    """
    row, sample, samples = place
    along, row_of_four = lane >> 2, lane & 3

    def directly() -> None:
        stored, first = stored_words(code, words), sample + along * shape.across
        store_block(code, out, row + row_of_four, first, samples, stored, 1, shape.across)

    if not shape.is_staged:
        directly()
        return
    height, row_pixels, channels = (code.narrow(side) for side in code.shape(out))
    pitch = row_pixels * channels
    is_whole = code.all_of(
        (pitch & (PIECE - 1)) == 0, row + PIXELS <= height, sample + shape.out_samples <= samples
    )

    def staged() -> None:
        own = (stage + (row_of_four * shape.stage_pitch + along * shape.across)).pointing_to(I32)
        for first in range(0, len(words), 4):
            (own + first).store(words[first : first + 4])
        code.statement("bar.warp.sync 0xffffffff;", "~{memory}", [])
        # One piece per lane and round, all loaded before the first is stored.
        picture, pieces, copied = code.pointer(out), shape.out_samples // PIECE, []
        for begin in range(0, PIXELS * pieces, 32):
            line, piece = divmod(lane + begin, pieces)
            across = piece * PIECE
            loaded = (stage + (line * shape.stage_pitch + across)).pointing_to(I32).load(4)
            below, right = row + line, sample + across
            above = code.unsigned(below) * code.unsigned(pitch)
            copied.append((picture + (above + code.unsigned(right)), loaded))
        for target, loaded in copied:
            target.pointing_to(I32).store(loaded)

    code.when(is_whole, staged, directly)
