"""The task of multiplying matrices, P = M N, for the pipeline. The tile is the square block."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from engine.device.backend import Backend, Buffers
from engine.device_info import INTERPRETED_PER_S, SIMULATOR, DeviceInfo
from engine.run.task import Job, Task
from engine.tasks.product.operands import Matrices
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

    def allocate(self, backend: Backend, job: "ProductJob", host_out: Any = None) -> Buffers:
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
