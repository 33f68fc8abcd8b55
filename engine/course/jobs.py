"""The jobs behind the runs of a paper: filters, banks of masks, products and stages of the network.

A copy of the picture is a variant too, so that the effective bandwidth is verified and timed like a kernel.
It is no filter and not in the registry. Source: COSC 407, "Measuring Performance: Bandwidth (BW)".
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from engine.course.runs import COPY_KEY, BankRun, JobRun, NetworkRun, ProductRun
from engine.device.devices import Backend, Buffers
from engine.device.launches import Operand, Pass
from engine.device.numba_cuda import cuda, float32
from engine.geometry.block import Block, Limits, Refusal
from engine.geometry.border import Border
from engine.mask.generators import gaussian
from engine.mask.mask import Mask
from engine.run.task import AnyJob, Job
from engine.run.variant import AnyVariant
from engine.tasks.network.stages import stage_job
from engine.tasks.network.task import network_variant
from engine.tasks.product.problem import MatrixProduct, matmul_variant
from engine.tasks.product.task import product_job, random_matrices
from engine.variants.ladder.implicit_gemm import for_bank
from engine.variants.passes import by_passes, filter_pass, one_launch, refuse_launch
from engine.verify.closeness import Verification
from engine.work.filter_task import Filtering, MaskJob, describe_problem
from engine.work.filtering.oracle import AFFORDABLE_MULTIPLY_ADDS, verify
from engine.work.filtering.variants import Variant, filter_work, variant
from engine.work.problem import Problem
from engine.work.resolve import Resolved


def _unsupported(problem: Problem, mask: Mask, block: Block, limits: Limits) -> Refusal | None:
    if mask.shape != (1, 1) or mask.weights[0, 0] != 1 or mask.offset:
        return Refusal("mask-not-1x1", "A copy has the mask of one cell of weight 1")
    return refuse_launch(problem, mask, block, limits)


@lru_cache
def _kernel():
    @cuda.jit
    def copy_cells(image, width, out):
        column, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        if row < image.shape[0] and column < width:
            out[row, column, channel] = float32(image[row, column, channel])

    return copy_cells


def _passes(problem: Problem, mask: Mask, block: Block) -> tuple[Pass, ...]:
    (launch,) = one_launch(problem, block)
    return (filter_pass(_kernel(), problem, launch, (Operand.IMAGE, problem.width, Operand.OUT)),)


COPY = Variant(
    key=COPY_KEY,
    title="Matrix copy",
    idea="Each thread reads one cell and writes it.",
    default_block=Block(32, 8),
    plan=one_launch,
    # Each cell is read once and written once.
    work=lambda problem, block: filter_work(problem, picture_loads=problem.samples, multiply_adds=0),
    unsupported=_unsupported,
    **by_passes(_passes),
)
SEED = 0


def variant_of(run: JobRun) -> AnyVariant:
    """Return the variant of a run; UnknownName where there is none of that key."""
    match run:
        case BankRun():
            return variant("implicit-gemm")
        case ProductRun():
            return matmul_variant(run.variant)
        case NetworkRun():
            return network_variant(run.stage)
    return COPY if run.variant == COPY_KEY else variant(run.variant)


def job_of(run: JobRun, picture: Callable[[int], np.ndarray]) -> AnyJob:
    """Return the job of a run; `picture` gives that of a side, (side, side, 1)."""
    match run:
        case BankRun():
            bank = tuple(gaussian(run.mask_side, sigma=1.0 + number) for number in range(run.masks))
            samples = picture(run.side)
            problem = describe_problem(samples, bank[0], Border.ZERO, 0.0)
            return bank_job(bank, problem, samples)
        case ProductRun():
            a, b = random_matrices(MatrixProduct(run.side, run.side, run.side), SEED)
            return product_job(matmul_variant(run.variant), run.tile, a, b)
        case NetworkRun():
            return stage_job(network_variant(run.stage), run.batch)
    return Resolved(run, picture(run.side)).job_by(variant_of(run))


class BankFiltering(Filtering):
    """Filtering with a variant that writes the results of a bank's masks one below the other."""

    def __init__(self, bank: tuple[Mask, ...]) -> None:
        self._bank = bank

    def allocate(self, backend: Backend, job: MaskJob, host_out: np.ndarray | None = None) -> Buffers:
        """Return buffers for the picture and all results."""
        height, width, channels = job.operands.shape
        out = np.empty((len(self._bank) * height, width, channels), np.float32)
        return backend.allocate(job.operands, out, job.layout)

    def verify(self, values: np.ndarray, job: MaskJob, checkpoint: Callable[[float], None]) -> Verification:
        """Compare every result with the oracle; return the first wrong one's verification, or the last."""
        bank, samples = self._bank, job.operands
        affordable = AFFORDABLE_MULTIPLY_ADDS // len(bank)
        parts = values.reshape(len(bank), *samples.shape)
        for number, mask in enumerate(bank):
            checkpoint(number / len(bank))
            found = verify(parts[number], samples, mask, job.problem, seed=job.seed, affordable=affordable)
            if not found.passed:
                break
        return found


def bank_job(bank: tuple[Mask, ...], problem: Problem, samples: np.ndarray) -> MaskJob:
    """Return the job of applying all masks, of one shape and anchor, to one picture in one launch.

    `problem` is that of one of the masks; `samples`, (H, W, C), have its dtype.
    """
    chosen = for_bank(bank)
    return Job(BankFiltering(bank), chosen, chosen.default_block, problem, samples, bank[0])
