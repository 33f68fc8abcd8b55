"""What a variant that multiplies matrices is, and every one. No Numba in here."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from engine.geometry.block import Block
from engine.run.registered import Registered, named
from engine.run.variant import VariantOf
from engine.tasks.product.problem import MatrixProduct
from engine.tasks.product.tile import DEFAULT_TILE

DEFAULT_BLOCK = Block(DEFAULT_TILE, DEFAULT_TILE)


@dataclass(frozen=True, slots=True, kw_only=True)
class MatmulVariant(VariantOf[MatrixProduct, None]):
    """One way to compute P = M N; the tile is the square block, `Prepared.launch` takes the pair (M, N)."""

    task: ClassVar[str] = MatrixProduct.task

    # The most roundings that a product of two elements goes through on its way into P: the rounding bound
    # counts with it.
    roundings: Callable[[MatrixProduct, Block], int]
    default_block: Block = DEFAULT_BLOCK

    @property
    def facts(self) -> dict[str, object]:
        """The tile, which is its block."""
        side = self.default_block.x if self.uses_block else None
        tile: dict[str, object] = {"uses_tile": self.uses_block, "default_tile": side}
        return {"uses_block": False, "default_block": None} | tile


MATMUL_VARIANTS = Registered[MatmulVariant](cuda=("matmul.naive", "matmul.tiled"), cpu=("matmul.blas",))
"""The variants that multiply matrices."""


def matmul_variant(key: str) -> MatmulVariant:
    """Return the way to multiply of that key; an `UnknownName` names the nearest one and all of them."""
    return named(key, MATMUL_VARIANTS, (), "no way to multiply matrices is called that", alike=0.5)
