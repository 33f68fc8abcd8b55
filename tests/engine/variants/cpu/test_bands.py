"""CPU variants that compute in bands: tiles, edges, buffers, threads, two passes, and integer results."""

import itertools
from functools import partial

import numpy as np
import pytest
from msgspec.structs import replace

from engine.compiled.machine_code import Call, MachineFunction
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.mask.generators import gaussian
from engine.mask.mask import Mask
from engine.variants.cpu import banded_filter as bands
from engine.variants.cpu import box, parallel, streamed_bands
from engine.variants.cpu import register_tiles as tuned
from engine.variants.cpu.register_tiles import MOST_ROWS, RESULTS_AT_ONCE, VECTOR
from engine.work.filter_task import describe_problem
from engine.work.filtering.variants import variant
from tests.engine.variants.cases import Case, check, verified
from tests.pairwise import by_pairs

KEYS = ("cpu-parallel", "cpu-separable")
BLOCK = Block(1, 1)
PARALLEL, SEPARABLE = parallel.VARIANT, parallel.SEPARABLE
NARROW_TILE_FLOATS = 1 << 13
every_banded_variant = pytest.mark.parametrize("banded", [PARALLEL, SEPARABLE], ids=KEYS)


def filtered(banded, image, mask, border=Border.MIRROR, **more):
    """Return a picture filtered by a variant, verified."""
    problem = replace(describe_problem(image, mask, border, 0.0), **more)
    out = np.zeros(image.shape, problem.result_dtype)
    banded.prepare(problem, mask, BLOCK).launch(image, out)
    verified(out, image, mask, problem)
    return out


HEIGHTS = (1, bands.LEAST_ROWS - 1, bands.LEAST_ROWS + 1, tuned.BLOCK_ROWS)
HEIGHTS = sorted({*HEIGHTS, tuned.BLOCK_ROWS + RESULTS_AT_ONCE + 1})
# In samples of a row: vectors, and the wide tiles with both edges.
WIDE = streamed_bands.LEAST_TILE_SAMPLES
WIDTHS = (VECTOR - 1, VECTOR, VECTOR + 1, 3 * VECTOR + 2, 529, WIDE + VECTOR, WIDE + 5 * VECTOR + 3)


@pytest.mark.slow
@by_pairs(
    mask_shape=[(1, 1), (3, 3), (15, 15), (1, 5), (2, 63), (63, 1), (1, 127)],
    shape=[(1, 1, 1), (49, 300, 3), (50, 33, 4), (48, 256, 1)],
    banded=[PARALLEL, SEPARABLE, box.VARIANT],
)
def test_that_nothing_is_written_beside_the_buffers(banded, shape, mask_shape, monkeypatch):
    guard, guarded = 1024, []

    def with_guards(argument):
        if isinstance(argument, tuple):
            return tuple(map(with_guards, argument))
        if not isinstance(argument, np.ndarray) or argument.dtype != np.float32:
            return argument
        copy = np.full(argument.size + 2 * guard, 7.5, np.float32)
        copy[guard:-guard] = argument.reshape(-1)
        guarded.append(copy)
        return copy[guard:-guard].reshape(argument.shape)

    def call(function, *arguments):
        # The last two have the buffers.
        inner = (*arguments[:-2], *map(with_guards, arguments[-2:]))
        return Call(function.address(*inner), inner)

    monkeypatch.setattr(bands, "BETWEEN_ROWS_BYTES", 0)
    monkeypatch.setattr(bands, "ROWS_ALIGNMENT_BYTES", 64)
    monkeypatch.setattr(MachineFunction, "call", call)
    image, mask = np.ones(shape, np.float32), Mask(np.ones(mask_shape))
    problem = describe_problem(image, mask, "wrap", 0.0)
    out = np.full(image.size + 2 * guard, 7.5, np.float32)
    banded.prepare(problem, mask, BLOCK).launch(image, out[guard:-guard].reshape(shape))
    assert guarded
    for buffer in (*guarded, out):
        assert (buffer[:guard] == 7.5).all()
        assert (buffer[-guard:] == 7.5).all()
    assert (out[guard:-guard] == mask.taps).all()


@pytest.mark.parametrize("key", KEYS)
def test_that_tiles_meet_without_a_seam(key, monkeypatch):
    for height in HEIGHTS:
        for holder in (streamed_bands, parallel):
            monkeypatch.setattr(holder, "TILE_FLOATS", NARROW_TILE_FLOATS)
        colour = partial(Case, channels=3, dtype="uint8", mask_shape=(4, 5), cval=77, weights="rank 1 whole")
        for number, width in enumerate(WIDTHS):
            border = list(Border)[(height + number) % len(Border)]
            check(variant(key), colour("tiles", height, -(-width // 3), border=border), "cpu")
            check(variant(key), Case("grey", height, width, weights="rank 1 even"), "cpu")


def test_that_masks_are_taken_in_parts_of_the_rows_that_registers_hold():
    for rows in (MOST_ROWS, MOST_ROWS + 1, 2 * MOST_ROWS + 1):
        for height in (rows // 2, 3 * rows):
            check(variant("cpu-parallel"), Case(f"{rows} rows", height, 40, mask_shape=(rows, 2)), "cpu")


@pytest.mark.slow
@by_pairs(banded=[PARALLEL, SEPARABLE], side=[7, 17], threads=[2, 7])
def test_that_the_number_of_threads_does_not_change_the_result(banded, side, threads, monkeypatch):
    image = np.random.default_rng(3).standard_normal((437, 91, 3), np.float32)
    mask = Mask(np.outer(*np.random.default_rng(4).standard_normal((2, side))))
    monkeypatch.setattr(bands, "launch_cores", lambda: 1)
    alone = filtered(banded, image, mask)
    monkeypatch.setattr(bands, "launch_cores", lambda: threads)
    assert np.array_equal(alone, filtered(banded, image, mask))


@by_pairs(banded=[PARALLEL, SEPARABLE], width=[64, 63, 33], first=[0, 1, 5])
def test_that_results_stored_past_the_cache_are_the_same(banded, width, first, monkeypatch):
    image = np.random.default_rng(5).standard_normal((40, width, 1), np.float32)
    mask = Mask(np.outer(*np.random.default_rng(6).standard_normal((2, 3))))
    problem = describe_problem(image, mask, Border.REFLECT, 0.0)
    wanted = filtered(banded, image, mask, Border.REFLECT)
    monkeypatch.setattr(streamed_bands, "PAST_CACHE_BYTES", 0)
    # Wherever the result begins in memory: vectors past the cache have to be aligned.
    out = np.zeros(image.size + first, np.float32)[first:].reshape(image.shape)
    banded.prepare(problem, mask, BLOCK).launch(image, out)
    assert np.array_equal(out, wanted)


@pytest.mark.slow
@pytest.mark.parametrize("cval", [300.0, -1.0, 0.5])
@every_banded_variant
def test_that_a_ghost_value_that_the_samples_cannot_hold_counts_in_full(banded, cval):
    image = np.random.default_rng(7).integers(0, 256, (9, 41, 2), np.uint8)
    for mask in (Mask(np.ones((3, 5))), gaussian(7)):
        filtered(banded, image, mask, border=Border.CONSTANT, cval=cval)
    filtered(banded, image, mask, border=Border.CONSTANT, cval=cval, result_dtype="uint8")


def test_that_bands_cover_each_row_and_tile_once():
    for height, tiles in [(1, 1), (1, 20), (5000, 1), (40, 35), (480, 1), (49, 2), (2048, 3), (4096, 6)]:
        for cost_rows, workers in itertools.product((0, 2, 62), (1, 2, 7, 16)):
            cut = bands.cut(height, tiles, workers, cost_rows)
            # They begin at whole groups of rows.
            assert (cut[:, 0] % bands.WHOLE_ROWS == 0).all()
            covered = np.zeros((height, tiles), int)
            for top, bottom, tile in cut:
                assert top < bottom
                covered[top:bottom, tile] += 1
            assert (covered == 1).all()
            pieces = -(-height // bands.LEAST_ROWS) * tiles
            assert min(workers, pieces) / 2 <= len(cut) <= 11 * workers + tiles


@pytest.mark.parametrize("border", list(Border))
@pytest.mark.slow
def test_that_a_column_times_a_row_is_right_for_all_numbers_of_rows(border):
    random = np.random.default_rng(10)
    # There is code for few rows of integers only.
    assert (
        set(tuned.product_rows(True, True))
        <= set(tuned.product_rows(True, False))
        <= set(tuned.product_rows(False, False))
    )
    assert max(tuned.product_rows(True, True)) < 8
    for dtype in ("float32", "uint8"):
        # Heights with and without rows that are taken together; widths with and without a middle part.
        for shape in ((3, 5, 2), (29, 150, 1), (60, 47, 3)):
            image = random.integers(0, 200, shape).astype(dtype)
            for rows in (*tuned.product_rows(dtype == "uint8", False), 8, 15):
                mask = Mask(np.outer(random.integers(-4, 5, rows), random.integers(-4, 5, 4)))
                filtered(SEPARABLE, image, mask, border)
                filtered(SEPARABLE, image, gaussian(rows) if rows % 2 else mask, border, result_dtype=dtype)


@pytest.mark.slow
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_that_factors_that_are_the_same_from_both_ends_are_folded_rightly(channels):
    for taps in range(1, 10):
        random = np.random.default_rng(9)
        half = random.integers(1, 9, taps)
        for dtype in ("uint8", "uint16"):
            image = random.integers(0, np.iinfo(dtype).max, (7, 83, channels), dtype, endpoint=True)
            for row in (half + half[::-1], (half + half[::-1]) / 7):
                # In one walk, and in two passes.
                for column in ([1, 2, 4, 8], list(range(1, 17))):
                    assert (len(column) in tuned.product_rows(True, False)) == (len(column) == 4)
                    filtered(SEPARABLE, image, Mask(np.outer(column, row)), Border.WRAP)


@pytest.mark.parametrize("border", list(Border))
def test_that_what_is_not_finite_stays_where_the_direct_sum_has_it(border, monkeypatch):
    monkeypatch.setattr(parallel, "TILE_FLOATS", NARROW_TILE_FLOATS)
    image = np.random.default_rng(8).standard_normal((50, 530, 1), np.float32)
    for row, column, strange in ((0, 0, np.inf), (20, 300, np.nan), (31, 511, -np.inf), (49, 529, np.inf)):
        image[row, column] = strange
    for mask in (
        gaussian(9),
        gaussian(15),
        *(Mask(np.outer(column, [0.5, 0, 0.1, 3])) for column in ([1, 0, 2], [1, 0, 2, 0, 0, 1])),
        Mask(np.outer([1, -1], [1, 2, 1])),
    ):
        filtered(SEPARABLE, image, mask, border)


# Mask rows for which strips have four vectors, two, three, and one, in one pass and in two.
STRIPS = [*((PARALLEL, rows) for rows in (1, 2, 3, 5)), *((SEPARABLE, rows) for rows in (3, 5, 7, 9))]
every_strip = pytest.mark.parametrize(("banded", "rows"), STRIPS, ids=[f"{one.key} {n}" for one, n in STRIPS])
# Whole strips of four vectors, and what is left beside them.
WIDTH = 11 * VECTOR + 3


def quantised(banded, image, weights, offset=0.0):
    """Return a picture filtered with a border of 0, in the picture's type."""
    mask = Mask(weights, offset=offset)
    problem = describe_problem(image, mask, Border.ZERO, 0.0, image.dtype.name)
    out = np.full(image.shape, 99, image.dtype)
    banded.prepare(problem, mask, BLOCK).launch(image, out)
    return out


@pytest.mark.slow
@every_strip
def test_that_results_are_saturated_and_rounded_half_to_even(banded, rows):
    for dtype in ("uint8", "uint16"):
        largest = np.iinfo(dtype).max
        image = np.random.default_rng(11).integers(0, largest, (21, WIDTH, 1), dtype, endpoint=True)
        before = np.pad(image, ((0, 0), (1, 0), (0, 0)))[:, :-1].astype(float)
        for left, own, offset in ((0.5, 0.0, 0.0), (1.5, -0.25, 0.5), (-3.0, 2.0, 0.0), (300.0, 0.0, -1.0)):
            weights = np.zeros((rows, 2))
            weights[rows // 2] = left, own
            wanted = np.rint(np.clip(left * before + own * image + offset, 0, largest)).astype(dtype)
            assert np.array_equal(quantised(banded, image, weights, offset), wanted)
        # Infinite in float32 from samples of 2 on.
        weights = np.zeros((rows, 1))
        weights[rows // 2] = 3e38
        assert np.array_equal(quantised(banded, image, weights), np.where(image > 0, largest, 0))
        assert not quantised(banded, image, -weights).any()


@pytest.mark.parametrize("rows", [2, 3, 5])
def test_that_nan_becomes_0(rows):
    """Added to a total at once, a multiple of the sample does not overflow: then none comes about."""
    image = np.random.default_rng(13).choice(np.array([0, 255], np.uint8), (21, WIDTH, 1))
    weights = np.zeros((rows, 1))
    # Where both samples are 255, one mask row's sum is infinite and the other's is its negative.
    weights[rows // 2 - 1], weights[rows // 2] = 3e38, -3e38
    above = np.pad(image, ((1, 0), (0, 0), (0, 0)))[:-1]
    assert ((above == 255) & (image == 255)).any()
    wanted = above == 255
    if tuned.PARTIAL_SUMS:
        wanted &= image == 0
    assert np.array_equal(quantised(PARALLEL, image, weights), np.where(wanted, 255, 0))
