"""The model of work of operations, counted by construction."""

from engine.geometry.layout import FLOAT_BYTES
from engine.results.problem import Work
from engine.work.operations.problem import OperationProblem


def operation_work(
    problem: OperationProblem,
    *,
    picture_loads: int,
    flops: int,
    stores: int | None = None,
    result_loads: int = 0,
    other_loads: int = 0,
    other_stores: int = 0,
    shared_loads: int = 0,
    shared_stores: int = 0,
) -> Work:
    """Return the work of an operation.

    Parameters
    ----------
    flops : int
        Arithmetic operations on samples and comparisons of them, but none on indices.
    stores : int, optional
        Elements of the result that are stored, more than once where atomics add to them; None: each once.
    result_loads : int
        Elements of the result that are read again, by atomics or by a second pass.
    other_loads, other_stores : int
        Elements of 4 bytes that are loaded and stored beside those: patches, tables, values between passes.
    """
    stores = problem.values if stores is None else stores
    size = problem.result_itemsize
    return Work(
        flops=flops,
        global_loads=picture_loads + result_loads + other_loads,
        global_stores=stores + other_stores,
        global_load_bytes=picture_loads * problem.itemsize + result_loads * size + other_loads * FLOAT_BYTES,
        global_store_bytes=stores * size + other_stores * FLOAT_BYTES,
        minimum_bytes=problem.samples * problem.itemsize + problem.values * size,
        picture_loads=picture_loads,
        shared_loads=shared_loads,
        shared_stores=shared_stores,
    )
