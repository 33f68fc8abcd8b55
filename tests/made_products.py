"""Products of matrices as the engine would count and measure them, for the tests of the page Matrices."""

from dataclasses import replace

from engine.device_info import Environment
from engine.geometry.block import Block
from engine.results.measurement import ProductResult, Spread, Timing
from engine.tasks.product.problem import MatrixProduct
from engine.tasks.work import Work
from engine.verify.verification import Verification

NO_CUDA = "variant 'matmul-tiled' needs a CUDA device: No NVIDIA driver. Choose numpy, or the simulator."
BANDWIDTH_GB_S = 4000.0


def made_rows(
    product: MatrixProduct, tiles: tuple[int, ...], device: str = "auto", *, cuda: bool = False
) -> tuple[ProductResult, ...]:
    """Return what can be counted; without CUDA the kernels cannot run but in the simulator."""
    can_run = cuda or device == "simulator"
    rows = [
        _row(product, variant, tile, "" if can_run else NO_CUDA, BANDWIDTH_GB_S if cuda else None, device)
        for variant in ("matmul-naive", "matmul-tiled")
        for tile in tiles
    ]
    return (*rows, ProductResult("numpy", "numpy (BLAS)", "cpu", product, None, Environment("CPU, 2 cores")))


def made_product(row: ProductResult, kernel_ms: float = 2.0) -> ProductResult:
    """Return a row as it is when it has run: verified, and timed but in the simulator."""
    elements = row.problem.values
    timing = Timing(Spread(tuple(kernel_ms * f for f in (0.9, 1.0, 1.2))), Spread((kernel_ms,)), 80.0, 0.1)
    proof = Verification(True, 1.2e-6, 3e-5, elements, elements, exact=False)
    return replace(row, verification=proof, timing=None if row.device == "simulator" else timing)


def _row(
    product: MatrixProduct,
    variant: str,
    tile: int,
    failure: str,
    bandwidth_gb_s: float | None,
    device: str,
) -> ProductResult:
    loads = product.flops // (tile if variant == "matmul-tiled" else 1)
    return ProductResult(
        variant=variant,
        title=variant.capitalize(),
        device="cuda:0" if device == "auto" else device,
        problem=product,
        block=Block(tile, tile),
        environment=Environment("NVIDIA H200", bandwidth_gb_s=bandwidth_gb_s),
        failure=failure,
        work=Work(product.flops, loads, product.values, 4 * loads, 4 * product.values, product.bytes),
    )
