"""The job of one product of matrices, apart from `job.py`: a filter loads nothing of products."""

from engine.geometry.block import Block
from engine.run.job import Job
from engine.tasks.product.operands import Matrices, Matrix, product_of
from engine.tasks.product.problem import MatrixProduct
from engine.tasks.product.task import PRODUCT
from engine.variants.matmul.contract import MatmulVariant

ProductJob = Job[MatrixProduct, Matrices, MatmulVariant]


def product_job(variant: MatmulVariant, tile: int, a: Matrix, b: Matrix, *, seed: int = 0) -> ProductJob:
    """Return the job of multiplying in one way; a `BadValue` says that the inner sizes differ."""
    return Job(PRODUCT, variant, Block(tile, tile), product_of(a, b), (a, b), seed=seed)
