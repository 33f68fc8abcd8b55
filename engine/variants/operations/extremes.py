"""Minimum, maximum, and grey morphology with a square: minima and maxima in turns, and their differences.

Source: Serra, "Image Analysis and Mathematical Morphology", 1982; flat structuring elements.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from engine.compiled.late_names import njit
from engine.device.host_memory import reused_array
from engine.device.kernel_factory import kernel_factory
from engine.device.kernel_names import cuda, cuda_rule, float32
from engine.device.launches import Between, Operand
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.results.problem import Work
from engine.variants.operations.kernels import CpuCode, OperationLaunch, cuda_variant, put_nan
from engine.work.operations import contract
from engine.work.operations.contract import Floats, Operation, Range
from engine.work.problem import OperationProblem

SIZE = contract.Parameter(
    "size", "Size",
    "Side of the square neighbourhood, odd. Cells outside the picture repeat the nearest one.",
    3, choices=(3, 5, 7, 9, 11, 13, 15),
)  # fmt: skip
KIND = contract.Parameter(
    "kind", "Kind",
    "open (minimum, then maximum), close (maximum, then minimum), gradient (maximum less minimum), top-hat "
    "(the picture less its opening), black-hat (the closing less the picture).",
    "open", choices=("open", "close", "gradient", "top-hat", "black-hat"),
)  # fmt: skip


def cpu_comparisons(size: int) -> int:
    """Return the comparisons for a sample: of the rows, and two for each pass along the columns."""
    return size - 1 + 2 * sum(3**done < size for done in range(size))


@CpuCode
def cpu_code(highest):
    """`cpu-minimum`, `cpu-maximum`: the extreme of each column along whole rows, then of neighbours.

    Idea
        For each row, the lowest (or highest) of the rows around it is kept for every column. Then each sample
        becomes the lowest of 3 neighbours, then of 9, and of as many as the window has. All loops compare
        samples of the picture's own type without a branch, so the compiler makes vectors of them: of 8 bit,
        32 or 64 at once. A window that the edge cuts has the lowest of what is left, since repeating a cell
        changes nothing.
    What it saves
        20 comparisons for a sample instead of 224, of 15 x 15.
    """

    @njit
    def best_of_3(one, other, third, out):
        for sample in range(len(out)):
            if highest:
                best = one[sample] if one[sample] > other[sample] else other[sample]
                out[sample] = best if best > third[sample] else third[sample]
            else:
                best = one[sample] if one[sample] < other[sample] else other[sample]
                out[sample] = best if best < third[sample] else third[sample]

    @njit
    def last_nan(image, first, last, known):
        """Return the last row before `last` that has NaN; those before `first` are known."""
        for row in range(first, last):
            count = 0
            for sample in range(image.shape[1]):
                count += image[row, sample] != image[row, sample]
            known = row if count > 0 else known
        return known

    @njit
    def write_row(image, out, row, channels, half, lines):
        """Write a row of results; each of both `lines` has room for the row with its ends repeated."""
        height, samples = image.shape
        edge, size = half * channels, 2 * half + 1
        top, end = max(row - half, 0), min(row + half, height - 1)
        line, other, inside = lines[0], lines[1], slice(edge, edge + samples)
        # No pass writes where it reads: only so the compiler makes vectors of it. A row may come twice.
        best_of_3(image[top], image[min(top + 1, end)], image[end], line[inside])
        for source in range(top + 2, end, 2):
            best_of_3(image[source], image[min(source + 1, end)], line[inside], other[inside])
            line, other = other, line
        for step in range(edge):
            line[step] = line[edge + step % channels]
            line[edge + samples + step] = line[edge + samples - channels + step % channels]
        # Of 1 cell, of 3, of 9 to the right, and the rest: 3 passes for 15 cells.
        reach, count = 1, samples + 2 * edge
        while 3 * reach < size:
            step = reach * channels
            count -= 2 * step
            best_of_3(
                line[:count], line[step : step + count], line[2 * step : 2 * step + count], other[:count]
            )
            line, other = other, line
            reach *= 3
        far, near = (size - reach) * channels, (size - reach + 1) // 2 * channels
        best_of_3(line[:samples], line[near : near + samples], line[far : far + samples], out[row])

    def extremes(image, out, top, bottom, worker, channels, half, lines, is_float):
        seen, strange = 0, -1
        for row in range(top, bottom):
            write_row(image, out, row, channels, half, lines[worker])
            if is_float:
                above, below = max(row - half, 0), min(row + half + 1, len(image))
                strange, seen = last_nan(image, max(seen, above), below, strange), below
                if strange >= above:
                    put_nan(image, row, half, channels, out)

    return extremes


def _bands(problem: OperationProblem, *, highest: bool) -> Any:
    """Return the lowest, or the highest, with two lines for each worker."""
    size, channels = problem.whole("size"), problem.channels
    length = (problem.width + size - 1) * channels
    return cpu_code.bands(
        problem,
        # In the samples' own type: of 8 bit a vector has four times as many as of float32.
        max(1, size * problem.width * channels * problem.itemsize // 64),
        lambda workers: (
            channels,
            size // 2,
            np.zeros((workers, 2, length), problem.dtype),
            problem.is_float,
        ),
        (highest,),
    )


@kernel_factory
def extreme_kernel(size: int, highest: bool):
    """`cuda-minimum`, `cuda-maximum`: a thread per sample compares all cells of its window.

    Who loads what
        Each thread loads size squared cells; neighbours ask for nearly the same, which the caches serve.
    Limit
        Loads: no thread uses what its neighbour has found.
    """
    rule = cuda_rule(Border.REPLICATE)
    SIZE, HALF, HIGHEST = size, size // 2, highest

    @cuda.jit
    def extreme(image, source, width, out):
        column, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        height = image.shape[0]
        if row >= height or column >= width:
            return
        found = float32(source[row, column, channel])
        for m in range(SIZE):
            at_row = rule(row + m - HALF, height)
            for n in range(SIZE):
                cell = float32(source[at_row, rule(column + n - HALF, width), channel])
                # NaN is kept: nothing is lower or higher than it.
                if cell != cell or (cell > found if HIGHEST else cell < found):
                    found = cell
        out[row, column, channel] = found

    return extreme


def _extreme(key: str, word: str, title: str, teaches: str, of_window: Callable[..., Floats]) -> Operation:
    highest = key == "maximum"

    def extreme(cells: Floats, problem: OperationProblem) -> Floats:
        # NumPy's minimum and maximum of NaN and a number are NaN.
        return of_window(cells, axis=(3, 4))

    cpu = cpu_code.variant(
        lambda problem, patch: _bands(problem, highest=highest),
        key=f"cpu-{key}",
        idea=f"The {word} of each column along whole rows, then of neighbours, in vectors, on all cores.",
        # Each sample is loaded once for each row of the window, the rest is in a cache.
        work=lambda problem, block: contract.operation_work(
            problem,
            picture_loads=problem.whole("size") * problem.samples,
            flops=cpu_comparisons(problem.whole("size")) * problem.samples,
        ),
    )
    cuda_one = cuda_variant(
        OperationLaunch(
            lambda problem, block: extreme_kernel(problem.whole("size"), highest),
            arguments=lambda problem, patch: (Operand.IMAGE, problem.width),
        ),
        # The sample itself, its window, and a comparison for each cell.
        work=lambda problem, block: contract.operation_work(
            problem,
            picture_loads=problem.samples * (1 + problem.whole("size") ** 2),
            flops=problem.samples * problem.whole("size") ** 2,
        ),
        key=f"cuda-{key}",
        idea="A thread per sample compares the cells of its window one after another.",
    )
    return Operation(
        key=key,
        title=title,
        teaches=teaches,
        window=contract.half_size,
        parameters=(SIZE,),
        of_cells=contract.OfCells(contract.rising(extreme), scales=True, exact=True),
        cost=60,
        proof=f"The {key} is one of the samples: it must be equal.",
        variants=(cpu, cuda_one),
    )


MINIMUM = _extreme(
    "minimum",
    "lowest",
    "Minimum (erode)",
    "The lowest of a square neighbourhood: bright spots vanish and dark areas grow. The lowest of each "
    "column serves all windows that cross it.",
    np.min,
)
MAXIMUM = _extreme(
    "maximum",
    "highest",
    "Maximum (dilate)",
    "The highest of a square neighbourhood: dark spots vanish and bright areas grow.",
    np.max,
)


def ranges(cells: Range, problem: OperationProblem) -> Range:
    """Return opened, closed ... values; a difference is rounded once."""
    size, kind = problem.whole("size"), problem.parameters["kind"]
    middle = cells.value.shape[-1] // 2

    lowest, highest = partial(np.min, axis=(-1, -2)), partial(np.max, axis=(-1, -2))
    # Of windows whose middle lies outside the picture there is no first value that the second could take.
    own = slice(size // 2, size // 2 + size)
    inside = cast(np.ndarray, cells.inside)[..., own, own]

    def at(part: Floats) -> Floats:
        return part[..., middle, middle]

    def of_windows(part: Floats, along_axis: Callable[..., Floats]) -> Floats:
        along = along_axis(sliding_window_view(part, size, axis=-1), axis=-1)
        return along_axis(sliding_window_view(along, size, axis=-2), axis=-1)

    def opened(part: Floats) -> Floats:
        return highest(np.where(inside, of_windows(part, np.min), -np.inf))

    def closed(part: Floats) -> Floats:
        return lowest(np.where(inside, of_windows(part, np.max), np.inf))

    def difference(more: Callable[[Floats], Floats], less: Callable[[Floats], Floats]) -> Range:
        a, b = cells.each(more), cells.each(less)
        low, high = a.low - b.high, a.high - b.low
        # Neither is ever below the other, whatever the cells; whole numbers of 8 and 16 bit round nothing.
        roundings = 2.0 if problem.is_float else 0.0
        return contract.rounded(a.value - b.value, np.maximum(low, np.minimum(high, 0.0)), high, roundings)

    if kind == "gradient":
        return difference(highest, lowest)
    if kind == "top-hat":
        return difference(at, opened)
    if kind == "black-hat":
        return difference(closed, at)
    return cells.each(opened if kind == "open" else closed)


@CpuCode
def difference_code():
    """Make `out` the picture less itself, or itself less the picture: neither is below 0."""

    def difference(image, out, top, bottom, worker, is_less):
        for row in range(top, bottom):
            for sample in range(image.shape[1]):
                picture, other = np.float32(image[row, sample]), np.float32(out[row, sample])
                out[row, sample] = other - picture if is_less else picture - other

    return difference


class CpuMorphology:
    """`cpu-morphology`: lowest and highest in turns (`cpu-minimum`), and a difference where the kind has one.

    Limit
        A whole picture lies between the two, and the difference reads it once more: memory.
    """

    def __init__(self, problem: OperationProblem) -> None:
        self._kind = problem.parameters["kind"]
        begins_high = self._kind in ("close", "black-hat")
        self._first = _bands(problem, highest=begins_high)
        self._second = _bands(problem, highest=not begins_high)
        steps, is_less = problem.width * problem.channels, self._kind != "top-hat"
        self._difference = difference_code.bands(problem, steps, (is_less,))

    def launch(self, image: np.ndarray, out: np.ndarray, stream: object = None) -> None:
        """Compute on all cores."""
        between = reused_array(image.shape, image.dtype)
        self._first.launch(image, between)
        self._second.launch(image if self._kind == "gradient" else between, out)
        if self._kind == "gradient":
            self._difference.launch(between, out)
        elif self._kind in ("top-hat", "black-hat"):
            self._difference.launch(image, out)


def cpu_morphology_work(problem: OperationProblem, block: Block) -> Work:
    """Return the work: two passes as of `cpu-minimum`, with a picture between, and a difference."""
    size, samples = problem.whole("size"), problem.samples
    has_difference = problem.parameters["kind"] not in ("open", "close")
    return contract.operation_work(
        problem,
        picture_loads=(2 * size + has_difference) * samples,
        result_loads=has_difference * samples,
        stores=(2 + has_difference) * samples,
        flops=(2 * cpu_comparisons(size) + has_difference) * samples,
    )


CPU_MORPHOLOGY = difference_code.variant(
    lambda problem, patch: CpuMorphology(problem),
    key="cpu-morphology",
    idea="Lowest, then highest of whole rows and columns in vectors, on all cores, and their difference.",
    work=cpu_morphology_work,
)


def _memory(name: str, problem: OperationProblem, unnamed: Operand = Operand.IMAGE) -> Between | Operand:
    return Between(name, problem.result_shape, problem.dtype) if name else unnamed


def _pass(highest: bool, source: str, target: str) -> OperationLaunch:
    """Return the step from one picture to another; empty names stand for the picture and the result."""
    return OperationLaunch(
        lambda problem, block: extreme_kernel(problem.whole("size"), highest),
        arguments=lambda problem, patch: (_memory(source, problem), problem.width),
        target=lambda problem: _memory(target, problem, Operand.OUT),
    )


@kernel_factory
def difference_kernel():
    """`cuda-morphology`: two launches of `cuda-minimum`'s kernel, and one for the difference.

    Who loads what
        Each of the two passes loads size squared cells for a sample, the second those that the first has
        written.
    Limit
        Loads, and a whole picture between the launches: a block cannot wait for its neighbours within one.
    """

    @cuda.jit
    def difference(image, more, less, width, out):
        column, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        if row >= image.shape[0] or column >= width:
            return
        out[row, column, channel] = float32(more[row, column, channel]) - float32(less[row, column, channel])

    return difference


def _difference(more: str, less: str) -> OperationLaunch:
    return OperationLaunch(
        lambda problem, block: difference_kernel(),
        arguments=lambda problem, patch: (_memory(more, problem), _memory(less, problem), problem.width),
    )


MORPHOLOGY_STEPS = {
    "open": (_pass(False, "", "first"), _pass(True, "first", "")),
    "close": (_pass(True, "", "first"), _pass(False, "first", "")),
    "gradient": (_pass(False, "", "first"), _pass(True, "", "second"), _difference("second", "first")),
    "top-hat": (_pass(False, "", "first"), _pass(True, "first", "second"), _difference("", "second")),
    "black-hat": (_pass(True, "", "first"), _pass(False, "first", "second"), _difference("second", "")),
}


def cuda_morphology_work(problem: OperationProblem, block: Block) -> Work:
    """Return the work: two passes as of `cuda-minimum`, with a picture between, and a difference."""
    kind, samples = problem.parameters["kind"], problem.samples
    cells = samples * (1 + problem.whole("size") ** 2)
    has_difference, has_hat = kind not in ("open", "close"), kind in ("top-hat", "black-hat")
    of_picture = 2 * cells if kind == "gradient" else cells + has_hat * samples
    return contract.operation_work(
        problem,
        picture_loads=of_picture,
        # Of pictures between the launches, which have its type.
        result_loads=2 * cells + 2 * has_difference * samples - of_picture,
        stores=(2 + has_difference) * samples,
        flops=2 * (cells - samples) + has_difference * samples,
    )


CUDA_MORPHOLOGY = cuda_variant(
    then=lambda problem: MORPHOLOGY_STEPS[str(problem.parameters["kind"])],
    work=cuda_morphology_work,
    key="cuda-morphology",
    idea="Minimum and maximum one after the other, a thread per sample, and a launch for the difference.",
)

MORPHOLOGY = Operation(
    key="morphology",
    title="Morphology",
    teaches="Opening removes bright spots that are smaller than the square, closing dark ones, and the top "
    "hat is what opening takes away: minima and maxima in turns, with a whole picture between them.",
    # Cells count twice the half side away, where one minimum follows the other.
    window=lambda parameters: contract.half_size(parameters) * (1 if parameters["kind"] == "gradient" else 2),
    parameters=(KIND, SIZE),
    of_cells=contract.OfCells(ranges, scales=True, exact=True),
    cost=200,
    proof="Minima and maxima are samples and must be equal; a difference of float32 is rounded once.",
    variants=(CPU_MORPHOLOGY, CUDA_MORPHOLOGY),
)
