"""Bilateral filter: a mean of the neighbours that are near, and near in colour, so that edges stay.

    r = sum of w x / sum of w,   w = exp(-(m^2 + n^2) / 2 space^2) exp(-d^2 / 2 colour^2)

over the cells of a disc, where d is the distance of a cell's colour from the middle's, all channels together.
A variant adds up w (x - x0), x0 the middle, and adds x0 at the end: what it rounds are differences.

The bound: the weights of float32 are off by at most `WEIGHT_ERROR` (`falling_polynomial` and the rounding of
its argument). With cells that are off by e, the distance of colours is off by 2 e times the root of the
channels, and exp(-d^2 / 2 s^2) has no slope above exp(-1/2) / s. As sum of w (x - r) = 0,

    r' - r = sum of w' (x' - x) / W' + sum of (w' - w) (x - r) / W'

so r is off by e and by the largest |w' - w| times the sum of |x - r| over W', by the rounding of both sums
and of their quotient, relative to the largest difference, and by that of the last sum. W' is never below 1,
the weight of the middle.

Source: Tomasi and Manduchi, "Bilateral filtering for gray and color images", ICCV 1998.
"""

import math
from typing import Any

import numpy as np

from engine.compiled.late_names import njit
from engine.device.kernel_factory import kernel_factory
from engine.device.kernel_names import cuda, cuda_result, cuda_rule, float32, int32
from engine.device.result_rules import cpu_largest, cpu_result
from engine.errors import BadValue
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.results.problem import Work
from engine.variants.operations.kernels import CpuCode, OperationLaunch, cuda_variant, pixels
from engine.verify.closeness import SMALLEST_SUBNORMAL, UNIT_ROUNDOFF
from engine.work.operations.contract import OfCells, Operation, Parameter, Range, half_size, operation_work
from engine.work.problem import OperationProblem, Value

# Of the exponential 8 roundings and its polynomial, 2e-8; of its argument t at most (2 channels + 7)
# roundings, times t exp(-t) <= 0.37: 6; of the product with the weight of the place 2 more.
WEIGHT_ERROR = 16 * UNIT_ROUNDOFF + 2e-8
_STEEPEST = math.exp(-0.5)
# Past it 2 to the power of -t is that of -30, which is less than the polynomial is off.
MOST = np.float32(30.0)
# Chebyshev interpolation of 2^-f on 0 to 1, degree 6.
_P0, _P1, _P2, _P3, _P4, _P5, _P6 = map(np.float32, (
    1.0, -0.6931470632553101, 0.24022433161735535, -0.05549093335866928,
    0.009579859673976898, -0.0012755400966852903, 0.00010932892473647371,
))  # fmt: skip
# The exponent of 1.0 as a float32 has it, and where the bits of an exponent begin.
_BIAS, _MANTISSA = np.float32(127.0), np.float32(2.0**23)


def disc_of(parameters: dict[str, Value]) -> np.ndarray:
    """Return the weights of the places, float64 (size, size), 0 outside the disc."""
    half = half_size(parameters)
    along = np.arange(-half, half + 1.0)
    squares = along[:, np.newaxis] ** 2 + along**2
    disc: np.ndarray = np.exp(squares / (-2.0 * float(parameters["space"]) ** 2)) * (squares <= half * half)
    return disc


def steepness_of(problem: OperationProblem) -> np.float32:
    """Return what the square of a distance is multiplied by for the exponent of 2, float32."""
    colour = float(problem.parameters["colour"]) * problem.full_scale
    return np.float32(1.0 / (2.0 * colour * colour * math.log(2.0)))


def operations_of(problem: OperationProblem) -> int:
    """Return the operations for a pixel: 19, and 6 for each channel, for a cell; 2 more for each channel."""
    cells = int(np.count_nonzero(disc_of(problem.parameters)))
    return cells * (19 + 6 * problem.channels) + 2 * problem.channels


def refuse(samples: np.ndarray, parameters: dict[str, Value]) -> None:
    """Refuse NaN and infinity, whose distance from a colour is no number."""
    if samples.dtype.kind == "f" and not np.isfinite(samples).all():
        why = "the distance of its colours is not a number"
        raise BadValue("a picture with NaN or infinity", why, "Replace these samples first.")


def ranges(cells: Range, problem: OperationProblem) -> Range:
    """Return the means, and what the module's docstring derives."""
    half, channels = half_size(problem.parameters), problem.channels
    disc, x = disc_of(problem.parameters), cells.value
    colour = float(problem.parameters["colour"]) * problem.full_scale
    middle = x[..., half, half][..., np.newaxis, np.newaxis]
    squares = ((x - middle) ** 2).sum(axis=2, keepdims=True)
    weights = disc * np.exp(squares / (-2.0 * colour * colour))
    total = weights.sum(axis=(-1, -2))
    value = (weights * x).sum(axis=(-1, -2)) / total
    error = cells.error.max(axis=(-1, -2, -3), keepdims=True)[..., 0, 0]
    off = WEIGHT_ERROR + error * (2.0 * math.sqrt(channels) * _STEEPEST / colour)
    apart = (disc * np.abs(x - value[..., np.newaxis, np.newaxis])).sum(axis=(-1, -2))
    least = np.maximum(total - off * disc.sum(), 1.0 - WEIGHT_ERROR)
    taps = int((disc > 0).sum())
    largest = np.abs(x - middle).max(axis=(-1, -2)) + 2 * error
    bound = error + off * apart / least + (2 * taps + 10) * UNIT_ROUNDOFF * largest
    bound = bound + 2 * UNIT_ROUNDOFF * (np.abs(value) + error) + taps * SMALLEST_SUBNORMAL
    return Range(value, value - bound, value + bound)


def falling_polynomial(f: Any) -> Any:
    """Return 2 to the power of -f, for f from 0 to 1; a float32 for a float32.

    With t = n + f, n whole and f from 0 to below 1, 2 to the power of -t is this times 2 to the power of -n,
    which is exact. It is off by less than 2e-8 and rounds at most 8 times. No branch, so the compiler makes
    vectors of it; `math.exp` is a call on the CPU and rounds otherwise on CUDA.
    """
    return _P0 + f * (_P1 + f * (_P2 + f * (_P3 + f * (_P4 + f * (_P5 + f * _P6)))))


def half_by_bits(whole: Any) -> Any:
    """Return 2 to the power of -n by its bits: of shifts Numba makes 64 bits, half as many in a vector.

    CUDA's compiler knows no view of a number's bits.
    """
    return np.int32((_BIAS - whole) * _MANTISSA).view(np.float32)


@CpuCode
def cpu_code():
    """`cpu-bilateral`: cell by cell of the disc, whole rows at once in vectors, on all cores.

    Idea
        Each row is copied once to a line for each channel, its ends repeated. For one cell of the disc after
        another the distances, weights and sums of all columns are formed: loops without a branch, the
        exponential included, so the compiler makes vectors of them.
    Limit
        Some 20 operations for a cell of the disc and a pixel: arithmetic.
    """
    falling, half_of = (njit(inline="always")(function) for function in (falling_polynomial, half_by_bits))

    @njit
    def fill(image, row, half, channels, planes):
        """Fill a line for each channel with a row of the picture, its ends repeated."""
        width = image.shape[1] // channels
        source = image[min(max(row, 0), len(image) - 1)]
        for channel in range(channels):
            plane = planes[channel]
            for at in range(width):
                plane[half + at] = np.float32(source[at * channels + channel])
            for step in range(half):
                plane[step] = plane[half]
                plane[half + width + step] = plane[half + width - 1]

    def bilateral(image, out, top, bottom, worker, channels, disc, steepness, all_planes, all_sums, largest):
        # Of each channel `size` rows; row r of the picture is in the place (r + half) modulo `size`.
        size, width = len(disc), image.shape[1] // channels
        half, filled = size // 2, -size
        planes = all_planes[worker]
        squares, totals, sums = all_sums[worker, 0], all_sums[worker, 1], all_sums[worker, 2:]
        for row in range(top, bottom):
            # Rows come one after another: then one is new.
            for source in range(max(row - half, filled), row + half + 1):
                fill(image, source, half, channels, planes[(source + half) % size])
            filled = row + half + 1
            middle = planes[(row + half) % size]
            for at in range(width):
                totals[at] = np.float32(0.0)
            for channel in range(channels):
                for at in range(width):
                    sums[channel, at] = np.float32(0.0)
            for m in range(size):
                lines = planes[(row + m) % size]
                for n in range(size):
                    place = disc[m, n]
                    if place == np.float32(0.0):
                        continue
                    for channel in range(channels):
                        line, own = lines[channel, n : n + width], middle[channel, half : half + width]
                        if channel == 0:
                            for at in range(width):
                                apart = line[at] - own[at]
                                squares[at] = apart * apart
                        else:
                            for at in range(width):
                                apart = line[at] - own[at]
                                squares[at] += apart * apart
                    for at in range(width):
                        t = steepness * squares[at]
                        t = MOST if t > MOST else t
                        whole = np.float32(np.int32(t))
                        weight = place * (falling(t - whole) * half_of(whole))
                        squares[at] = weight
                        totals[at] += weight
                    for channel in range(channels):
                        line, total = lines[channel, n : n + width], sums[channel]
                        own = middle[channel, half : half + width]
                        for at in range(width):
                            total[at] += squares[at] * (line[at] - own[at])
            for channel in range(channels):
                total, own = sums[channel], middle[channel, half : half + width]
                for at in range(width):
                    total[at] = cpu_result(own[at] + total[at] / totals[at], largest)
                for at in range(width):
                    out[row, at * channels + channel] = total[at]

    return bilateral


def _prepare(problem: OperationProblem, patch: object) -> object:
    size, channels, width = problem.whole("size"), problem.channels, problem.width
    disc, steepness = disc_of(problem.parameters).astype(np.float32), steepness_of(problem)

    def arguments(workers: int) -> tuple[object, ...]:
        planes = np.zeros((workers, size, channels, width + size - 1), np.float32)
        sums = np.zeros((workers, 2 + channels, width), np.float32)
        return channels, disc, steepness, planes, sums, cpu_largest(problem.dtype)

    # A product and a sum round once: never more than the bound allows.
    return cpu_code.bands(problem, operations_of(problem) * width // 16, arguments, contracts=True)


CPU = cpu_code.variant(
    _prepare,
    key="cpu-bilateral",
    idea="Distances, exponentials, sums of whole rows, cell by cell of the disc, in vectors, on all cores.",
    # Each sample is loaded once for each row of the window, the rest is in a cache.
    work=lambda problem, block: operation_work(
        problem,
        picture_loads=problem.whole("size") * problem.samples,
        flops=operations_of(problem) * problem.pixels,
    ),
)


def cuda_work(problem: OperationProblem, block: Block) -> Work:
    """Return the work: the disc in all channels, once more the middle, and a place for each cell."""
    cells = int(np.count_nonzero(disc_of(problem.parameters)))
    # Every thread sums the channels one after another, and forms the weights anew for each.
    return operation_work(
        problem,
        picture_loads=problem.samples * (cells * (2 * problem.channels + 1) + 1),
        other_loads=problem.samples * cells,
        flops=problem.samples * operations_of(problem),
    )


@kernel_factory
def kernel(dtype: str, size: int, channels: int):
    """`cuda-bilateral`: a thread per pixel, all its channels together.

    Who loads what
        Each thread loads the cells of its disc in all channels; neighbours ask for nearly the same, which the
        caches serve. The weights of the places lie in global memory, all threads read the same one at once.
    Limit
        Arithmetic: an exponential for each cell of the disc.
    """
    rule, result = cuda_rule(Border.REPLICATE), cuda_result(dtype)
    falling = cuda.jit(device=True, inline="always")(falling_polynomial)
    SIZE, HALF, CHANNELS = size, size // 2, channels

    @cuda.jit
    def bilateral(image, width, disc, steepness, out):
        column, row = cuda.grid(2)
        height = image.shape[0]
        if row >= height or column >= width:
            return
        for channel in range(CHANNELS):
            sum_of_weights, sum_of_products = float32(0.0), float32(0.0)
            own = float32(image[row, column, channel])
            for m in range(SIZE):
                at_row = rule(row + m - HALF, height)
                for n in range(SIZE):
                    # By its place and not by its weight: so it is known before anything is loaded.
                    if (m - HALF) * (m - HALF) + (n - HALF) * (n - HALF) <= HALF * HALF:
                        place = disc[m, n]
                        at_column = rule(column + n - HALF, width)
                        square = float32(0.0)
                        for other in range(CHANNELS):
                            apart = float32(image[at_row, at_column, other]) - float32(
                                image[row, column, other]
                            )
                            square += apart * apart
                        t = min(steepness * square, MOST)
                        whole = int32(t)
                        power = falling(t - float32(whole)) * (float32(1.0) / float32(int32(1) << whole))
                        weight = place * power
                        sum_of_weights += weight
                        sum_of_products += weight * (float32(image[at_row, at_column, channel]) - own)
            out[row, column, channel] = result(own + sum_of_products / sum_of_weights)

    return bilateral


CUDA = cuda_variant(
    OperationLaunch(
        lambda problem, block: kernel(problem.dtype, problem.whole("size"), problem.channels),
        threads=pixels,
        arguments=lambda problem, patch: (
            problem.width,
            disc_of(problem.parameters).astype(np.float32),
            steepness_of(problem),
        ),
    ),
    work=cuda_work,
    key="cuda-bilateral",
    title="Thread per pixel",
    idea="A thread per pixel: distances, exponentials and sums of its disc, for one channel after another.",
)

PARAMETERS = (
    Parameter("size", "Size",
              "Across the disc of neighbours, odd. Cells outside the picture repeat the nearest.",
              5, choices=(3, 5, 7, 9, 11, 13, 15)),
    Parameter("space", "Space", "Standard deviation of the weights over the distance in the picture.",
              2.0, least=0.1, most=50.0, unit="px"),
    Parameter("colour", "Colour",
              "Standard deviation of the weights over the difference of colours, as a share of white (0.1 of "
              "8 bit: 25.5). Large differences are edges and stay.",
              0.1, least=0.001, most=10.0),
)  # fmt: skip

BILATERAL = Operation(
    key="bilateral",
    title="Bilateral filter",
    teaches="A blur that stops at edges: each weight is an exponential of a difference of samples, so the "
    "mask is another one at every pixel, and arithmetic counts, not memory.",
    window=half_size,
    parameters=PARAMETERS,
    refuse=refuse,
    of_cells=OfCells(ranges),
    cost=200,
    proof="A bound from the error of each weight, of both sums and of their quotient.",
    variants=(CPU, CUDA),
)
