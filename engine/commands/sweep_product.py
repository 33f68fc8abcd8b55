"""Measures cells one after another, each in the process that it needs."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from engine.device.devices import backend, own_process_needed
from engine.device.launches import DeviceKind
from engine.errors import DeviceFault, EngineError
from engine.results.measurement import ProductResult
from engine.run.measure_product import counted, device_for, measure
from engine.run.plan import SamplingPlan
from engine.run.product_cells import Cell, device_of
from engine.simulator.product import multiply_in_simulator
from engine.tasks.product.operands import Matrix, random_matrices
from engine.tasks.product.problem import MatrixProduct


def measured(
    cells: Sequence[Cell],
    device: str,
    seed: int,
    budget_s: float,
    on_result: Callable[[ProductResult], None] = lambda result: None,
) -> tuple[list[ProductResult], DeviceFault | None]:
    """Measure every cell.

    Parameters
    ----------
    cells : sequence of Cell
    device : str
        For the CUDA variants; "auto" is the first one that works.
    seed : int
        Of the matrices and of the rectangles that are verified.
    budget_s : float
        Time for the samples of each cell, seconds.
    on_result : callable of ProductResult
        Called after each cell.

    Returns
    -------
    list of ProductResult
        One a cell; a failure is a result with its reason and with what can be counted.
    DeviceFault or None
        If a device was lost on the way: the CUDA cells after it were not tried.
    """
    results: list[ProductResult] = []
    fault: DeviceFault | None = None
    for cell, a, b in _with_matrices(cells, seed):
        lost = fault if cell.variant.device is DeviceKind.CUDA else None
        failure, refused = "", False
        try:
            if lost is not None:
                reason = f"the device was lost before ({lost.what}: {lost.why})"
                raise EngineError("Not measured", reason, lost.remedy)
            result = _measure(cell, a, b, device, seed, budget_s)
        except DeviceFault as error:
            fault, failure = error, str(error)
        except MemoryError:
            failure = "Not enough memory: the system gave no more. Choose a smaller size."
        except EngineError as error:
            failure, refused = str(error), error.is_refusal
        if failure:
            known = device_of(cell, device)
            result = counted(
                cell.variant, cell.product, cell.tile, known, seed=seed, failure=failure, refused=refused
            )
        results.append(result)
        on_result(result)
    return results, fault


def _with_matrices(cells: Sequence[Cell], seed: int) -> Iterator[tuple[Cell, Matrix, Matrix]]:
    """Yield each cell with its matrices, made once a product."""
    made: MatrixProduct | None = None
    a = b = np.empty((0, 0), np.float32)
    for cell in cells:
        if cell.product != made:
            made, (a, b) = cell.product, random_matrices(cell.product, seed)
        yield cell, a, b


def _measure(cell: Cell, a: Matrix, b: Matrix, device: str, seed: int, budget_s: float) -> ProductResult:
    machine = device_for(cell.variant, device)
    if own_process_needed(machine):
        return multiply_in_simulator(cell.variant, cell.tile, a, b, seed=seed).result
    plan = SamplingPlan(budget_s=budget_s)
    return measure(cell.variant, cell.tile, a, b, backend(machine.key), plan, seed=seed).result
