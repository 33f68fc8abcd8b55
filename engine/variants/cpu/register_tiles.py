"""What the emitted CPU code keeps in registers, by the processor that it is for. No Numba in here."""

from typing import TypeVar

from engine.compiled.machine_code import cpu_target

_T = TypeVar("_T")

VECTOR = cpu_target().vector_floats
LINE = 16
"""Floats of a cache line."""
ACROSS_LINES = VECTOR / LINE
"""The part of vectors that begin anywhere which lie across two cache lines."""


def _by_target(avx512: _T, avx2: _T, neon: _T) -> _T:
    """Return what suits the processor: with 32 registers of 16 floats, 16 of 8 (or fewer), or 32 of 4."""
    if VECTOR == 16:
        return avx512
    return neon if cpu_target().has("neon") else avx2


BUSY_SUMS = _by_target(16, 12, 16)
"""Vectors of sums that keep all multiply-add units busy: two to four begin in a clock, and take four or five.
Two registers or more are left."""

# Whether what an input row adds to a total is summed up by itself, from 0, and then added to it. AVX-512 has
# registers for both, and multiply-adds of the next row begin before those of this one are finished: few
# vectors under way at once are enough. With 16 registers half of them were kept in memory (AVX2, two cores:
# float32 5 x 5 68 G multiply-adds/s of 91; added to the totals at once 85).
PARTIAL_SUMS = _by_target(True, False, False)
# A partial sum and a total per mask row, and a vector of samples: 31 of the 32 registers of AVX-512. Else a
# total per mask row for each of two vectors or more, these, and a weight: 15 of the 16 registers of AVX2.
# Larger masks are taken in equal parts.
MOST_ROWS = _by_target(15, 6, 6)
# Vectors per strip, by mask rows; else 1. With AVX-512 one is enough where the multiply-adds of a sample
# outnumber its loads and conversion (5 x 5: 50 G multiply-adds/s per core with one, 38 to 49 with two or
# three; the peak is 58): weights are operands in memory. Else each weight costs a load, and eight
# multiply-adds have to be under way at once (with ten on Zen 2, and up to 16 on ARM).
STRIP_VECTORS = _by_target(
    {1: 4, 2: 2, 3: 4}, {1: 4, 2: 4, 3: 4, 4: 3, 5: 2, 6: 2}, {1: 8, 2: 8, 3: 8, 4: 6, 5: 4, 6: 4}
)
# Mask columns that are written one after another instead of as a loop, by mask rows. The loop of 3 x 3 is a
# fifth of its instructions, which are what it takes (AVX2). Of a column times a row too, for integers and a
# symmetric row (8 bit: 7 to 12 % less time; 5 x 5: nothing).
UNROLLED_COLUMNS = _by_target(dict[int, int](), {3: 3}, dict[int, int]())
# Masks of so many rows have integer samples made float32 before they are summed, once, and not for each mask
# column and part of the mask's rows (AVX2, 7 x 7: 87 G multiply-adds/s instead of 58). Smaller ones do not: a
# vector of bytes seldom lies across two cache lines, one of floats every second time, and tiles are wider
# (8 bit to float32 3 x 3: 5 to 29 % less time, to 8 bit the same). Nor does a column times a row in one pass
# (8-bit 3 x 3 to 5 x 5: 9 to 12 %).
CONVERTS_FROM_ROWS = _by_target(1 << 16, 5, 5)

# The same for a column times a row, and the numbers of mask rows that there is code for. Each sample is
# loaded for one multiply-add, each weight for the vectors of the strip: as many of these as there are
# registers for. One pass saves 37 (6 rows) to 15 % (14) with AVX-512, float32; with AVX2 a quarter at 7 rows
# and 13 % at 9, though some of 9 rows' totals are in memory then; 11 rows take 5 % longer.
PRODUCT_VECTORS = _by_target(
    {1: 4, 2: 4, 3: 4, 4: 4, 5: 4, 6: 3, 7: 3} | dict.fromkeys(range(8, 15), 2),
    {1: 4, 2: 4, 3: 3, 4: 2, 5: 2, 6: 2, 7: 2, 8: 2, 9: 2},
    {1: 4, 2: 4, 3: 4, 4: 4, 5: 4, 7: 3},
)
# Integers are converted once per mask column, or pair of them: from 8 rows on that costs what is saved by not
# keeping sums (AVX-512, 8 bit: 9 x 9 2 % longer in one pass; AVX2: 7 x 7 up to 4 %). Results that are float32
# one pass also stores past the cache (8 to 13 rows: 8 to 25 % less).
_MOST_PRODUCT_ROWS_OF_INTEGERS = _by_target(7, 5, 7)
_MOST_PRODUCT_ROWS_TO_FLOATS = _by_target(13, 7, 7)


def product_rows(whole_samples: bool, whole_results: bool) -> tuple[int, ...]:
    """Return for how many rows of a mask that is a column times a row there is code, by the types."""
    most = max(PRODUCT_VECTORS)
    if whole_samples:
        most = _MOST_PRODUCT_ROWS_OF_INTEGERS if whole_results else _MOST_PRODUCT_ROWS_TO_FLOATS
    return tuple(rows for rows in PRODUCT_VECTORS if rows <= most)


# Rows that a strip takes with its totals in registers: 8 is 2 to 5 % faster than 4.
ROWS_AT_ONCE = 8

# Samples across that are summed up before the next ones where a mask is taken in parts, or samples are made
# float32 first: these, and what one part leaves to the next, stay in the first cache. Whole strips of each
# width.
PART_SAMPLES = 288

# Vectors of sums per strip along a row: several hide that each multiply-add waits for the one before it. AVX2
# has registers for twelve, which share a weight.
ALONG_VECTORS = _by_target(4, 12, 8)
# Whether two taps a vector apart (8 apart, of 1 or 3 channels) are added together: vector v under one has the
# samples of vector v + channels under the other, so 13 or 15 loads serve 24 multiply-adds. With a load each
# they take 0.78 cycles instead of 0.5 (AVX2, 8-bit Gaussians: 9 taps 6 to 8 % less, 15 taps 15 to 19, 31 taps
# 17 to 22).
SHARES_SAMPLES = _by_target(False, True, False)
# Two taps at a time: samples are loaded once, and moved within the registers for the second tap. With AVX-512
# a vector across two cache lines takes 1.7 cycles to load, its multiply-add and a move 1 each, in different
# units: 41 G multiply-adds/s per core instead of 33. Shorter vectors lie across lines less often.
PAIRS = _by_target(True, False, False)
# Taps per round of the inner loop. Where none is moved, four: a loop of 31 rounds ends unforeseen.
TAPS_AT_ONCE = _by_target((2, 1), (4, 1), (4, 1))
# Rows of results per strip down the columns: each vector that is loaded serves four, each weight all vectors:
# with AVX2 12 totals, 3 vectors of sums and a weight.
RESULTS_AT_ONCE = 4
DOWN_VECTORS = _by_target(4, 3, 4)
# Least rows of results between two moves of sums that are still needed to the top of their buffer (AVX2, 48
# instead of 32: 8-bit Gaussians 1 to 4 % less; 64 and more: float32 4 to 10 % more).
BLOCK_ROWS = _by_target(32, 48, 32)
# The same, for each mask row but one (AVX-512, 2 instead of 1: 31 and 63 rows 4 to 9 % less; AVX2 up to 10 %
# more, as fewer of the sums stay in the first cache).
BLOCK_OF_MASK_ROWS = _by_target(2, 1, 1)
# Columns that are summed down for all rows of a block before the next ones: with 31 rows a block has 62 rows
# of sums, and 24 KB of them stay in a first cache of 32 KB (31 x 1: 20 cycles per vector instead of 24).
DOWN_SAMPLES = _by_target(1 << 16, 96, 96)
# Whether rows of results are prefetched in two passes. Zen 4 takes a tenth to a fifth less time with it
# (float32, 15 and 31 rows). Elsewhere lines that are read first and written later are asked for twice:
# float32 9 x 9 on 1920 x 1080 took 0.84 ms with and 0.70 to 0.78 without (Xeon, AVX2).
FETCHES_RESULTS = cpu_target().name.startswith("znver")
# Rows of sums per round of the inner loop, for float32 results: 15 x 15 takes 5 % less time than with one.
# With AVX-512 8-bit results would take 2 to 5 % more.
ROWS_PER_ROUND = (2, 1)
