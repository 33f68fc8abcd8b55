"""What the host does for products of matrices. Called in the host process: counting on the thread that reads the pipe."""

from engine.host.matmul_requests import CountMatmul, RunMatmul
from engine.host.protocol import Progress, Report
from engine.results.measurement import ProductResult
from engine.run.sampling import SamplingPlan, Step

# Random numbers for two matrices of 8192 x 8192, the largest that the window makes, take 1 s.
EXPECTED_MATRICES_S = 2.0


def count_matmul(request: CountMatmul, report: Report) -> tuple[ProductResult, ...]:
    """Return what can be counted of every cell, and why those that cannot run cannot."""
    # The host is up before anybody asks for matrices.
    from engine.run.sweep import counted, product_jobs
    from engine.variants.registry import MATMUL_VARIANTS

    jobs = product_jobs([request.product], MATMUL_VARIANTS, request.tiles, unmade=True)
    return tuple(counted(job, request.device) for job in jobs)


def run_matmul(request: RunMatmul, report: Report) -> ProductResult:
    """Multiply once in one way, verified and timed; a request that was stopped ends between launches and samples."""
    from engine.device.devices import backend
    from engine.run.device_choice import device_for
    from engine.run.job import product_job
    from engine.run.measure import measure
    from engine.tasks.product.operands import random_matrices, refuse_too_large
    from engine.variants.registry import matmul_variant

    variant = matmul_variant(request.variant)
    device = device_for(variant, request.device)
    refuse_too_large(request.product)
    report(Progress("making the matrices", 0.0, EXPECTED_MATRICES_S))
    a, b = random_matrices(request.product, request.seed)

    def checkpoint(step: Step) -> None:
        report(Progress(step.stage, step.fraction, step.expected_s))

    tile = variant.default_block.x if request.tile is None else request.tile
    job = product_job(variant, tile, a, b, seed=request.seed)
    plan = SamplingPlan(budget_s=request.budget_s)
    return measure(job, backend(device.key), plan, checkpoint=checkpoint).result
