"""Which samples and which digits each multiplication takes, and whose results its sums are. Pure integers."""

from dataclasses import dataclass

from engine.variants.digit_sums.digit_shape import PIXELS, POSITIONS, DigitShape

Sample = tuple[int, int]
"""A lane's word of samples of one channel: (row of the tile, in steps of 4 rows; four of pixels)."""

Samples = tuple[Sample, Sample, Sample, Sample]


@dataclass(frozen=True, slots=True)
class Step:
    """A multiplication: the lane's four words of samples, in the instruction's order, and its first word of digits of two."""

    samples: Samples
    first_word: int


@dataclass(frozen=True, slots=True)
class Chain:
    """Multiplications that add to the same four sums, and which of the lane's pixels these are."""

    steps: tuple[Step, ...]
    pixels: tuple[int, int, int, int]


def chains_of(shape: DigitShape) -> list[Chain]:
    """Return what a lane multiplies with one digit in one channel: for each pair of results and 2 fours of pixels.

    The two lie half of the lane's fours apart: then fewer words are taken in two places (of 4, the inner ones by 5 columns).
    """
    apart = POSITIONS // 2
    return [_chain(shape, position, apart, pair) for position in range(apart) for pair in (0, 1)]


def _chain(shape: DigitShape, position: int, apart: int, pair: int) -> Chain:
    halves = shape.half_steps(pair)
    before = len(shape.half_steps(0)) if pair else 0
    steps = []
    for number in range(0, len(halves), 2):
        first = halves[number]
        # `half_steps` begins with one that there is.
        assert first is not None
        # Zeros may meet any samples.
        second = halves[number + 1] or first
        a, b, c, d = ((rows, group + position + far) for rows, group in (first, second) for far in (0, apart))
        steps.append(Step((a, b, c, d), before + number))
    w, x, y, z = (PIXELS * (position + far) + 2 * pair + one for far in (0, apart) for one in (0, 1))
    return Chain(tuple(steps), (w, x, y, z))
