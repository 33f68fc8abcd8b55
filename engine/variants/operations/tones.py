"""Operations on each sample by itself: the negative, its distance from white, and the threshold."""

import numpy as np

from engine.device.kernel_factory import kernel_factory
from engine.device.kernel_names import cuda, float32
from engine.geometry.block import Block
from engine.results.problem import Work
from engine.variants.operations.kernels import CpuCode, OperationLaunch, cuda_variant
from engine.work.operations import contract
from engine.work.problem import OperationProblem


def work(problem: OperationProblem, block: Block) -> Work:
    """Return the work: a load, a subtraction or a comparison, and a store for each sample."""
    return contract.operation_work(problem, picture_loads=problem.samples, flops=problem.samples)


def white_of(dtype: str) -> object:
    """Return white in the type of the difference."""
    return np.float32(1.0) if dtype == "float32" else int(np.iinfo(dtype).max)


def _white_less(cells: contract.Range, problem: OperationProblem) -> contract.Range:
    """Return white less the sample: one rounding for float32; whole numbers are exact."""
    value, high, low, _ = cells.each(lambda part: problem.full_scale - part[..., 0, 0])
    return contract.rounded(value, low, high, 2.0) if problem.is_float else contract.Range(value, low, high)


@CpuCode
def negative_code():
    """`cpu-negative`: white less each sample, on all cores; the compiler makes vectors of the loop.

    Limit
        Memory: each sample is read once and written once.
    """

    def negative(image, out, top, bottom, worker, white):
        for row in range(top, bottom):
            for sample in range(image.shape[1]):
                out[row, sample] = white - image[row, sample]

    return negative


CPU_NEGATIVE = negative_code.variant(
    lambda problem, patch: negative_code.bands(
        problem, problem.width * problem.channels, (white_of(problem.dtype),)
    ),
    key="cpu-negative",
    idea="White less each sample, in vectors, on all cores.",
    work=work,
)


@kernel_factory
def negative_kernel(dtype: str):
    """`cuda-negative`: a thread per sample.

    Idea
        Thread (row, column) of layer `channel` writes white less its sample.
    Who loads what
        Each thread loads one sample and stores one. In a picture of one channel the threads of a warp read
        neighbours; of three channels every third sample, so that three layers ask for each cache line.
    Limit
        One operation for two accesses: only memory counts.

    Source: COSC 407, "CUDA Memories and Performance Revisited", pixel-based operations.
    """
    white = white_of(dtype)

    @cuda.jit
    def negate(image, width, out):
        column, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        if row >= image.shape[0] or column >= width:
            return
        out[row, column, channel] = white - image[row, column, channel]

    return negate


CUDA_NEGATIVE = cuda_variant(
    OperationLaunch(lambda problem, block: negative_kernel(problem.dtype)),
    work=work,
    key="cuda-negative",
    idea="One thread per sample: a load, a subtraction, a store.",
)

NEGATIVE = contract.Operation(
    key="negative",
    title="Negative",
    teaches="White less the sample: the simplest thing that a thread per sample can do, and limited by "
    "memory alone.",
    window=contract.pixel_alone,
    of_cells=contract.OfCells(_white_less),
    proof="8 and 16 bit: equal; float32: one rounding.",
    variants=(CPU_NEGATIVE, CUDA_NEGATIVE),
)


def level_of(problem: OperationProblem) -> np.float32:
    """Return the level in the scale of the samples, float32, as the kernels get it."""
    return np.float32(float(problem.parameters["level"]) * problem.full_scale)


def _above(cells: contract.Floats, problem: OperationProblem) -> contract.Floats:
    """Return white or black; NaN is above no level."""
    white: contract.Floats = np.where(cells[..., 0, 0] > float(level_of(problem)), problem.full_scale, 0.0)
    return white


@CpuCode
def threshold_code():
    """`cpu-threshold`: each sample compared with the level, on all cores; NaN is above none.

    Limit
        Memory: each sample is read once and written once.
    """

    def threshold(image, out, top, bottom, worker, level, white):
        for row in range(top, bottom):
            for sample in range(image.shape[1]):
                out[row, sample] = white if np.float32(image[row, sample]) > level else np.float32(0.0)

    return threshold


CPU_THRESHOLD = threshold_code.variant(
    lambda problem, patch: threshold_code.bands(
        problem, problem.width * problem.channels, (level_of(problem), np.float32(problem.full_scale))
    ),
    key="cpu-threshold",
    idea="Each sample compared with the level, in vectors, on all cores.",
    work=work,
)


@kernel_factory
def threshold_kernel(dtype: str):
    """`cuda-threshold`: a thread per sample.

    Idea
        Thread (row, column) of layer `channel` writes white or black: a selection, no branch.
    Who loads what
        As `cuda-negative`: one load and one store for each thread.
    Limit
        Memory.
    """
    white = np.float32(1.0 if dtype == "float32" else np.iinfo(dtype).max)

    @cuda.jit
    def threshold(image, width, level, out):
        column, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        if row >= image.shape[0] or column >= width:
            return
        above = float32(image[row, column, channel]) > level
        out[row, column, channel] = white if above else float32(0.0)

    return threshold


CUDA_THRESHOLD = cuda_variant(
    OperationLaunch(
        lambda problem, block: threshold_kernel(problem.dtype),
        arguments=lambda problem, patch: (problem.width, level_of(problem)),
    ),
    work=work,
    key="cuda-threshold",
    idea="One thread per sample: a load, a comparison, a store.",
)

PARAMETERS = (
    contract.Parameter("level", "Level",
              "From 0, black, to 1, white. A sample above it becomes white, all others black.",
              0.5, least=0.0, most=1.0),
)  # fmt: skip

THRESHOLD = contract.Operation(
    key="threshold",
    title="Threshold",
    teaches="A comparison for each sample and no branch: white above a level, black elsewhere.",
    window=contract.pixel_alone,
    parameters=PARAMETERS,
    of_cells=contract.OfCells(contract.rising(_above), jumps=True),
    proof="Black or white: equal.",
    variants=(CPU_THRESHOLD, CUDA_THRESHOLD),
)
