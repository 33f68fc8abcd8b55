"""Threshold: white where a sample is above a level, black elsewhere."""

from typing import TYPE_CHECKING

import numpy as np

from engine.device.kernel_factory import kernel_factory
from engine.geometry.block import Block
from engine.results.problem import Work
from engine.variants.operations.kernels import CpuCode, Step, cuda_variant
from engine.work.operations import contract
from engine.work.problem import OperationProblem

if TYPE_CHECKING:  # imported by `kernel_factory`
    from engine.device.numba_cuda import cuda, float32


def level_of(problem: OperationProblem) -> np.float32:
    """Return the level in the scale of the samples, float32, as the kernels get it."""
    return np.float32(float(problem.parameters["level"]) * problem.full_scale)


def _above(cells: contract.Floats, problem: OperationProblem) -> contract.Floats:
    """Return white or black; NaN is above no level."""
    white: contract.Floats = np.where(cells[..., 0, 0] > float(level_of(problem)), problem.full_scale, 0.0)
    return white


def work(problem: OperationProblem, block: Block) -> Work:
    """Return the work: a load, a comparison and a store for each sample."""
    return contract.operation_work(problem, picture_loads=problem.samples, flops=problem.samples)


@CpuCode
def cpu_code():
    """`cpu-threshold`: each sample compared with the level, on all cores; NaN is above none.

    Limit
        Memory: each sample is read once and written once.
    """

    def threshold(image, out, top, bottom, worker, level, white):
        for row in range(top, bottom):
            for sample in range(image.shape[1]):
                out[row, sample] = white if np.float32(image[row, sample]) > level else np.float32(0.0)

    return threshold


CPU = cpu_code.variant(
    lambda problem, patch: cpu_code.bands(
        problem, problem.width * problem.channels, (level_of(problem), np.float32(problem.full_scale))
    ),
    key="cpu-threshold",
    idea="Each sample compared with the level, in vectors, on all cores.",
    work=work,
)


@kernel_factory
def kernel(dtype: str):
    """`cuda-threshold`: a thread per sample.

    Idea
        Thread (row, column) of layer `channel` writes white or black: a selection, no branch.
    Who loads what
        As `cuda-negative`: one load and one store for each thread.
    Limit
        Memory.
    """
    white = np.float32(1.0) if dtype == "float32" else np.float32(np.iinfo(dtype).max)

    @cuda.jit
    def threshold(image, width, level, out):
        column, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        if row >= image.shape[0] or column >= width:
            return
        above = float32(image[row, column, channel]) > level
        out[row, column, channel] = white if above else float32(0.0)

    return threshold


CUDA = cuda_variant(
    Step(
        lambda problem, block: kernel(problem.dtype),
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
    variants=(CPU, CUDA),
)
