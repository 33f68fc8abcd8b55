"""Sums of digits of weights over bytes on tensor cores, combined as float32, packed and stored.

A warp's lanes hold their samples of one channel in registers, four pixels per word, while a loop goes over
the digits, the top one first (`digit_sums.py` has the arithmetic); then those of the next channel. One
instruction multiplies 16 x 32 samples by 32 x 8 digits and adds integers of 32 bits (`mma.m16n8k32`, PTX ISA
9.7.14.5, compute capability 8.0).

A lone top digit's sums begin with the bits of the float32 number 1.5 x 2^23, so that the bits of sum D are
those of 1.5 x 2^23 + D: one subtraction makes it a float32, exactly. A pair's sums are those of the upper
digit, times 256, to which the lower one's are added; one conversion makes a float32 of both.

The instruction takes four words of samples from neighbouring registers. A word that is used in two positions
has two registers: else it would be moved at every multiplication.
"""

from numba import types

from engine.variants.emit.cuda_code import CudaCode, DeviceFunction, device_function
from engine.variants.emit.value import F32, I32, Value
from engine.variants.fast.thread_results import store_block
from engine.variants.fast.tile_shape import PIXELS, POSITIONS, DigitShape, Sample, chains_of

Values = list[Value]
_ZERO, _ZERO_BITS = 12582912.0, 0x4B400000


def digit_filter(shape: DigitShape) -> DeviceFunction:
    """Return the function that computes and stores a lane's results of 8 bit.

    `filter_(tile, at, lane, fragments, digits, unit, offset, out, row, sample, samples)`: `at` is the byte of
    `tile` under the warp's first result and the mask's first row; `fragments` are the words of all lanes
    (`fragments_of`), of `digits` digits, of which `unit` is the top one's; `row` and `sample` are those of
    the warp's first result, and a row of the picture has `samples` samples. All lanes of a warp have to call
    it together.
    """
    chains, vectors = chains_of(shape), shape.digit_vectors

    def filter_(code, tile, at, lane, fragments, digits, unit, offset, out, row, sample, samples):
        at, lane, digits, row, sample, samples = (
            code.narrow(value) for value in (at, lane, digits, row, sample, samples)
        )
        along, row_of_four = lane >> 2, lane & 3
        across, below = along * shape.across, row_of_four * shape.tile_samples
        shared = code.shared(tile)
        # The byte under the lane's first result and the mask's first row, in the first row that it reads.
        first_cell = shared + (at + (below + across))
        first_digits = (code.pointer(fragments) + lane * 4).pointing_to(I32)
        first_cell = first_cell.pointing_to(I32)
        # 0, and the bytes as they are: that there are less than 2^29 digits the compiler cannot know.
        nothing = digits >> 30
        in_order = (digits >> 29) + 0x3210

        def words_of(channel):
            """Return a channel's samples, loaded anew: those of all would take the registers of the sums."""
            rows: list[dict[int, Value]] = [{} for _ in range(shape.fours_of_rows)]
            for row, words in enumerate(rows):
                for word, count in shape.loads_of(channel):
                    loaded = (first_cell + (row * shape.tile_samples + word)).load(count)
                    words.update(zip(range(word, word + count), loaded, strict=True))
            sources = {group: shape.sources(group, channel) for group in shape.pixel_groups}
            return {
                (row, group): sorted_word(code, words, sources[group])
                for row, words in enumerate(rows)
                for group in shape.pixel_groups
            }

        def registers_of(channel):
            """Return a channel's samples as multiplications take them, no register in two positions."""
            words, registers = words_of(channel), {}
            taken: set[Sample] = set()
            for step in (step for chain in chains for step in chain.steps):
                if step.samples not in registers:
                    registers[step.samples] = [in_register(words[one], one in taken) for one in step.samples]
                    taken.update(step.samples)
            return registers

        def in_register(word, is_taken):
            """Return a word in a register of its own: equal ones the compiler would keep in one, and move."""
            if is_taken:
                return code.statement("prmt.b32 $0, $1, $1, $2;", "=r,r,r", [word, in_order], I32)
            # Words of one channel lie beside those they were loaded with, not those of their multiplications.
            return word ^ nothing if shape.channels == 1 else word

        def words_of_digit(number):
            vector = first_digits + number * (32 * 4 * vectors)
            return [word for at in range(vectors) for word in (vector + at * 32 * 4).load(4)]

        def multiplied(registers, words, sums, kind="s8"):
            """Return the sums of each chain with all multiplications with one digit, side by side.

            A multiplication takes about 30 cycles until the next of its chain may begin.
            """
            kind = f"m16n8k32.row.col.s32.u8.{kind}.s32"
            for number in range(max(len(chain.steps) for chain in chains)):
                for at, chain in enumerate(chains):
                    if number < len(chain.steps):
                        step = chain.steps[number]
                        own = words[step.first_word :][:2]
                        sums[at] = code.multiplied(kind, registers[step.samples], own, sums[at])
            return sums

        def by_pixel(sums):
            """Yield each pixel and its sum."""
            for chain, own in zip(chains, sums, strict=True):
                yield from zip(chain.pixels, own, strict=True)

        def packed(channel):
            """Loop over the digits; return a channel's results as bytes, a word four pixels."""
            registers = registers_of(channel)
            # The pixels' totals, in units of the top digit.
            totals = [code.slot() for _ in range(PIXELS * POSITIONS)]
            unit_left, alone = code.slot(), digits & 1

            def begin_with_top_digit():
                zeros = [[code.integer(_ZERO_BITS)] * 4 for _ in chains]
                sums = multiplied(registers, words_of_digit(code.integer(0)), zeros)
                for pixel, value in by_pixel(sums):
                    totals[pixel].store(value.bits_as(F32) - _ZERO)
                unit_left.store(code.f32(2.0**-16))

            def begin_with_zeros():
                for total in totals:
                    total.store(code.f32(0.0))
                unit_left.store(code.f32(2.0**-8))

            code.when(alone != 0, begin_with_top_digit, begin_with_zeros)
            for digit in code.loop(alone, digits, 2):
                own_unit = unit_left.load()
                unit_left.store(own_unit * 2.0**-16)
                # The upper digit's sums, times 256, to which the lower one's are added.
                zeros = [[code.integer(0)] * 4 for _ in chains]
                sums = multiplied(registers, words_of_digit(digit), zeros)
                lower = words_of_digit(digit + 1)
                sums = [[value << 8 for value in own] for own in sums]
                for pixel, value in by_pixel(multiplied(registers, lower, sums, kind="u8")):
                    total = totals[pixel].load()
                    totals[pixel].store(code.fma(code.signed_float32(value), own_unit, total))
            results = [code.fma(total.load(), unit, offset) for total in totals]
            return [code.packed_word(results[k : k + PIXELS]) for k in range(0, len(results), PIXELS)]

        words = interleaved_words(code, [packed(channel) for channel in range(shape.channels)])
        store_block(code, out, row + row_of_four, sample + across, samples, words, 1, shape.across)

    return device_function(types.void, filter_)


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
