"""What a thread computes from its tile: multiply-adds, sums of digits on tensor cores; how it stores results.

Emitted they compile in 0.1 to 0.4 s; as unrolled Python statements they took 7 s (5 x 5) and 267 s (15 x 15).
Results are stored by vectors, as float32 or as 8 or 16 bit, rounded half to even, saturated, NaN as 0.
"""

import itertools

from engine.compiled.late_names import types
from engine.variants.emit.cuda_code import CudaCode, DeviceFunction, device_function
from engine.variants.emit.value import F32, I8, I32, ArrayArgument, Value
from engine.variants.fast import tile_shape
from engine.variants.fast.tile_shape import PIXELS, POSITIONS, WORD, ByteTileShape, DigitShape, TileShape
from engine.variants.passes import VECTOR

Values = list[Value]


def row_sums(
    code: CudaCode, lines: list[Values], weights: Values, apart: int, count: int, sums: Values
) -> Values:
    """Return sums with `count` neighbouring windows of each line added: chains of fused multiply-adds.

    The cells of a window are `apart` from each other.
    """
    for n, weight in enumerate(weights):
        values = [line[index + n * apart] for line in lines for index in range(count)]
        sums = [code.fma(value, weight, total) for value, total in zip(values, sums, strict=True)]
    return sums


def accumulator(shape: TileShape) -> DeviceFunction:
    """Return the function `accumulate(tile, at, lane, weights, start)` -> a thread's results.

    `at` is where the row of the tile begins that lies under the mask's first row and the thread's first
    results; `start` is added to each sum. The `rows` x `across` sums begin with row 0.

    Result row i lies under mask row m with input row i + m. So mask row m needs `rows` input rows; the next
    one needs the same but for the first, and one more, which is all that is loaded. Each weight serves `rows`
    x `across` results at once. Each result is one chain of fused multiply-adds that begins with `start`: a
    partial sum per mask row would take one instruction more for each of them (9 x 9: a tenth).
    """
    rounds, at_once = shape.mask_rows // shape.unrolled_rows, shape.unrolled_rows
    before = shape.mask_rows if rounds < 2 else shape.mask_rows % at_once

    def accumulate(code, tile, at, lane, weights, start):
        row, lane = code.shared(tile) + at, code.narrow(lane)
        # The vectors of the thread's window in its first row.
        first, numbers = row + lane * shape.across, range(shape.window // VECTOR)
        first_cells = [first + VECTOR * number for number in numbers]
        if shape.mixed:
            own = lane * shape.vectors
            first_cells = [row + shape.vector_index(own + number) * VECTOR for number in numbers]
        mask = code.weights(shape.weights)

        def window(cells, row):
            return [v for pointer in cells for v in (pointer + row * shape.tile_samples).load(VECTOR)]

        def mask_row(windows, sums, cells, weights, m):
            """Add mask row m, from the windows of its first input rows on; return those of the next one."""
            windows = [*windows, window(cells, m + shape.rows - 1)]
            row, columns = weights + m * shape.weight_pitch, shape.mask_columns
            weights_of_row = [row.load()] if columns == 1 else code.load_row(row, columns)
            lines = [samples[shape.shift :] for samples in windows]
            return windows[1:], row_sums(code, lines, weights_of_row, shape.channels, shape.across, sums)

        def round_of(number, carried):
            sums, *windows = carried
            cells = [pointer + number * (at_once * shape.tile_samples) for pointer in first_cells]
            own = mask + number * (at_once * shape.weight_pitch)
            for m in range(before, before + at_once):
                windows, sums = mask_row(windows, sums, cells, own, m)
            return [sums, *windows]

        windows = [window(first_cells, row) for row in range(shape.rows - 1)]
        sums = [start] * (shape.rows * shape.across)
        for m in range(before):
            windows, sums = mask_row(windows, sums, first_cells, mask, m)
        if before == shape.mask_rows:
            return sums
        return code.repeat(rounds, [sums, *windows], round_of)[0]

    return device_function(types.UniTuple(types.float32, shape.rows * shape.across), accumulate)


def byte_accumulator(shape: ByteTileShape) -> DeviceFunction:
    """Return the same for a tile of bytes; `at` counts bytes.

    Each input row is loaded and converted once, and serves every mask row that lies on it for one of the
    thread's rows of results, so no row is kept. Each result is one chain of fused multiply-adds.
    """

    def window_of(code, row):
        """Return a thread's samples of an input row, the first one under the mask's first column.

        Bytes that are not used leave no code. Written so, taking a byte out and converting it are one
        instruction (`I2F.U8`), which runs beside the multiply-adds.
        """
        samples = []
        for first, size in shape.loads:
            for word in (row + WORD * first).pointing_to(I32).load(size):
                for byte in range(WORD):
                    line = f"{{ .reg .u32 t; bfe.u32 t, $1, {8 * byte}, 8; cvt.rn.f32.u32 $0, t; }}"
                    samples.append(code.assembly(line, "=f,r", [word], F32))
        return samples[shape.shift :]

    def accumulate(code, tile, at, lane, weights, start):
        at_window = code.narrow(lane) * shape.across + shape.first_word * WORD
        first = code.shared(tile) + (code.narrow(at) + at_window)
        mask = code.weights(shape.weights)
        mask_rows = [
            code.load_row(mask + row * shape.weight_pitch, shape.mask_columns)
            for row in range(shape.mask_rows)
        ]
        sums = [[start] * shape.across for _ in range(shape.rows)]
        for row in range(shape.rows + shape.mask_rows - 1):
            window = window_of(code, first + row * shape.tile_samples)
            for i in range(max(0, row - shape.mask_rows + 1), min(shape.rows, row + 1)):
                weights_of_row = mask_rows[row - i]
                sums[i] = row_sums(code, [window], weights_of_row, shape.channels, shape.across, sums[i])
        return [total for row_of_sums in sums for total in row_of_sums]

    return device_function(types.UniTuple(types.float32, shape.rows * shape.across), accumulate)


MOST_BYTES = 16
"""Bytes that a thread stores at once."""


def result_storer(rows: int, across: int) -> DeviceFunction:
    """Return the function that writes a thread's results: `store(out, row, sample, samples, results)`.

    `row` and `sample` are those of its first result; nothing is written past the picture's rows, or from
    sample `samples` on. There are `rows` rows of results, of `across` samples: whole fours or one, and whole
    fours altogether. They are stored in the type of `out`.
    """

    def store(code, out, row, sample, samples, results):
        row, sample, samples = (code.narrow(value) for value in (row, sample, samples))
        bits = out.kind.dtype.bitwidth
        if bits == 8:
            # A word of bytes for each whole four.
            results = [code.packed_word(results[at : at + WORD]) for at in range(0, len(results), WORD)]
        elif bits == 16:
            results = [code.quantised(value, bits) for value in results]
        store_block(code, out, row, sample, samples, results, rows, across)

    return device_function(types.void, store)


def store_block(
    code: CudaCode,
    out: ArrayArgument,
    row: Value,
    sample: Value,
    samples: Value,
    units: list[Value],
    rows: int,
    across: int,
) -> None:
    """Store a thread's results, each or words of four bytes; the rest is as of `result_storer`, 32 bits."""
    in_unit = rows * across // len(units)
    # As many as every thread's first result is aligned to.
    at_once = min(across & -across, MOST_BYTES * 8 // out.kind.dtype.bitwidth)
    first = code.pointer(out)
    # 32 bits where nothing larger can be: index arithmetic of 64 takes two to three times the instructions.
    height, row_pixels, channels = (code.narrow(side) for side in code.shape(out))
    narrow_pitch = row_pixels * channels
    pitch = code.unsigned(narrow_pitch)
    rows_left, samples_left = height - row, samples - sample
    is_aligned = (narrow_pitch & (at_once - 1)) == 0
    own = first + (code.unsigned(row) * pitch + code.unsigned(sample))
    pointers = list(itertools.accumulate([own] + [pitch] * (rows - 1)))
    is_whole = code.all_of(is_aligned, samples_left > across - 1, rows_left > rows - 1)

    def result(number: int) -> Value:
        unit = units[number // in_unit]
        return unit if in_unit == 1 else (unit >> 8 * (number % WORD)).trunc(I8)

    def whole_rows() -> None:
        for i, pointer in enumerate(pointers):
            for k in range(0, across, at_once):
                number = i * across + k
                several = units[number // in_unit : (number + at_once) // in_unit]
                (pointer + k).store(result(number) if at_once == 1 else several)

    def one_by_one() -> None:
        for i, pointer in enumerate(pointers):
            for k in range(across):
                for _ in code.where(code.all_of(rows_left > i, samples_left > k)):
                    (pointer + k).store(result(i * across + k))

    code.when(is_whole, whole_rows, one_by_one)


_ZERO, _ZERO_BITS = 12582912.0, 0x4B400000


def digit_filter(shape: DigitShape) -> DeviceFunction:
    """Return the function that computes and stores a lane's results of 8 bit, by sums of digits over bytes.

    A warp's lanes hold their samples of one channel in registers, four pixels per word, while a loop goes
    over the digits, the top one first (`digit_sums.py` has the arithmetic); then those of the next channel.
    One instruction multiplies 16 x 32 samples by 32 x 8 digits and adds integers of 32 bits (`mma.m16n8k32`,
    PTX ISA 9.7.14.5, compute capability 8.0).

    A lone top digit's sums begin with the bits of the float32 number 1.5 x 2^23, so that the bits of sum D
    are those of 1.5 x 2^23 + D: one subtraction makes it a float32, exactly. A pair's sums are those of the
    upper digit, times 256, to which the lower one's are added; one conversion makes a float32 of both.

    The instruction takes four words of samples from neighbouring registers. A word that is used in two
    positions has two registers: else it would be moved at every multiplication.

    `filter_(tile, at, lane, fragments, digits, unit, offset, out, row, sample, samples)`: `at` is the byte of
    `tile` under the warp's first result and the mask's first row; `fragments` are the words of all lanes
    (`fragments_of`), of `digits` digits, of which `unit` is the top one's; `row` and `sample` are those of
    the warp's first result, and a row of the picture has `samples` samples. All lanes of a warp have to call
    it together.
    """
    chains, vectors = tile_shape.chains_of(shape), shape.digit_vectors

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
            taken: set[tuple[int, int]] = set()
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
