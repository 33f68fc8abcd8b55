"""What the engine's process is asked about products of matrices."""

from dataclasses import dataclass
from typing import ClassVar

from engine.tasks.product.problem import MatrixProduct


@dataclass(frozen=True, slots=True)
class ProductGrid:
    """Describe: the memory accesses of every matrix kernel, and whether it can run.

    Reply: tuple of ProductResult, one per variant, and per tile where the variant has one.
    """

    answers: ClassVar[str] = "engine.tasks.product.answers"
    product: MatrixProduct
    tiles: tuple[int, ...]
    device: str = "auto"


@dataclass(frozen=True, slots=True)
class ProductRequest:
    """Run: multiply random matrices with one variant. Reply: ProductResult.

    Without `tile` the variant's default is taken.
    """

    answers: ClassVar[str] = "engine.tasks.product.answers"
    product: MatrixProduct
    variant: str
    tile: int | None = None
    device: str = "auto"
    seed: int = 0
