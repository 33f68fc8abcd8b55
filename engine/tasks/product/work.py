"""The model of work of products of matrices, counted by construction."""

from engine.geometry.layout import FLOAT_BYTES
from engine.results.work import Work
from engine.tasks.product.problem import MatrixProduct


def product_work(
    product: MatrixProduct,
    *,
    global_loads: int,
    multiply_adds: int | None = None,
    shared_loads: int = 0,
    shared_stores: int = 0,
) -> Work:
    """Return the work of one product; each element of P is stored once.

    `global_loads` counts elements of M and N that threads load from global memory, `multiply_adds` includes
    those with zeros that fill a tile; None: those of the definition.
    """
    return Work(
        flops=product.flops if multiply_adds is None else 2 * multiply_adds,
        global_loads=global_loads,
        global_stores=product.values,
        global_load_bytes=global_loads * FLOAT_BYTES,
        global_store_bytes=product.values * FLOAT_BYTES,
        minimum_bytes=product.bytes,
        shared_loads=shared_loads,
        shared_stores=shared_stores,
    )
