"""The contract of a variant that multiplies matrices. No Numba in here."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from engine.geometry.block import Block
from engine.tasks.product.problem import MatrixProduct
from engine.tasks.product.tile import DEFAULT_TILE
from engine.variants.contract import AnyVariant

DEFAULT_BLOCK = Block(DEFAULT_TILE, DEFAULT_TILE)


@dataclass(frozen=True, slots=True, kw_only=True)
class MatmulVariant(AnyVariant[MatrixProduct, None]):
    """One way to compute P = M N; the tile is the square block, `Prepared.launch` takes the pair (M, N)."""

    task: ClassVar[str] = MatrixProduct.task

    # The most roundings that a product of two elements goes through on its way into P: the rounding bound
    # counts with it.
    roundings: Callable[[MatrixProduct, Block], int]
    default_block: Block = DEFAULT_BLOCK
