"""The task of multiplying matrices, C = A B, as the pipeline asks it. The tile of a variant is its square block."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from engine.device_info import SIMULATOR, DeviceInfo
from engine.geometry.block import Block
from engine.tasks.contract import Task
from engine.tasks.product.agreement import AFFORDABLE_MULTIPLY_ADDS, verify
from engine.tasks.product.operands import Matrices
from engine.tasks.product.problem import MatrixProduct
from engine.verify.verification import Verification

if TYPE_CHECKING:
    from engine.device.backend import Backend, Buffers
    from engine.variants.matmul.contract import MatmulVariant


class Product(Task[MatrixProduct, Matrices, "MatmulVariant"]):
    """C = A B."""

    problem = MatrixProduct
    verifying_s: ClassVar[float] = 4.0
    counts_unrun: ClassVar[bool] = True

    def expected_launch_s(
        self, variant: "MatmulVariant", problem: MatrixProduct, block: Block, device: DeviceInfo
    ) -> float:
        """Estimate one launch, seconds: the slowest CPU makes 1 G multiply-adds per second."""
        if device.key != SIMULATOR:
            return 0.5 + problem.multiply_adds / 1e9
        # Python threads that meet at a barrier take about 0.7 ms each time; each phase has two barriers and
        # two stores.
        work = variant.work(problem, block)
        barriers = work.shared_stores if work else 0
        return 0.5 + problem.multiply_adds / 1e5 + barriers / 1e3

    def allocate(
        self, backend: "Backend", problem: MatrixProduct, operands: Matrices, host_out: Any = None
    ) -> "Buffers":
        """Return buffers for the three matrices."""
        return backend.allocate_matrices(*operands)

    def upload(self, backend: "Backend", operands: Matrices, buffers: "Buffers") -> None:
        """Copy A and B to the device."""
        backend.upload(operands, buffers)

    def verify(
        self,
        values: Any,
        variant: "MatmulVariant",
        problem: MatrixProduct,
        operands: Matrices,
        block: Block,
        *,
        seed: int,
        affordable: int | None,
        checkpoint: Callable[[float], None],
    ) -> Verification:
        """Compare with the product in float64."""
        return verify(
            values,
            *operands,
            problem,
            variant.roundings(problem, block),
            seed=seed,
            affordable=AFFORDABLE_MULTIPLY_ADDS if affordable is None else affordable,
            checkpoint=checkpoint,
        )


PRODUCT = Product()
