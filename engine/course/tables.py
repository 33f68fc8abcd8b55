"""All tables of a paper with what can be counted, and our code beside them; the jobs behind their runs.

Lines of code are found in the sources by the texts that they have, so that no number has to be kept.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache, lru_cache, partial

import numpy as np

from engine.course import cnn, convolution_lecture, convolution_papers, papers, performance_lecture, runs
from engine.course.paper import Cell, CodePlace, CourseKernel, CourseTable, Excerpt, TableText
from engine.device.backend import Backend, Buffers
from engine.device.launches import Operand, Pass
from engine.device.numba_cuda import cuda, float32
from engine.explain.code_lines import SourceFunction
from engine.explain.counting import counted_run
from engine.explain.examples import example_of, variant_named
from engine.explain.kernel_code import function_source, source_of
from engine.geometry.block import Block, Limits, Refusal
from engine.geometry.border import Border
from engine.mask.generators import gaussian
from engine.mask.mask import Mask
from engine.results.problem import Checkpoint
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


# Verified and timed like a kernel, for the effective bandwidth; no filter, and not in the registry. Source:
# COSC 407, "Measuring Performance: Bandwidth (BW)".
COPY = Variant(
    key=runs.COPY_KEY,
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


def variant_of(run: runs.JobRun) -> AnyVariant:
    """Return the variant of a run; UnknownName where there is none of that key."""
    match run:
        case runs.BankRun():
            return variant("implicit-gemm")
        case runs.ProductRun():
            return matmul_variant(run.variant)
        case runs.StageRun():
            return network_variant(run.stage)
    return COPY if run.variant == runs.COPY_KEY else variant(run.variant)


def job_of(run: runs.JobRun, picture: Callable[[int], np.ndarray]) -> AnyJob:
    """Return the job of a run; `picture` gives that of a side, (side, side, 1)."""
    match run:
        case runs.BankRun():
            bank = tuple(gaussian(run.mask_side, sigma=1.0 + number) for number in range(run.masks))
            samples = picture(run.side)
            problem = describe_problem(samples, bank[0], Border.ZERO, 0.0)
            return bank_job(bank, problem, samples)
        case runs.ProductRun():
            a, b = random_matrices(MatrixProduct(run.side, run.side, run.side), SEED)
            return product_job(matmul_variant(run.variant), run.tile, a, b)
        case runs.StageRun():
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
            verified = verify(parts[number], samples, mask, job.problem, seed=job.seed, affordable=affordable)
            if not verified.passed:
                break
        return verified


def bank_job(bank: tuple[Mask, ...], problem: Problem, samples: np.ndarray) -> MaskJob:
    """Return the job of applying all masks, of one shape and anchor, to one picture in one launch.

    `problem` is that of one of the masks; `samples`, (H, W, C), have its dtype.
    """
    chosen = for_bank(bank)
    return Job(BankFiltering(bank), chosen, chosen.default_block, problem, samples, bank[0])


_HEADING = "In our code"


def with_excerpts(table: CourseTable, text: TableText) -> CourseTable:
    """Return a table of words with a last column: where our code does what each row is about."""
    names = [row[0].printed for row in table.rows]
    excerpts = tuple(tuple(_excerpt(name, place) for place in text.code.get(name, ())) for name in names)
    cells = (Cell("", "; ".join(f"`{one.code}`: {one.where}" for one in of_row)) for of_row in excerpts)
    rows = tuple((*row, cell) for row, cell in zip(table.rows, cells, strict=True))
    return replace(table, headings=(*table.headings, _HEADING), rows=rows, excerpts=excerpts)


def kernels_of(kernel: CourseKernel) -> tuple[Excerpt, ...]:
    """Return our kernels behind a paper's."""
    return tuple(Excerpt(kernel.name, *one) for one in _kernels(kernel.variant))


def _kernels(key: str) -> list[tuple[str, SourceFunction]]:
    """Return the kernels of a variant by its key, with the name of each where it has several."""
    kernels = source_of(example_of(variant_named(key))).kernels
    return [(f"{key}: {one.name}" if len(kernels) > 1 else key, one) for one in kernels]


@cache
def _excerpt(about: str, place: CodePlace) -> Excerpt:
    """Return the function of a place with its lit lines: of a variant the first kernel with all its texts."""
    module, _, name = place.code.partition(":")
    if name:
        function = function_source(module, name)
        code = function.name
    else:
        kernels = _kernels(place.code)
        has_all = (one for one in kernels if all(text in one[1].text for text in place.lit))
        code, function = next(has_all, kernels[0])
    lit = tuple(at for at, line in enumerate(function.lines) if any(text in line for text in place.lit))
    return Excerpt(about, code, function, lit)


# What a warp asks for does not depend on how many rows a matrix has, nor on how many drawings there are.
MOST_SIDE, MOST_DRAWINGS = 256, 4


def transactions_per_request(run: runs.JobRun, checkpoint: Checkpoint = lambda step: None) -> runs.Amount:
    """Return the 128-byte transactions of a request to global memory, or why they are not counted.

    The checkpoint is called while they are counted, and may raise to stop.
    """
    match run:
        case runs.ProductRun():
            run = replace(run, side=min(run.side, MOST_SIDE))
        case runs.StageRun():
            run = replace(run, batch=min(run.batch, MOST_DRAWINGS))
    # Accesses do not depend on samples: one stands for all.
    job = job_of(run, lambda side: np.broadcast_to(np.float32(0.0), (side, side, 1)))
    counted = counted_run(job, checkpoint)
    if counted.not_counted is not None:
        return runs.Amount(reason=counted.not_counted.short)
    return runs.Amount(counted.transactions_per_request)


# What is measured for a paper is what its tables ask for, in that order: a size's runs one after another.
_TABLES: dict[str, Callable[[runs.Results, runs.Sizes], runs.Tables]] = {
    "report": convolution_papers.report_tables,
    "cnn": cnn.tables,
    "lab": convolution_papers.lab_tables,
    "convolution": convolution_lecture.tables,
    "performance": performance_lecture.tables,
}


def tables_of(paper_key: str, results: runs.Results, sizes: runs.Sizes = None) -> tuple[CourseTable, ...]:
    """Return a paper's tables as far as there are results, with our code where a table names some."""
    chosen, tables = papers.paper(paper_key), []
    for text, content in zip(papers.TABLE_TEXTS[chosen], _TABLES[chosen.key](results, sizes), strict=True):
        table = runs.course_table(text, content)
        tables.append(with_excerpts(table, text) if text.code else table)
    return tuple(tables)


def counted_tables(paper_key: str, checkpoint: Checkpoint | None = None) -> tuple[CourseTable, ...]:
    """Return a paper's tables with the printed values and those of the models of work; raises UnknownName.

    With a checkpoint the transactions of the kernels are counted too, which takes up to 3 s.
    """
    results = runs.Results({})
    if checkpoint is not None:
        results = runs.Results({}, partial(transactions_per_request, checkpoint=checkpoint))
    return tables_of(paper_key, results)


def describe(request: papers.CourseRequest, report: Checkpoint) -> tuple[CourseTable, ...]:
    """Return a paper's tables; a cancelled request ends between two steps of counting transactions.

    Called on: the thread that reads the pipe; where transactions are counted, the host's main thread.
    """
    return counted_tables(request.paper, report if isinstance(request, papers.CountCourse) else None)


def course_code(request: papers.CourseCode, report: Checkpoint) -> tuple[tuple[Excerpt, ...], ...]:
    """Return the code of a paper's kernels."""
    return tuple(map(kernels_of, papers.paper(request.paper).kernels))
