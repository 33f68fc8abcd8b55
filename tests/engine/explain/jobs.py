"""Jobs whose launches are counted: their pictures are zeros that take no memory."""

import numpy as np

from engine.geometry.block import Block
from engine.mask.mask import Mask
from engine.run.task import Choice, Job
from engine.tasks.product.problem import MATMUL_VARIANTS, MatrixProduct
from engine.tasks.product.task import PRODUCT
from engine.work.chain_task import OPERATION
from engine.work.filtering.variants import variant
from tests.engine.variants.cases import problem_of
from tests.picture_jobs import filter_job, operation_request, resolved_operation


def zeros(*shape, dtype="float32"):
    """Return zeros of any shape in the memory of one."""
    return np.broadcast_to(np.zeros((), dtype), shape)


def filtering(key, block=None, mask_shape=(5, 5), side=512, width=None, channels=1, dtype="float32", **more):
    """Return the job of filtering with equal weights."""
    chosen, mask = variant(key), Mask(np.ones(mask_shape))
    height, width = side, width or side
    problem = problem_of(height, width, mask, channels, dtype)
    choice = Choice(chosen, chosen.block_for(block and Block(*block)))
    return filter_job(choice, problem, mask, zeros(height, width, channels, dtype=dtype), **more)


def product(key, tile=16, sides=(64, 64, 64)):
    """Return the job of a product of rows x inner x columns."""
    chosen = next(one for one in MATMUL_VARIANTS if one.key == key)
    rows, inner, columns = sides
    operands = zeros(rows, inner), zeros(inner, columns)
    return Job(PRODUCT, chosen, Block(tile, tile), MatrixProduct(*sides), operands)


def operation(chosen, samples, block=None, **settings):
    """Return the job of an operation's variant on a picture."""
    request = operation_request(operation=chosen.operation, settings=settings)
    _, problem, patch = resolved_operation(request, samples)
    return Job(OPERATION, chosen, chosen.block_for(block and Block(*block)), problem, samples, patch)
