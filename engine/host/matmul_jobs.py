"""What the host does for products of matrices. Called in the host process: counting on the thread that reads the pipe."""

from engine.host.matmul_requests import CountMatmul, RunMatmul
from engine.host.protocol import Progress, Report
from engine.results.measurement import ProductResult
from engine.run.plan import SamplingPlan
from engine.run.sampling import Step

# Random numbers for two matrices of 8192 x 8192, the largest that the window makes, take 1 s.
EXPECTED_MATRICES_S = 2.0


def count_matmul(request: CountMatmul, report: Report) -> tuple[ProductResult, ...]:
    """Return what can be counted of every cell, and why those that cannot run cannot."""
    # The host is up before anybody asks for matrices.
    from engine.run.product_cells import cells_of, counted_cell
    from engine.variants.matmul.registry import MATMUL_VARIANTS

    cells = cells_of([request.product], MATMUL_VARIANTS, request.tiles)
    return tuple(counted_cell(cell, request.device) for cell in cells)


def run_matmul(request: RunMatmul, report: Report) -> ProductResult:
    """Multiply once in one way, verified and timed; a request that was stopped ends between launches and samples."""
    from engine.device.devices import backend
    from engine.run.measure_product import device_for, measure
    from engine.tasks.product.operands import random_matrices, refuse_too_large
    from engine.variants.matmul.registry import matmul_variant

    variant = matmul_variant(request.variant)
    device = device_for(variant, request.device)
    refuse_too_large(request.product)
    report(Progress("making the matrices", 0.0, EXPECTED_MATRICES_S))
    a, b = random_matrices(request.product, request.seed)

    def checkpoint(step: Step) -> None:
        report(Progress(step.stage, step.fraction, step.expected_s))

    return measure(
        variant,
        variant.default_tile if request.tile is None else request.tile,
        a,
        b,
        backend(device.key),
        SamplingPlan(budget_s=request.budget_s),
        checkpoint=checkpoint,
        seed=request.seed,
    ).result
