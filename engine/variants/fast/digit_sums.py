"""`digit-sums`: exact integer sums of the weights' 8-bit slices over bytes, on tensor cores.

Idea
    A float32 weight is an integer times a power of two, and that integer a few digits in base 256. Sums of
    one digit over 8-bit samples are exact integers, of which tensor cores form 4096 products with one
    instruction; the sums of two digits fit into 32 bits. Pairs are combined in float32, the top one first,
    which rounds less than a direct sum; where the bound leaves room, weights are rounded to fewer digits.
Who loads what
    The block copies its input tile into shared memory as bytes. A lane loads every fourth row, 16 bytes at a
    time, once per channel, and sorts the channel's samples in registers. Digits lie in global memory in the
    order in which lanes need them: a mask edit compiles nothing.
Limit
    Multiplications and the float32 arithmetic between them, which hardly overlap; then sorting samples and
    results (H200, grey 5 x 5: 19 us with four digits, 12 with one; the copy alone takes 6).
Digits
    All weights of a mask are w = Q 2^low with integers Q, and

        Q = sum over p of 65536^p h_p,   h_p = 256 a + b,   a of -128 .. 127, b of 0 .. 255,

    the top h_p a digit of -128 .. 127 alone where that is enough. Sums of one h_p over samples are integers
    that 32 bits hold up to `MOST_CELLS` cells. They are combined in float32 from the top one down. Weights
    are rounded to fewer digits where the bound of a direct sum leaves room, but never where a result could
    have to be equal bit for bit. Why `roundings` is the sum of what each step rounds, in units of u = 2^-24
    of the sum of magnitudes: docs/variants/digit-sums.md, "Error".

Sources: slices with exact products: Ozaki, Ogita, Oishi and Rump, "Error-free transformations of matrix
multiplication by using fast routines of matrix multiplication and its applications", Numerical Algorithms 59
(2012) 95-118; 8-bit slices on tensor cores: Ootomo, Ozaki and Yokota, "DGEMM on integer matrix multiplication
unit" (2023), arXiv:2306.11975. Both split both factors; here samples are bytes already.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TypeVar

import numpy as np

from engine.device.kernel_factory import kernel_factory
from engine.device.kernel_names import cuda, jit_within, uint8
from engine.device.launches import Launch, Operand, Pass
from engine.geometry.block import Block, Limits, Refusal
from engine.geometry.border import Border
from engine.mask.factors import EXACT_STEPS, step_of
from engine.mask.mask import Mask
from engine.results.problem import Work
from engine.variants.emit.cuda_code import SHARED_ALIGNMENT, waiter
from engine.variants.fast.thread_results import digit_filter
from engine.variants.fast.tile_loader import byte_tile_loader
from engine.variants.fast.tile_shape import SHARED_BYTES, WARPS, DigitShape, fragments_of
from engine.variants.passes import by_passes, filter_pass, launch_of_samples, loads_of_tiles, refuse_rows
from engine.work.filtering.sum_order import TENSOR_CORES
from engine.work.filtering.variants import Variant, filter_work
from engine.work.problem import Problem

LEAST_CAPABILITY = (8, 0)
MOST_CELLS = 128
MOST_DIGITS = 16
LARGEST_SAMPLE = 255
LARGEST_PART = 2.01
"""Bound of upper digits as a share of a weight, and of a unit as one of the largest: 256 / 127.5 = 2.008."""

MARGIN = 1.01
_UNIT_ROUNDOFF = Fraction(1, 1 << 24)
_LARGEST_FLOAT32 = float(np.finfo(np.float32).max)
_BYTE, _PAIR = 1 << 8, 1 << 16

Integers = np.ndarray
"""Python's integers, one per cell."""

Number = TypeVar("Number", int, Integers)


@dataclass(frozen=True, eq=False, slots=True)
class WeightDigits:
    """The digits of a mask's weights."""

    # (digits, rows, columns) int16, the top one first, then pairs: -128 .. 127 and 0 .. 255. An odd number
    # begins with a lone one, -128 .. 127.
    digits: np.ndarray
    # The top digit's, a power of two; each further digit's is 1/256 of the one before.
    unit: float
    # How many times u S the float32 result may be off, before `MARGIN`.
    roundings: float

    @property
    def count(self) -> int:
        """Digits of a weight."""
        return len(self.digits)

    @property
    def holds_bound(self) -> bool:
        """Whether results are sure to lie within the bound that a direct sum is granted."""
        cells = self.digits[0].size
        return bool(self.count <= MOST_DIGITS and MARGIN * self.roundings <= cells + 2)


def overflows(mask: Mask) -> bool:
    """Return whether the weights are so large that a unit or a sum on the way could be infinite."""
    most = float(np.abs(mask.weights32.astype(np.float64)).sum())
    return LARGEST_SAMPLE * LARGEST_PART * most > _LARGEST_FLOAT32


# Asked by `auto`, by the refusal and by the upload of one and the same mask.
@lru_cache(maxsize=16)
def digits_of(mask: Mask) -> WeightDigits:
    """Return the fewest digits of a mask's float32 weights whose results hold the bound; else all of them."""
    weights = mask.weights32
    step = Fraction(step_of(weights)) if weights.any() else Fraction(1)
    # Python's integers: between the largest and the smallest float32 lie 277 bits.
    whole = np.array([int(Fraction(weight) / step) for weight in weights.ravel().tolist()], object)
    every = _weight_digits(mask, whole, step, Fraction(0))
    if np.abs(whole).sum() < EXACT_STEPS:
        return every
    for count in range(1, min(every.count, MOST_DIGITS + 1)):
        shift = _shift(np.abs(whole).max(), count)
        rounded = _shifted(whole, shift)
        change = _largest_share((rounded << shift) - whole, whole) / _UNIT_ROUNDOFF
        if change <= mask.taps + 2:
            fewer = _weight_digits(mask, rounded, step * 2**shift, change)
            if fewer.holds_bound:
                return fewer
    return every


def _weight_digits(mask: Mask, whole: Integers, step: Fraction, change: Fraction) -> WeightDigits:
    """Return the digits of integers in units of `step`, which are `change` u of the weights off."""
    pairs, left = list[Integers](), whole
    while ((left < -_BYTE // 2) | (left >= _BYTE // 2)).any():
        pairs.insert(0, (left + _PAIR // 2) % _PAIR - _PAIR // 2)
        left = (left - pairs[0]) // _PAIR
    alone = [left] if left.any() or not pairs else []
    digits = [*alone, *(digit for pair in pairs for digit in (pair // _BYTE, pair % _BYTE))]
    shaped = np.array(digits).astype(np.int16).reshape(-1, *mask.shape)
    unit = math.ldexp(float(step), 8 * (len(digits) - 1))
    return WeightDigits(shaped, unit, float(change) + _roundings([*alone, *pairs], whole))


def _shift(largest: int, count: int) -> int:
    """Return how many low bits numbers up to `largest` have to lose to take `count` digits."""
    pairs, alone = divmod(count, 2)
    most = sum((_PAIR // 2 - 1) * _PAIR**number for number in range(pairs))
    most += (_BYTE // 2 - 1) * _PAIR**pairs * alone
    shift = max(0, largest.bit_length() - most.bit_length())
    return shift if _shifted(largest, shift) <= most else shift + 1


def _shifted(number: Number, shift: int) -> Number:
    """Return integers over a power of two, rounded."""
    return (number + (1 << shift >> 1)) >> shift


def _roundings(numbers: list[Integers], whole: Integers) -> float:
    """Return the sum of the r of all steps that may round, and 1 for the last."""
    total, parts = Fraction(1), 0 * whole
    for number, own in enumerate(numbers):
        unit = _PAIR ** (len(numbers) - 1 - number)
        parts = _PAIR * parts + own
        for summed in (own, parts) if number else (own,):
            if LARGEST_SAMPLE * np.abs(summed).sum() > EXACT_STEPS:
                total += _largest_share(summed * unit, whole)
    return float(total)


def _largest_share(parts: Integers, whole: Integers) -> Fraction:
    return max(Fraction(abs(part), abs(one)) for part, one in zip(parts, whole, strict=True) if one)


# There may be too little shared memory for it.
digit_shape = lru_cache(maxsize=256)(DigitShape)


def _shape_of(problem: Problem) -> DigitShape:
    return digit_shape(problem.mask_shape, problem.channels, problem.anchor[1])


def plan(problem: Problem, block: Block) -> tuple[Launch, ...]:
    """Return one launch; the block is the variant's own, 32 threads across."""
    shape = _shape_of(problem)
    return (launch_of_samples(problem, shape.out_samples, shape.out_rows, WARPS, shape.shared_bytes),)


def work(problem: Problem, block: Block) -> Work:
    """Return the work for weights of one digit; each further digit multiplies once more and loads its words.

    Not counted are multiply-adds with the zeros that fill a multiplication up.
    """
    shape, (launch,) = _shape_of(problem), plan(problem, block)
    cells = launch.blocks * shape.tile_rows * shape.tile_samples
    bands = [(index * shape.out_rows, shape.tile_rows) for index in range(launch.grid[1])]
    lanes, channels = launch.blocks * shape.threads * shape.rounds, range(shape.channels)
    loaded_words = sum(count for channel in channels for _, count in shape.loads_of(channel))
    return filter_work(
        problem,
        picture_loads=loads_of_tiles(problem, launch, shape.before, shape.tile_samples, bands),
        weight_loads=lanes * shape.channels * 4 * shape.digit_vectors,
        shared_loads=lanes * 4 * shape.fours_of_rows * loaded_words,
        shared_stores=cells,
        multiply_adds=lanes * shape.across * problem.taps,
    )


def _refusal(code: str, short: str, more: str = "", remedy: str = "Use register-blocked.") -> Refusal:
    """Return a refusal whose sentence goes on after its short form, with what else to use."""
    return Refusal(code, short, f"{short}{more}.", remedy)


def unsupported(problem: Problem, mask: Mask, block: Block, limits: Limits) -> Refusal | None:
    """Return why the device, the ghost cells, the mask or the picture do not suit; None if all do."""
    capability = limits.compute_capability
    if capability is not None and capability < LEAST_CAPABILITY:
        has = ".".join(map(str, capability))
        short = "Needs tensor cores for 8-bit integers of compute capability 8.0"
        return _refusal("tensor-cores", short, f"; this device has {has}")
    ghost, (rows, columns) = problem.ghost_value, problem.mask_shape
    if not (0 <= ghost <= 255 and float(ghost).is_integer()):
        short = f"Cells outside the picture are {ghost:g}, not a whole number from 0 to 255"
        remedy = "Use register-blocked, or another border or value."
        return _refusal("ghost-value", short, ": they have to be bytes as the picture's", remedy)
    if problem.taps > MOST_CELLS:
        more = (
            f"; {rows} × {columns} has {problem.taps} cells, and a digit's sum would not be exact in float32"
        )
        return _refusal("mask-too-large", f"Takes masks of up to {MOST_CELLS} cells", more)
    shape = _shape_of(problem)
    if shape.shared_bytes > min(SHARED_BYTES, limits.shared_bytes):
        short = f"A mask of {rows} × {columns} needs more shared memory than there is"
        remedy = "Use register-blocked, or fewer channels."
        return _refusal("shared-memory", short, f" ({problem.channels} channels)", remedy)
    if overflows(mask):
        return _refusal("weights-too-large", "The weights are so large that sums on the way could overflow")
    digits = digits_of(mask)
    if not digits.holds_bound:
        short = f"The weights take {digits.count} digits of 8 bit"
        more = f" because they lie so far apart; their sums could round more than one of {mask.taps} cells"
        return _refusal("bound-exceeded", short, more)
    return refuse_rows(problem, plan(problem, block)[0], shape.out_rows)


@kernel_factory
def kernel(border: Border, shape: DigitShape):
    """Return the kernel for a border and a shape of a block's work."""
    load, wait, filter_ = byte_tile_loader(shape, border.rule), waiter(pending=0), digit_filter(shape)
    CHANNELS, BEFORE = shape.channels, shape.before
    TILE_SAMPLES, SHARED_BYTES = shape.tile_samples, shape.shared_bytes
    OUT_ROWS, OUT_SAMPLES = shape.out_rows, shape.out_samples
    ROUNDS = shape.rounds

    @jit_within(shape.registers)
    def correlate_digits(image, fragments, digits, unit, width, anchor_row, ghost_value, offset, out):
        shared = cuda.shared.array(SHARED_BYTES, uint8, SHARED_ALIGNMENT)
        lane, warp = cuda.threadIdx.x, cuda.threadIdx.y
        samples = width * CHANNELS
        top = cuda.blockIdx.y * OUT_ROWS
        sample = cuda.blockIdx.x * OUT_SAMPLES
        load(shared, image, samples, top - anchor_row, lane, warp, sample - BEFORE, ghost_value)
        wait()
        # No thread may read a cell before its copy has arrived.
        cuda.syncthreads()
        row = warp * ROUNDS * 4
        for _ in range(ROUNDS):
            at = row * TILE_SAMPLES + BEFORE
            filter_(shared, at, lane, fragments, digits, unit, offset, out, top + row, sample, samples)
            row += 4

    return correlate_digits


def _passes(problem: Problem, mask: Mask, block: Block) -> tuple[Pass, ...]:
    (launch,), shape, digits = plan(problem, block), _shape_of(problem), digits_of(mask)
    words, numbers = fragments_of(shape, digits.digits), (digits.count, np.float32(digits.unit))
    constants = np.float32(problem.ghost_value), np.float32(mask.offset)
    sides = problem.width, problem.anchor[0]
    arguments = (Operand.IMAGE, words, *numbers, *sides, *constants, Operand.OUT)
    return (filter_pass(kernel(problem.border, shape), problem, launch, arguments),)


VARIANT = Variant(
    key="digit-sums",
    title="8-bit slices (tensor cores)",
    idea="Weights as 8-bit slices: tensor cores sum each slice over bytes exactly, and few roundings "
    "combine the sums.",
    default_block=Block(32, 4),
    plan=plan,
    work=work,
    sum_order=lambda problem, mask: TENSOR_CORES,
    **by_passes(_passes),
    unsupported=unsupported,
    uses_block=False,
    integer_output=True,
    uint8_only=True,
    remark="8-bit pictures and results, masks up to 128 cells. One slice for small whole numbers or "
    "sixteenths, else three or four; the model of work counts one.",
    repeats=lambda mask: digits_of(mask).count,
    most_cells=MOST_CELLS,
)
