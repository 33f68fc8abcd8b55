"""`digit-sums`: its digits, which are the weights, its code, and what lanes load."""

import re
from fractions import Fraction

import numpy as np
import pytest

from engine.mask.factors import step_of
from engine.mask.mask import Mask
from engine.variants.fast.digit_sums import (
    LARGEST_PART,
    MOST_DIGITS,
    SHARED_BYTES,
    VARIANT,
    digit_shape,
    digits_of,
    overflows,
)
from engine.variants.fast.tile_shape import chains_of
from tests.engine.variants.emitted import needs_nvvm, simulated_codes


@pytest.mark.slow
@needs_nvvm
def test_that_a_digit_takes_one_instruction_for_each_multiplication():
    for problem, ptx in simulated_codes(VARIANT):
        work = digit_shape(problem.mask_shape, problem.channels, problem.anchor[1])
        head, loop = ptx[: ptx.index("mma.sync")], ptx[ptx.index("mma.sync") :]
        # Of each channel a lone digit, then a pair of them.
        multiplications = problem.channels * sum(len(chain.steps) for chain in chains_of(work))
        assert ptx.count(".u8.s8.s32") == 2 * multiplications
        assert ptx.count(".u8.u8.s32") == multiplications
        # A pair's and the offset's.
        assert ptx.count("fma.rn.f32") == 2 * work.across
        assert ptx.count("cvt.rn.f32.s32") == work.across
        assert ptx.count("cvt.pack.sat.u8.s32.b32") == work.across // 2
        assert re.search(r"cp\.async\.ca\.shared\.global \[[^,]*, \[[^,]*, 16;", head)
        assert "prmt" in head
        assert "prmt" not in loop.split("cvt.pack")[0]
        loads = sum(len(work.loads_of(channel)) for channel in range(problem.channels))
        assert len(re.findall(r"ld\.shared", ptx)) == work.fours_of_rows * loads
        # A register may be named %f64, and an unused one may be declared.
        assert [line for line in ptx.splitlines() if re.search(r"\.f64\b", line) and ".reg" not in line] == []


def test_that_what_lanes_load_is_aligned_whatever_the_anchor():
    for channels in [1, 2, 3, 4]:
        for side in (1, 2, 3, 4, 5, 7, 8, 9, 11):
            for left in range(side):
                shape = digit_shape((side, side), channels, left)
                assert shape.shared_bytes <= SHARED_BYTES
                # A thread of the loader copies one piece per round.
                assert shape.tile_samples // 16 <= shape.threads
                assert (shape.tile_samples % 64, shape.before % 16) == (32, 0)
                assert shape.shared_bytes >= shape.tile_rows * shape.tile_samples
                loads = sorted({load for channel in range(channels) for load in shape.loads_of(channel)})
                words = [word + k for word, size in loads for k in range(size)]
                assert words == list(range(words[0], words[-1] + 1))
                for channel in range(channels):
                    loaded = {word + k for word, size in shape.loads_of(channel) for k in range(size)}
                    for group in shape.pixel_groups:
                        assert {place[0] for place in shape.sources(group, channel) if place} <= loaded
                assert shape.before + 4 * words[0] >= 0
                last_lane = shape.before + shape.out_samples - shape.across
                assert last_lane + 4 * (words[-1] + 1) <= shape.tile_samples
                assert all(word % size == shape.across % (4 * size) == 0 for word, size in loads)


RANDOM = np.random.default_rng(31)
SMALLEST, LARGEST = 2.0**-149, float(np.finfo(np.float32).max)


def parts_of(digits):
    """Return what the digits down to each one add up to, cell by cell."""
    cells = digits.digits.reshape(digits.count, -1)
    units = [Fraction(digits.unit) / 256**number for number in range(digits.count)]
    columns = range(cells.shape[1])
    return [
        [sum((int(cells[k, cell]) * units[k] for k in range(number + 1)), Fraction(0)) for cell in columns]
        for number in range(digits.count)
    ]


def are_digits_as_said(digits):
    """Return whether a lone digit and upper ones are of -128 to 127, lower ones of 0 to 255."""
    alone = digits.count % 2
    signed = [digits.digits[:alone], digits.digits[alone::2]]
    lower = digits.digits[alone + 1 :: 2]
    return all((part >= -128).all() and (part <= 127).all() for part in signed) and bool(
        ((lower >= 0) & (lower <= 255)).all()
    )


def test_that_the_digits_add_up_to_the_float32_weights_exactly():
    for weights in [
        RANDOM.integers(-600_000, 600_000, (5, 5)) / 16,
        RANDOM.standard_normal((3, 11)) * 1e-40,
        [[SMALLEST, -SMALLEST], [1.0, 0.0]],
        [[LARGEST, -LARGEST, SMALLEST, 128.0, -128.0, 127.0]],
        [[32767.0, -32768.0, 32768.0, -32769.0, 255.0, -129.0]],
        [[1 / 3]],
        [[0.0, 0.0]],
    ]:
        mask = Mask(weights)
        digits = digits_of(mask)
        assert parts_of(digits)[-1] == [Fraction(w) for w in mask.weights32.ravel().tolist()]
        assert digits.digits.shape[1:] == mask.shape
        # A number of 128 to 255 is a pair, the upper digit 0.
        assert digits.digits[:2].any() or digits.count == 1
        assert are_digits_as_said(digits)


@pytest.mark.slow
def test_that_random_masks_change_by_no_more_than_is_said():
    for shape in [(1, 1), (1, 2), (3, 3), (5, 5), (7, 7), (9, 9), (11, 11)]:
        taken = []
        for seed in range(12):
            mask = Mask(np.random.default_rng([seed, shape[0]]).standard_normal(shape))
            digits = digits_of(mask)
            taken.append(digits.count)
            assert digits.holds_bound
            assert are_digits_as_said(digits)
            for part, weight in zip(parts_of(digits)[-1], mask.weights32.ravel().tolist(), strict=True):
                # One rounding is the offset's.
                assert abs(part - Fraction(weight)) * 2**24 <= (digits.roundings - 1) * abs(Fraction(weight))
        # One weight in a hundred masks is so small beside the others that it takes a fifth.
        assert sum(count <= 4 for count in taken) >= 11


@pytest.mark.parametrize("cells", [9, 121])
def test_that_weights_whose_sums_could_have_to_be_exact_are_never_rounded(cells):
    # One below, and one at, the sum from which on no picture but a black one has exact results.
    small = 2**24 // (cells - 1) // 3 | 1
    for more, is_exact in ((-1, True), (0, False)):
        weights = np.full((1, cells), small)
        weights[0, -1] = 2**24 + more - small * (cells - 1)
        mask = Mask(weights / 8.0)
        assert step_of(mask.weights32) == 0.125
        is_kept = parts_of(digits_of(mask))[-1] == [Fraction(w) for w in mask.weights32.ravel().tolist()]
        assert is_kept or not is_exact


def test_that_weights_take_no_more_digits_than_they_must():
    for weights, count in [
        ([127, -128], 1),
        ([128, 1], 2),
        ([3 / 16, -8 / 16], 1),
        ([255, 1], 2),
        ([1e30], 3),
        ([32767, -32768], 2),
        ([32768, 1], 3),
        ([2**23 - 32769, 1], 3),
        ([2**23, 1], 4),
    ]:
        assert digits_of(Mask([weights])).count == count


def test_that_no_part_of_a_weight_is_larger_than_is_said():
    worst = 256**5 - 128 * (256**5 - 1) // 255
    for mask in (Mask([[float(np.float32(worst))]]), Mask([[128.0]]), Mask(RANDOM.standard_normal((11, 11)))):
        digits = digits_of(mask)
        for parts in parts_of(digits):
            for part, weight in zip(parts, mask.weights32.ravel().tolist(), strict=True):
                assert abs(part) <= Fraction(LARGEST_PART) * abs(Fraction(weight))
        assert digits.unit <= LARGEST_PART * float(np.abs(mask.weights32).max())


@pytest.mark.slow
def test_that_sums_are_off_by_no_more_than_the_roundings_that_are_said():
    for shape in [(1, 1), (1, 2), (2, 2), (3, 3), (5, 5), (11, 11)]:
        taps = shape[0] * shape[1]
        for seed in range(3):
            random = np.random.default_rng([seed, taps])
            weights = random.standard_normal(shape) * 10.0 ** random.integers(-3, 3, shape)
            mask = Mask(weights, offset=seed * 31.7)
            digits, offset = digits_of(mask), Fraction(float(np.float32(mask.offset)))
            assert digits.holds_bound == (1.01 * digits.roundings <= taps + 2)
            pixels = random.integers(0, 256, (40, taps))
            pixels[:2] = [[255], [0]]
            for cells in pixels.tolist():
                sums = [int(digit.ravel().astype(np.int64) @ cells) for digit in digits.digits]
                alone = digits.count % 2
                total = np.float32(sums[0] if alone else 0)
                assert not alone or abs(sums[0]) < 2**22
                for upper in range(alone, digits.count, 2):
                    both = 256 * sums[upper] + sums[upper + 1]
                    assert abs(both) < 2**31
                    # The multiply-add; what rounding to float64 on the way does is 2^-29 of it.
                    exact = Fraction(float(np.float32(both))) / 256 ** (upper + 1) + Fraction(float(total))
                    total = np.float32(float(exact))
                result = np.float32(float(Fraction(float(total)) * Fraction(digits.unit) + offset))
                weights = mask.weights32.ravel().tolist()
                products = [Fraction(w) * x for w, x in zip(weights, cells, strict=True)]
                off = abs(Fraction(float(result)) - sum(products, offset))
                assert off * 2**24 <= digits.roundings * sum(map(abs, products), abs(offset))


def test_that_weights_so_far_apart_that_sums_could_round_more_are_found():
    assert not digits_of(Mask([[1e-30, 1.0, 1e30]])).holds_bound
    assert digits_of(Mask([[0.25, 1.0, 1e3]])).holds_bound
    singles = (SMALLEST, LARGEST, 1 / 3, 1.0, float(np.float32(0.1)))
    assert all(digits_of(Mask([[weight]])).holds_bound for weight in singles)
    # Many cells are granted many roundings, but further units would be none of float32.
    assert digits_of(Mask([[1e-12, *np.ones(98), 1e12]])).holds_bound
    digits = digits_of(Mask([[1e-30, *np.ones(98), 1e30]]))
    assert digits.count > MOST_DIGITS
    assert not digits.holds_bound


def test_that_weights_whose_sums_could_overflow_are_found():
    found = [overflows(Mask([weights])) for weights in ([LARGEST], [6e35, -1e35], [6e35], [0.0])]
    assert found == [True, True, False, False]
