"""The task of multiplying matrices, for the pipeline, and its jobs."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from engine.device.backend import Backend, Buffers
from engine.device_info import INTERPRETED_PER_S, SIMULATOR, DeviceInfo
from engine.geometry.block import Block
from engine.run.registered import ways
from engine.run.task import Job, Task
from engine.tasks.product.operands import Matrices, Matrix, product_of, random_matrices
from engine.tasks.product.problem import MatrixProduct
from engine.tasks.product.variants import MATMUL_VARIANTS, MatmulVariant

if TYPE_CHECKING:
    from engine.verify.verification import Verification


class Product(Task[MatrixProduct, Matrices, MatmulVariant]):
    """P = M N."""

    problem = MatrixProduct
    variants = MATMUL_VARIANTS
    heading = "Matrix products (`python main.py matmul`)"
    verifying_s: ClassVar[float] = 4.0
    static_counts: ClassVar[bool] = True

    def expected_launch_s(self, job: "ProductJob", device: DeviceInfo) -> float:
        """Estimate one launch, seconds: the slowest CPU makes 1 G multiply-adds per second."""
        multiply_adds = job.problem.multiply_adds
        return 0.5 + multiply_adds / (INTERPRETED_PER_S if device.key == SIMULATOR else 1e9)

    def allocate(self, backend: Backend, job: "ProductJob", host_out: object = None) -> Buffers:
        """Return buffers for the three matrices."""
        return backend.allocate_arrays(job.operands, (job.problem.rows, job.problem.columns))

    def upload(self, backend: Backend, operands: Matrices, buffers: Buffers) -> None:
        """Copy M and N to the device."""
        backend.upload(operands, buffers)

    def verify(self, values: Any, job: "ProductJob", checkpoint: Callable[[float], None]) -> "Verification":
        """Compare with the product in float64."""
        # Loaded by the first proof.
        from engine.tasks.product.agreement import verify

        return verify(
            values,
            *job.operands,
            job.problem,
            job.variant.roundings(job.problem, job.block),
            seed=job.seed,
            affordable=job.affordable,
            checkpoint=checkpoint,
        )


ProductJob = Job[MatrixProduct, Matrices, MatmulVariant]
PRODUCT = Product()


def product_job(variant: MatmulVariant, tile: int, a: Matrix, b: Matrix, *, seed: int = 0) -> ProductJob:
    """Return the job of multiplying in one way; a `BadValue` says that the inner sizes differ."""
    return Job(PRODUCT, variant, Block(tile, tile), product_of(a.shape, b.shape), (a, b), seed=seed)


def product_jobs(
    products: Iterable[MatrixProduct],
    variants: Sequence[MatmulVariant],
    tiles: Iterable[int],
    *,
    seed: int = 0,
    not_built: bool = False,
) -> Iterator[ProductJob]:
    """Yield the job of every product with every variant and tile, in that order.

    The matrices are made from `seed` once for each product; `not_built` leaves them out, for jobs
    that are only counted.
    """
    blocks = [Block(tile, tile) for tile in tiles]
    for product in products:
        operands: Any = None if not_built else random_matrices(product, seed)
        for variant, block, _ in ways(variants, blocks):
            yield Job(PRODUCT, variant, block, product, operands, seed=seed)
