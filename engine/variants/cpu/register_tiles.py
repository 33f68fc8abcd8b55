"""What the emitted CPU code keeps in registers, by the processor that it is for. No Numba in here."""

from engine.compiled.cpu_target import cpu_target

VECTOR = cpu_target().vector_floats
HAS_BROADCAST = VECTOR == 16
"""Whether a multiply-add can take its weight from memory; such machines have 32 vector registers too."""

# A partial sum and a total per mask row, and a vector of samples: 31 of the 32 registers of AVX-512. Other
# machines have 16; there totals are kept in memory along a mask's columns.
MOST_ROWS = 15 if HAS_BROADCAST else 6
# Vectors per strip, by mask rows; else 1. With AVX-512 one is enough where the multiply-adds of a sample
# outnumber its loads and conversion (5 x 5: 50 G multiply-adds/s per core with one, 38 to 49 with two or
# three; the peak is 58). With AVX each weight costs a load, and eight multiply-adds have to be under way at
# once: 39 G with two, 27 with one.
STRIP_VECTORS = {1: 4, 2: 2, 3: 4} if HAS_BROADCAST else {1: 4, 2: 4, 3: 3, 4: 3, 5: 2, 6: 2}

# The same for a column times a row, and the numbers of mask rows that there is code for. Each sample is
# loaded for one multiply-add, each weight for the vectors of the strip: as many of these as there are
# registers for.
PRODUCT_VECTORS = (
    {1: 4, 2: 4, 3: 4, 4: 4, 5: 4, 7: 3, 9: 2, 11: 2, 13: 2}
    if HAS_BROADCAST
    else {1: 4, 2: 4, 3: 3, 4: 2, 5: 2}
)
# Integers are converted once per mask column, or pair of them: from 9 rows on that costs what is saved by not
# keeping sums (cycles per vector of results: 7 x 7 24 instead of 26 in two passes, 9 x 9 32 instead of 29).
_MOST_PRODUCT_ROWS_OF_INTEGERS = 7


def product_rows(whole_numbers: bool) -> tuple[int, ...]:
    """Return for how many rows of a mask that is a column times a row there is code, by the samples' type."""
    return tuple(
        rows for rows in PRODUCT_VECTORS if not whole_numbers or rows <= _MOST_PRODUCT_ROWS_OF_INTEGERS
    )


# Rows that a strip takes with its totals in registers: 8 is 2 to 5 % faster than 4.
ROWS_AT_ONCE = 8

# Vectors of sums per strip along a row: several hide that each multiply-add waits for the one before it.
ALONG_VECTORS = 4
# Two taps at a time: samples are loaded once, and moved within the registers for the second tap. With AVX-512
# a vector across two cache lines takes 1.7 cycles to load, its multiply-add and a move 1 each, in different
# units: 41 G multiply-adds/s per core instead of 33. Shorter vectors lie across lines less often.
PAIRS = HAS_BROADCAST
# Rows of results per strip down the columns: each vector that is loaded serves four, each weight four
# vectors.
RESULTS_AT_ONCE = 4
DOWN_VECTORS = 4 if VECTOR == 16 else 2
# Rows of sums per round of the inner loop, for float32 results: 15 x 15 takes 5 % less time than with one.
# 8-bit results would take 2 to 5 % more.
ROWS_A_ROUND = (2, 1)
