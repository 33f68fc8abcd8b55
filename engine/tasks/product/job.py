"""The jobs of products of matrices."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from engine.geometry.block import Block
from engine.run.sweep import ways
from engine.run.task import Job
from engine.tasks.product.operands import Matrix, product_of, random_matrices
from engine.tasks.product.problem import MatrixProduct
from engine.tasks.product.task import PRODUCT, ProductJob
from engine.tasks.product.variants import MatmulVariant


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
