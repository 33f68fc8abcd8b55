"""Answers to requests for matrix products: the counts of each kernel, and a run of one."""

from engine.device.devices import backend
from engine.host.request import Run
from engine.results.problem import Checkpoint, Progress
from engine.run.measure import SamplingPlan, counted, measure
from engine.run.task import device_for
from engine.tasks.product import problem as matmul
from engine.tasks.product.task import product_job, product_jobs, random_matrices, refuse_too_large

# Random numbers for two matrices of 8192 x 8192, the window's largest, take 1 s.
EXPECTED_MATRICES_S = 2.0


def describe(request: matmul.ProductGrid, report: Checkpoint) -> tuple[matmul.ProductResult, ...]:
    """Return what can be counted for every variant and tile, and why those that cannot run cannot."""
    jobs = product_jobs([request.product], matmul.MATMUL_VARIANTS, request.tiles)
    return tuple(counted(job, request.device) for job in jobs)


def run(request: Run[matmul.ProductRequest], report: Checkpoint) -> matmul.ProductResult:
    """Multiply with one variant, verified and timed; a stopped request ends between launches and samples."""
    settings = request.job
    variant = matmul.matmul_variant(settings.variant)
    device = device_for(variant, settings.device)
    refuse_too_large(settings.product)
    report(Progress("making the matrices", 0.0, EXPECTED_MATRICES_S))
    a, b = random_matrices(settings.product, settings.seed)
    tile = variant.default_block.x if settings.tile is None else settings.tile
    job = product_job(variant, tile, a, b, seed=settings.seed)
    plan = SamplingPlan(budget_s=request.budget_s)
    return measure(job, backend(device.key), plan, checkpoint=report).result
