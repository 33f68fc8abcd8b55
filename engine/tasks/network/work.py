"""The model of work of a forward pass: what each layer's kernel asks of memory, counted by construction."""

from dataclasses import dataclass

from engine.geometry.layout import FLOAT_BYTES
from engine.results.work import Work
from engine.tasks.network.problem import ForwardPass


@dataclass(frozen=True, slots=True)
class LayerWork:
    """Elements that the threads of one kernel access, for the whole batch, before any cache."""

    multiply_adds: int = 0  # with those of a pool: one for each value that is summed
    loads: int = 0  # from global memory: maps and weights
    stores: int = 0
    shared_loads: int = 0
    shared_stores: int = 0
    constant_loads: int = 0


def network_work(problem: ForwardPass, *layers: LayerWork, picture_loads: int = 0) -> Work:
    """Return the work of all kernels together; `picture_loads` are those of the drawings among the loads."""
    loads, stores = (sum(getattr(one, name) for one in layers) for name in ("loads", "stores"))
    return Work(
        flops=2 * sum(one.multiply_adds for one in layers),
        global_loads=loads,
        global_stores=stores,
        global_load_bytes=loads * FLOAT_BYTES,
        global_store_bytes=stores * FLOAT_BYTES,
        minimum_bytes=problem.copied_bytes + problem.weights * FLOAT_BYTES,
        picture_loads=picture_loads,
        shared_loads=sum(one.shared_loads for one in layers),
        shared_stores=sum(one.shared_stores for one in layers),
        constant_loads=sum(one.constant_loads for one in layers),
    )
