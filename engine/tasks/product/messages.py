"""What the engine's process is asked about products of matrices."""

from typing import ClassVar

from engine.host.request import QueuePolicy, Request
from engine.message import Message
from engine.tasks.product.problem import MatrixProduct


class ProductGrid(Message, Request, frozen=True):
    """Ask for the memory accesses of every matrix kernel, and whether it can run.

    Reply: tuple of ProductResult, one per variant, and per tile where the variant has one.
    """

    handler: ClassVar[str] = "engine.tasks.product.answers:describe"
    policy: ClassVar[QueuePolicy] = QueuePolicy.AT_ONCE
    product: MatrixProduct
    tiles: tuple[int, ...]
    device: str = "auto"


class ProductRequest(Message, frozen=True):
    """Run: multiply random matrices with one variant. Reply: ProductResult.

    Without `tile` the variant's default is taken.
    """

    answers: ClassVar[str] = "engine.tasks.product.answers"
    product: MatrixProduct
    variant: str
    tile: int | None = None
    device: str = "auto"
    seed: int = 0
