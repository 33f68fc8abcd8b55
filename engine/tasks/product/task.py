"""The task of multiplying matrices, for the pipeline: operands as the kernels take them, and jobs."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from engine.device.backend import Backend, Buffers
from engine.errors import BadValue
from engine.geometry.block import Block
from engine.image.convert import host_array
from engine.image.format import DEFAULT_MAX_BYTES
from engine.process import bytes_text
from engine.results.text_forms import sides_text
from engine.run.task import Job, Task
from engine.run.variant import ways
from engine.tasks.product import problem as matmul

Matrix = NDArray[np.float32]


def as_matrix(name: str, values: object) -> Matrix:
    """Return a matrix as the kernels take it: (rows, columns), float32, C-contiguous, aligned.

    `name` is "A" or "B", for the errors; real numbers of any type become float32.

    Raises BadValue: not two axes, an empty axis, rows that differ in length, or not real numbers.
    """
    array = host_array(values, f"matrix {name}")
    refuse_shape(name, array.shape)
    if array.dtype.kind not in "buif":
        what = f"matrix {name} of type {array.dtype}"
        raise BadValue(what, "only real numbers can be multiplied here", "Convert it to float32.")
    # What is past float32's range becomes infinite, as it would in any float32 program.
    with np.errstate(over="ignore"):
        return np.require(array, np.float32, ["C", "A"])


def refuse_shape(name: str, shape: tuple[int, ...]) -> None:
    """Refuse, with a `BadValue`, an array that is no matrix."""
    if len(shape) != 2:
        what = f"matrix {name} has {len(shape)} {'axis' if len(shape) == 1 else 'axes'}"
        remedy = "Pass an array of shape (rows, columns); a vector is a matrix of one row or of one column."
        raise BadValue(what, "a matrix has rows and columns", remedy)
    if 0 in shape:
        what = f"matrix {name} of {sides_text(shape)}"
        raise BadValue(what, "it has no elements", "Pass at least one element.")


def product_of(a: tuple[int, ...], b: tuple[int, ...]) -> matmul.MatrixProduct:
    """Return the product that matrices of two shapes have; a `BadValue` says that the inner sizes differ."""
    if a[1] != b[0]:
        transposed = " B transposed (b.T) would fit." if a[1] == b[1] else ""
        what = f"A of {sides_text(a)} times B of {sides_text(b)}"
        why = f"A has {a[1]} columns and B has {b[0]} rows, and these two must be equal"
        raise BadValue(what, why, f"Pass a B of {a[1]} rows.{transposed}")
    return matmul.MatrixProduct(a[0], a[1], b[1])


def refuse_too_large(product: matmul.MatrixProduct) -> None:
    """Refuse, with a `BadValue`, matrices that would fill the memory, before any is made."""
    if product.bytes > DEFAULT_MAX_BYTES:
        why = f"the three take {bytes_text(product.bytes)}, the limit is {bytes_text(DEFAULT_MAX_BYTES)}"
        raise BadValue(f"matrices of {product.size_text}", why, "Choose a smaller size.")


def random_matrices(product: matmul.MatrixProduct, seed: int) -> tuple[Matrix, Matrix]:
    """Return A and B of uniform random numbers from -1 to 1, the same for the same seed."""
    random = np.random.default_rng(seed)

    def matrix(rows: int, columns: int) -> Matrix:
        numbers = random.random((rows, columns), np.float32)
        numbers *= np.float32(2.0)
        numbers -= np.float32(1.0)
        return numbers

    return matrix(product.rows, product.inner), matrix(product.inner, product.columns)


class Product(Task[matmul.MatrixProduct, matmul.MatmulVariant]):
    """P = M N, whose operands are M and N."""

    problem = matmul.MatrixProduct
    oracle = "engine.tasks.product.oracle"
    variants = matmul.MATMUL_VARIANTS
    heading = "Matrix products (`python main.py matmul`)"
    cpu_per_s = gpu_per_s = 1e9
    verifying_s: ClassVar[float] = 4.0
    static_counts: ClassVar[bool] = True

    def allocate(self, backend: Backend, job: "ProductJob", host_out: object = None) -> Buffers:
        """Return buffers for the three matrices."""
        return backend.allocate_arrays(job.operands, (job.problem.rows, job.problem.columns))

    def compared(self, job: "ProductJob") -> tuple[Any, ...]:
        """Return both matrices, the product, and the roundings of the variant."""
        return *job.operands, job.problem, job.variant.roundings(job.problem, job.block)


ProductJob = Job[matmul.MatrixProduct, matmul.MatmulVariant]
PRODUCT = Product()


def product_job(
    variant: matmul.MatmulVariant, tile: int, a: Matrix, b: Matrix, *, seed: int = 0
) -> ProductJob:
    """Return the job of multiplying in one way; a `BadValue` says that the inner sizes differ."""
    return Job(PRODUCT, variant, Block(tile, tile), product_of(a.shape, b.shape), (a, b), seed=seed)


def product_jobs(
    products: Iterable[matmul.MatrixProduct],
    variants: Sequence[matmul.MatmulVariant],
    tiles: Iterable[int],
    seed: int | None = None,
) -> Iterator[ProductJob]:
    """Yield the job of every product with every variant and tile, in that order.

    The matrices are made once for each product; without a `seed` not at all, for jobs that are only counted.
    """
    blocks = [Block(tile, tile) for tile in tiles]
    for product in products:
        matrices = None if seed is None else random_matrices(product, seed)
        for variant, block, _ in ways(variants, blocks):
            yield Job(PRODUCT, variant, block, product, matrices, seed=seed or 0)
