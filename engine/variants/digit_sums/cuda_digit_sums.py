"""Sums of digits of weights over bytes on tensor cores, put together as float32, packed and stored; emitted as LLVM IR.

A warp's lanes hold their samples of one channel in registers, a word four pixels, while the loop goes over the digits, the top one
first (`engine.variants.digit_sums.weight_digits` has the arithmetic); then those of the next channel. One instruction multiplies 16 x 32
samples by 32 x 8 digits and adds whole numbers of 32 bits (`mma.m16n8k32`, PTX ISA 9.7.14.5, compute capability 8.0).

A lone top digit's sums begin with the bits of the float32 number 1.5 x 2^23, so that the sum D is in the bits of 1.5 x 2^23 + D: one
subtraction makes it a float32, exactly. A pair's sums are those of the upper digit, times 256, on which the lower one's
are added; one conversion makes a float32 of both.

The instruction takes four words of samples from neighbouring registers. A word that is taken in two places lies in two registers:
else it would be moved at every multiplication.
"""

from collections.abc import Iterator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from engine.device.numba_cuda import intrinsic
from engine.variants.digit_sums.cuda_digit_twin import digit_sums_in_turn
from engine.variants.digit_sums.cuda_planar_bytes import interleaved_words, planar_word
from engine.variants.digit_sums.cuda_staged_stores import emit_staged_stores
from engine.variants.digit_sums.digit_chains import Sample, Samples, chains_of
from engine.variants.digit_sums.digit_shape import PIXELS, POSITIONS, DigitShape
from engine.variants.ir.cuda_ir import (
    F32,
    I32,
    SHARED,
    assembly,
    constant,
    data_of,
    fma,
    loop,
    moved,
    narrow,
    with_twin,
)
from engine.variants.ir.cuda_quantise import StoredWords, packed_word
from engine.variants.register_blocked.cuda_result_storer import emit_stores

Values = list[ir.Value]
_ZERO, _ZERO_BITS = 12582912.0, 0x4B400000
_SUMS = ir.LiteralStructType([I32] * 4)


class DigitSums:
    """Emits what a lane does for its results.

    Parameters
    ----------
    shape : DigitShape
    builder : IRBuilder
    tile : pointer
        To the byte of the tile under the lane's first result and the mask's first row, of the row that it reads first.
    fragments : pointer
        To the lane's first four words of digits (`engine.variants.digit_sums.digit_fragments`).
    digits : int32 value
        How many digits there are.
    """

    def __init__(
        self, shape: DigitShape, builder: ir.IRBuilder, tile: ir.Value, fragments: ir.Value, digits: ir.Value
    ) -> None:
        self._shape, self._builder, self._digits = shape, builder, digits
        self._fragments = builder.bitcast(fragments, I32.as_pointer(fragments.type.addrspace))
        self._tile = builder.bitcast(tile, I32.as_pointer(SHARED))
        # 0, and all bytes where they are: only the run knows that there are less than 2^29 digits.
        self._nothing = builder.lshr(digits, constant(30))
        self._in_place = builder.add(builder.lshr(digits, constant(29)), constant(0x3210))
        self._chains = chains_of(shape)

    def packed(self, channel: int, unit: ir.Value, offset: ir.Value) -> Values:
        """Return a channel's results as bytes, a word four pixels; `unit` is that of the top digit."""
        builder = self._builder
        totals = self._totals(self._registers(channel))
        results = [fma(builder, builder.load(total), unit, offset) for total in totals]
        return [packed_word(builder, results[k : k + PIXELS]) for k in range(0, len(results), PIXELS)]

    def _words(self, channel: int) -> dict[Sample, ir.Value]:
        """Return a channel's samples, loaded anew for each: kept, those of all would take the registers of the sums."""
        shape, builder = self._shape, self._builder
        rows: list[dict[int, ir.Value]] = [{} for _ in range(shape.fours_of_rows)]
        for row, words in enumerate(rows):
            for first, count in shape.loads_of(channel):
                pointer = moved(builder, self._tile, row * shape.tile_samples + first)
                words.update(zip(range(first, first + count), _vector(builder, pointer, count), strict=True))
        sources = {group: shape.sources(group, channel) for group in shape.pixel_groups}
        return {
            (row, group): planar_word(builder, words, places)
            for row, words in enumerate(rows)
            for group, places in sources.items()
            if any(places)
        }

    def _registers(self, channel: int) -> dict[Samples, Values]:
        """Return a channel's samples as multiplications take them, no register in two places."""
        words, taken = self._words(channel), set[Sample]()
        registers: dict[Samples, Values] = {}
        for step in (step for chain in self._chains for step in chain.steps):
            if step.samples not in registers:
                registers[step.samples] = [self._own(words[one], one in taken) for one in step.samples]
                taken.update(step.samples)
        return registers

    def _own(self, word: ir.Value, is_taken: bool) -> ir.Value:
        """Return a word in a register of its own; what the compiler knew to be the same it would keep in one, and move."""
        if is_taken:
            return assembly(self._builder, "prmt.b32 $0, $1, $1, $2;", "=r,r,r", [word, self._in_place], I32)
        # Words of one channel lie beside those that they were loaded with, not beside those of their multiplications.
        return self._builder.xor(word, self._nothing) if self._shape.channels == 1 else word

    def _totals(self, registers: dict[Samples, Values]) -> Values:
        """Emit the loop over the digits; return where the pixels' totals are, in units of the top digit."""
        builder = self._builder
        totals = [cgutils.alloca_once(builder, F32) for _ in range(PIXELS * POSITIONS)]
        unit_left = cgutils.alloca_once(builder, F32)
        alone = builder.and_(self._digits, constant(1))
        with builder.if_else(builder.icmp_unsigned("!=", alone, constant(0))) as (then, otherwise):
            with then:
                zeros = [[constant(_ZERO_BITS)] * 4 for _ in self._chains]
                sums = self._multiplied(registers, self._words_of(constant(0)), zeros)
                for pixel, value in self._by_pixel(sums):
                    number = builder.fsub(builder.bitcast(value, F32), ir.Constant(F32, _ZERO))
                    builder.store(number, totals[pixel])
                builder.store(ir.Constant(F32, 2.0**-16), unit_left)
            with otherwise:
                for total in totals:
                    builder.store(ir.Constant(F32, 0.0), total)
                builder.store(ir.Constant(F32, 2.0**-8), unit_left)
        with loop(builder, alone, self._digits, 2) as digit:
            unit = builder.load(unit_left)
            builder.store(builder.fmul(unit, ir.Constant(F32, 2.0**-16)), unit_left)
            for pixel, value in self._by_pixel(self._pair_of_sums(registers, digit)):
                total = fma(builder, builder.sitofp(value, F32), unit, builder.load(totals[pixel]))
                builder.store(total, totals[pixel])
        return totals

    def _pair_of_sums(self, registers: dict[Samples, Values], digit: ir.Value) -> list[Values]:
        """Emit all multiplications with a pair of digits, the first of which has this number."""
        builder = self._builder
        sums = self._multiplied(registers, self._words_of(digit), [[constant(0)] * 4 for _ in self._chains])
        lower = self._words_of(builder.add(digit, constant(1)))
        sums = [[builder.shl(value, constant(8)) for value in own] for own in sums]
        return self._multiplied(registers, lower, sums, kind="u8")

    def _multiplied(
        self, registers: dict[Samples, Values], weights: Values, sums: list[Values], kind: str = "s8"
    ) -> list[Values]:
        """Emit all multiplications with one digit, the chains side by side; return the sums of each chain.

        A multiplication takes about 30 cycles until the next of its chain may begin.
        """
        for number in range(max(len(chain.steps) for chain in self._chains)):
            for place, chain in enumerate(self._chains):
                if number < len(chain.steps):
                    step = chain.steps[number]
                    digits = weights[step.first_word : step.first_word + 2]
                    sums[place] = self._multiplication(registers[step.samples], digits, sums[place], kind)
        return sums

    def _words_of(self, digit: ir.Value) -> Values:
        """Return the lane's words of one digit."""
        builder, vectors = self._builder, self._shape.digit_vectors
        first = moved(builder, self._fragments, builder.mul(digit, constant(32 * 4 * vectors)))
        loads = (_vector(builder, moved(builder, first, number * 32 * 4), 4) for number in range(vectors))
        return [word for loaded in loads for word in loaded]

    def _multiplication(self, samples: Values, digits: Values, sums: Values, kind: str) -> Values:
        line = (
            f"mma.sync.aligned.m16n8k32.row.col.s32.u8.{kind}.s32 "
            "{$0, $1, $2, $3}, {$4, $5, $6, $7}, {$8, $9}, {$10, $11, $12, $13};"
        )
        function = ir.FunctionType(_SUMS, [I32] * 10)
        emitted = ir.InlineAsm(function, line, "=r,=r,=r,=r" + ",r" * 10, side_effect=False)
        answer = self._builder.call(emitted, [*samples, *digits, *sums])
        return [self._builder.extract_value(answer, place) for place in range(4)]

    def _by_pixel(self, sums: list[Values]) -> Iterator[tuple[int, ir.Value]]:
        """Yield each pixel and its sum."""
        for chain, own in zip(self._chains, sums, strict=True):
            yield from zip(chain.pixels, own, strict=True)


def _vector(builder: ir.IRBuilder, pointer: ir.Value, count: int) -> Values:
    """Load so many words at once, aligned to all of them."""
    kind = ir.VectorType(I32, count)
    loaded = builder.load(builder.bitcast(pointer, kind.as_pointer(pointer.type.addrspace)), align=4 * count)
    return [builder.extract_element(loaded, constant(k)) for k in range(count)]


def digit_filter(shape: DigitShape) -> Any:
    """Return the function that computes and stores a lane's results of 8 bit.

    `filter_(tile, at, lane, stage, fragments, digits, unit, offset, out, row, sample, samples)`: `at` is the byte of `tile` under
    the warp's first result and the mask's first row, `stage` the one where the warp has `shape.stage_bytes` of its own; `digits` are
    `fragments`, `unit` is what the top one counts; `row` and `sample` are those of the warp's first result, and a row of
    the picture has `samples` samples. All lanes of a warp have to call it together.

    Parameters
    ----------
    shape : DigitShape
    """

    @intrinsic
    def filter_(typingctx, tile, at, lane, stage, fragments, digits, unit, offset, out, row, sample, samples):
        kinds = (tile, at, lane, stage, fragments, digits, unit, offset, out, row, sample, samples)

        def codegen(context, builder, signature, arguments):
            _emit_filter(context, builder, shape, signature.args, arguments)
            return context.get_dummy_value()

        return types.void(*kinds), codegen

    return with_twin(filter_, digit_sums_in_turn(shape))


def _emit_filter(
    context: Any, builder: ir.IRBuilder, shape: DigitShape, kinds: Any, arguments: list[ir.Value]
) -> None:
    at, lane, stage, digits, row, sample, samples = (
        narrow(builder, arguments[place]) for place in (1, 2, 3, 5, 9, 10, 11)
    )
    unit, offset = arguments[6], arguments[7]
    along, row_of_four = builder.lshr(lane, constant(2)), builder.and_(lane, constant(3))
    across = builder.mul(along, constant(shape.across))
    below = builder.mul(row_of_four, constant(shape.tile_samples))
    shared = data_of(context, builder, kinds[0], arguments[0], space=SHARED)
    tile = moved(builder, shared, builder.add(at, builder.add(below, across)))
    fragments = data_of(context, builder, kinds[4], arguments[4])
    fragments = moved(builder, fragments, builder.mul(lane, constant(4)))
    sums = DigitSums(shape, builder, tile, fragments, digits)
    planes = [sums.packed(channel, unit, offset) for channel in range(shape.channels)]
    words = interleaved_words(builder, planes)
    out = (kinds[8], arguments[8])
    if shape.is_staged:
        place = [row, sample, samples]
        emit_staged_stores(context, builder, *out, place, moved(builder, shared, stage), lane, words, shape)
    else:
        place = [builder.add(row, row_of_four), builder.add(sample, across), samples]
        emit_stores(context, builder, *out, place, StoredWords(builder, words), shape, 1)
