"""Work: what one computation asks of the machine, counted by construction. A model, and called one where it is shown."""

from engine.tasks.filtering.problem import Problem
from engine.tasks.work import FLOAT_BYTES, Work


def filter_work(
    problem: Problem,
    *,
    picture_loads: int,
    weight_loads: int = 0,
    scratch_loads: int = 0,
    scratch_stores: int = 0,
    shared_loads: int = 0,
    shared_stores: int = 0,
    constant_loads: int = 0,
    multiply_adds: int | None = None,
    masks: int = 1,
) -> Work:
    """Return the work of filtering a picture once, with one mask or with several.

    Parameters
    ----------
    problem : Problem
    picture_loads : int
        Cells of the picture that are read; ghost cells cost no load.
    weight_loads : int
        Weights that are read from global memory.
    scratch_loads, scratch_stores : int
        float32 values between two passes, in global memory.
    shared_loads, shared_stores, constant_loads : int
    multiply_adds : int, optional
        None: one for each mask cell of each result.
    masks : int
        Masks that are applied at once: each makes a result of the picture's shape.
    """
    results = problem.samples * masks
    return Work(
        flops=2 * (problem.multiply_adds * masks if multiply_adds is None else multiply_adds),
        global_loads=picture_loads + weight_loads + scratch_loads,
        global_stores=results + scratch_stores,
        global_load_bytes=picture_loads * problem.itemsize + (weight_loads + scratch_loads) * FLOAT_BYTES,
        global_store_bytes=results * problem.result_itemsize + scratch_stores * FLOAT_BYTES,
        minimum_bytes=problem.samples * problem.itemsize + results * problem.result_itemsize,
        picture_loads=picture_loads,
        shared_loads=shared_loads,
        shared_stores=shared_stores,
        constant_loads=constant_loads,
    )
