"""Bytes of interleaved samples sorted by channel and back; a warp's results stored in whole lines.

Of several channels a lane has 32 to 64 bytes of a row, of which it stores 16 at once: neighbouring lanes
would write 32 to 64 bytes apart. So each row is laid out in shared memory first, and lanes store neighbouring
pieces.
"""

from engine.variants.ir.cuda_code import CudaCode
from engine.variants.ir.quantise import stored_words
from engine.variants.ir.value import I32, ArrayArgument, Value
from engine.variants.tensor_cores.digit_shape import PIXELS, DigitShape
from engine.variants.tiles.byte_tile_shape import PIECE
from engine.variants.tiles.result_storer import store_block

Values = list[Value]


def sorted_word(code: CudaCode, words: dict[int, Value], sources: list[tuple[int, int] | None]) -> Value:
    """Return a word of 4 bytes of any words: one `prmt` (PTX ISA 9.7.9.7) for two, one more for each other.

    `sources` has the (word, byte) of each byte, lowest first; None where any will do.
    """
    first, *others = sorted({source[0] for source in sources if source})
    value, chosen = words[first], [source[1] if source else 0 for source in sources]
    if not others and all(source is None or source[1] == at for at, source in enumerate(sources)):
        return value
    for number in others or [first]:
        for at, source in enumerate(sources):
            if number != first and source and source[0] == number:
                chosen[at] = 4 + source[1]
        selector = sum(byte << 4 * at for at, byte in enumerate(chosen))
        line = f"prmt.b32 $0, $1, $2, {selector};"
        value, chosen = code.assembly(line, "=r,r,r", [value, words[number]], I32), [0, 1, 2, 3]
    return value


def interleaved_words(code: CudaCode, planes: list[Values]) -> Values:
    """Return the words of a row of pixels from those of each channel, of 4 pixels each."""
    channels, fours = len(planes), len(planes[0])
    words = dict(enumerate(word for plane in planes for word in plane))
    samples = [divmod(sample, channels) for sample in range(4 * channels * fours)]
    sources = [(channel * fours + pixel // 4, pixel % 4) for pixel, channel in samples]
    return [sorted_word(code, words, [*sources[at : at + 4]]) for at in range(0, len(sources), 4)]


def store_words(
    code: CudaCode, out: ArrayArgument, first: Values, stage: Value, lane: Value, words: Values,
    shape: DigitShape,
) -> None:  # fmt: skip
    """Store the results of a warp, all of whose lanes take part.

    Where some results lie outside the picture, or its rows do not begin at whole pieces, or the shape is not
    staged, lanes store their own. `first` has row and sample of the warp's first result and the samples in a
    row of the picture; `stage` points to the warp's `shape.stage_bytes` bytes of shared memory; `words` are
    the lane's results, bytes of one row.
    """
    row, sample, samples = first
    along, row_of_four = lane >> 2, lane & 3

    def directly() -> None:
        stored, own_sample = stored_words(code, words), sample + along * shape.across
        store_block(code, out, row + row_of_four, own_sample, samples, stored, 1, shape.across)

    if not shape.stage_bytes:
        directly()
        return
    height, row_pixels, channels = (code.narrow(side) for side in code.shape(out))
    pitch = row_pixels * channels
    is_whole = code.all_of(
        (pitch & (PIECE - 1)) == 0, row + PIXELS <= height, sample + shape.out_samples <= samples
    )

    def staged() -> None:
        target = (stage + (row_of_four * shape.stage_pitch + along * shape.across)).pointing_to(I32)
        for at in range(0, len(words), 4):
            (target + at).store(words[at : at + 4])
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
        for into, loaded in copied:
            into.pointing_to(I32).store(loaded)

    code.when(is_whole, staged, directly)
