"""The task of multiplying matrices, as the pipeline asks it."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

from engine.device.backend import Backend, Buffers
from engine.device.devices import SIMULATOR_SIDE
from engine.device.launches import Prepared
from engine.device_info import SIMULATOR, DeviceInfo
from engine.errors import BadValue, UnsupportedVariant
from engine.geometry.block import Block
from engine.run.device_choice import refuse_other_kind
from engine.run.job import Job
from engine.tasks.contract import Task
from engine.tasks.product.agreement import AFFORDABLE_MULTIPLY_ADDS, verify
from engine.tasks.product.operands import Matrix, product_of, random_matrices
from engine.tasks.product.problem import MatrixProduct
from engine.tasks.work import FLOAT_BYTES, Work
from engine.variants.matmul.contract import MatmulVariant
from engine.variants.registry import matmul_variant
from engine.verify.verification import Verification

Matrices = tuple[Matrix, Matrix]
ProductJob = Job[MatrixProduct, Matrices, MatmulVariant]


class Product(Task[MatrixProduct, Matrices, MatmulVariant]):
    """C = A B. The tile of a variant is its square block."""

    verifying_s: ClassVar[float] = 4.0
    counts_unrun: ClassVar[bool] = True

    def variant(self, key: str, operands: Matrices) -> MatmulVariant:
        """Return the way to multiply of that key."""
        return matmul_variant(key)

    def random_operands(self, problem: MatrixProduct, seed: int) -> Matrices:
        """Return two random matrices."""
        return random_matrices(problem, seed)

    def refuse(
        self,
        variant: MatmulVariant,
        problem: MatrixProduct,
        operands: Matrices,
        block: Block,
        device: DeviceInfo,
    ) -> None:
        """Refuse what a variant cannot do on a device."""
        refuse_unsuitable(variant, problem, block.x, device)

    def expected_launch_s(
        self, variant: MatmulVariant, problem: MatrixProduct, block: Block, device: DeviceInfo
    ) -> float:
        """Estimate one launch, seconds: the slowest CPU makes 1 G multiply-adds a second."""
        if device.key != SIMULATOR:
            return 0.5 + problem.multiply_adds / 1e9
        # Python threads that meet at a barrier take about 0.7 ms each time, two times a phase and two stores
        # a phase.
        barriers = variant.work(problem, block.x).shared_stores if variant.work else 0
        return 0.5 + problem.multiply_adds / 1e5 + barriers / 1e3

    def prepare(
        self, variant: MatmulVariant, problem: MatrixProduct, operands: Matrices, block: Block
    ) -> Prepared:
        """Compile for a tile."""
        return variant.prepare(problem, block.x)

    def allocate(
        self, backend: Backend, problem: MatrixProduct, operands: Matrices, host_out: Any = None
    ) -> Buffers:
        """Return buffers for the three matrices."""
        return backend.allocate_matrices(*operands)

    def upload(self, backend: Backend, operands: Matrices, buffers: Buffers) -> None:
        """Copy A and B to the device."""
        backend.upload(operands, buffers)

    def verify(
        self,
        values: Any,
        variant: MatmulVariant,
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
            variant.roundings(problem, block.x),
            seed=seed,
            affordable=AFFORDABLE_MULTIPLY_ADDS if affordable is None else affordable,
            checkpoint=checkpoint,
        )

    def work(self, variant: MatmulVariant, problem: MatrixProduct, block: Block) -> Work | None:
        """Return the variant's own model of work, if it has one."""
        return variant.work(problem, block.x) if variant.work else None

    def copied_bytes(self, problem: MatrixProduct) -> int:
        """Return the bytes of C."""
        return problem.elements * FLOAT_BYTES


PRODUCT = Product()


def product_job(variant: MatmulVariant, tile: int, a: Matrix, b: Matrix, *, seed: int = 0) -> ProductJob:
    """Return the job of multiplying in one way; the tile is ignored where the variant has none.

    Raises
    ------
    BadValue
        The inner sizes differ.
    """
    return Job(PRODUCT, variant, Block(tile, tile), product_of(a, b), (a, b), seed=seed)


def refuse_unsuitable(variant: MatmulVariant, product: MatrixProduct, tile: int, device: DeviceInfo) -> None:
    """Refuse what a variant cannot do on a device.

    Raises
    ------
    UnsupportedVariant
        Another kind of device, or a tile that is not legal there.
    BadValue
        Matrices too large for the simulator.
    """
    refuse_other_kind(variant, device)
    if device.key == SIMULATOR and max(product.rows, product.inner, product.columns) > SIMULATOR_SIDE:
        raise BadValue(
            f"matrices of {product.size_text} in the simulator",
            f"Python threads play the GPU's, so it takes sides up to {SIMULATOR_SIDE}",
            "Choose smaller matrices, or another device.",
        )
    refusal = variant.unsupported(product, tile, device.limits)
    if refusal is not None:
        nearest = refusal.nearest_tile
        raise UnsupportedVariant(
            f"variant '{variant.key}' with a tile of {tile}",
            refusal.reason,
            refusal.remedy,
            None if nearest is None else Block(nearest, nearest),
        )


def product_jobs(
    products: Sequence[MatrixProduct],
    variants: Sequence[MatmulVariant],
    tiles: Sequence[int],
    *,
    seed: int = 0,
    unmade: bool = False,
) -> Iterator[ProductJob]:
    """Yield every job, in order of products, variants, tiles; a variant without a tile is one job a product.

    Parameters
    ----------
    products : sequence of MatrixProduct
    variants : sequence of MatmulVariant
    tiles : sequence of int
        Empty: each variant's default.
    seed : int
        Of the matrices, which are made once a product.
    unmade : bool
        Leave the matrices out: the jobs are counted and not done.
    """
    for product in products:
        operands: Any = None if unmade else random_matrices(product, seed)
        for variant in variants:
            for tile in tiles if tiles and variant.uses_block else (variant.default_tile,):
                yield Job(PRODUCT, variant, Block(tile, tile), product, operands, seed=seed)
