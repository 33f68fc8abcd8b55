"""Sums over windows along the rows and down the columns of a tile, for masks whose weights are all equal."""

from collections.abc import Callable
from operator import add

from numba import types

from engine.variants.fused.cells import Load, Values, column_loader, row_loader
from engine.variants.fused.shape import FusedShape
from engine.variants.fused.window_sums import window_sums
from engine.variants.ir.cuda_code import CudaCode
from engine.variants.ir.device_function import DeviceFunction, device_function
from engine.variants.ir.register_tile import VECTOR
from engine.variants.ir.value import ArrayArgument, Value


def _cells_of(load: Load, width: int) -> Callable[[int], Value]:
    """Return a function of a sample's number that loads each vector when it is first needed."""
    loaded: dict[int, Values] = {}

    def cell(sample: int) -> Value:
        number, k = divmod(sample, width)
        if number not in loaded:
            loaded[number] = load(number)
        return loaded[number][k]

    return cell


def row_summer(shape: FusedShape) -> DeviceFunction:
    """Return the function `sum_along(tile, at, weight)` -> sums, one per window, each cell times the weight.

    `at` is the thread's first element, aligned.
    """

    def sum_along(code: CudaCode, tile: ArrayArgument, at: Value, weight: Value) -> Values:
        cell = _cells_of(row_loader(code, tile, at)(None), VECTOR)

        def product(value: Value) -> Value:
            return value * weight

        def added(total: Value, value: Value) -> Value:
            return code.fma(value, weight, total)

        return window_sums(shape.along, lambda sample: cell(shape.shift + sample), product, product, added)

    return device_function(types.UniTuple(types.float32, shape.along.count), sum_along)


def column_summer(shape: FusedShape) -> DeviceFunction:
    """Return the function `sum_down(tile, first, column, weight, start)` -> sums, row by row.

    `first` and `column` are those of `column_loader`. Each sum begins with `start`; the weight was applied
    along the row.
    """

    def sum_down(
        code: CudaCode, tile: ArrayArgument, first: Value, column: Value, weight: Value, start: Value
    ) -> Values:
        cell = _cells_of(column_loader(code, shape, tile, first, column)(None), shape.size.columns)
        return window_sums(shape.down, cell, lambda value: start + value, lambda value: value, add)

    return device_function(types.UniTuple(types.float32, shape.down.count), sum_down)
