"""What the page keeps of the network, and where the value of a cell comes from, also in words. No widgets."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.host.request import VariantInfo
from engine.tasks.network.problem import FILTER_SIDE, POOL_SIDE, Layer
from gui.widgets.number_table import number

Floats = NDArray[np.float32]
DRAWING = -1
"""The position of the drawing, before the first layer."""
SURE = 0.95
"""Of the 360 held-out digits 11 have less; all 5 that are misclassified are among them."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What the engine says once about the network, copied out of shared memory."""

    layers: tuple[Layer, ...]
    stages: tuple[VariantInfo, ...]
    weights: Mapping[str, Floats]  # by the key of the layer: (maps, input maps, 5, 5) or (inputs, outputs)
    digits: NDArray[np.uint8]  # (n, 28, 28)
    labels: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class NetworkAnswer:
    """What the network makes of a drawing: every layer's values, and the probability of each digit."""

    values: tuple[Floats, ...]  # by the position of the layer
    probabilities: tuple[float, ...]
    digit: int
    elapsed_ms: float
    drawing: Floats  # (28, 28), from 0 to 1: by now there may be another one


@dataclass(frozen=True, slots=True)
class LayerCell:
    """A value of a layer; of a vector the map and the row are 0."""

    layer: int
    map: int = 0
    row: int = 0
    column: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """Where a value comes from: a window of one map of the layer before, and what weighs it."""

    before: int  # position of the layer before
    map: int
    maps: int  # how many maps of that layer it comes from
    rows: range
    columns: range
    values: Floats  # (rows, columns)
    weights: Floats | None  # the same shape; None for a pool, whose cells weigh the same
    adds: float  # what this map adds to the value


def is_vector(layer: Layer) -> bool:
    """Return whether a layer gives a vector, not maps."""
    return len(layer.shape) == 1


def is_pool(layer: Layer) -> bool:
    """Return whether a layer averages and has no weights."""
    return not layer.multiply_adds


def windows(layers: tuple[Layer, ...], cell: LayerCell) -> Iterator[tuple[int, range, range]]:
    """Yield the layers before a cell's, back to the drawing, each with the rows and columns behind it."""
    rows, columns = range(cell.row, cell.row + 1), range(cell.column, cell.column + 1)
    for at in range(cell.layer, DRAWING, -1):
        layer = layers[at]
        before = layers[at - 1].shape[-2:] if at else (0, 0)
        if is_vector(layer):
            rows, columns = map(range, before if len(before) > 1 else (1, *before))
        elif is_pool(layer):
            rows, columns = (range(r.start * POOL_SIDE, r.stop * POOL_SIDE) for r in (rows, columns))
        else:
            rows, columns = (range(r.start, r.stop + FILTER_SIDE - 1) for r in (rows, columns))
        yield at - 1, rows, columns


def origins(facts: Facts, values: tuple[Floats, ...], drawing: Floats, cell: LayerCell) -> tuple[Origin, ...]:
    """Return the windows that a value comes from, of each map of the layer before; `drawing` is 0 to 1."""
    layer = facts.layers[cell.layer]
    before, rows, columns = next(windows(facts.layers, cell))
    maps = drawing[None] if before == DRAWING else values[before]
    if maps.ndim == 1:
        maps = maps[None, None]
    used = [cell.map] if is_pool(layer) else range(len(maps))
    by_map = []
    for at in used:
        window = maps[at, rows.start : rows.stop, columns.start : columns.stop]
        weights: Floats | None = None
        if is_vector(layer):
            # The linearisation: (map, row, column) is at (map x rows + row) x columns + column.
            part = slice(at * window.size, (at + 1) * window.size)
            weights = facts.weights[layer.key][part, cell.column].reshape(window.shape)
        elif not is_pool(layer):
            weights = facts.weights[layer.key][cell.map, at]
        adds = float(window.mean() if weights is None else (window.astype(np.float64) * weights).sum())
        by_map.append(Origin(before, at, len(used), rows, columns, window, weights, adds))
    return tuple(by_map)


def strongest_of(parts: Sequence[Origin]) -> Origin:
    """Return the map that adds the most to the value, or takes the most from it where nothing adds."""
    return max(parts, key=lambda one: (one.adds > 0, abs(one.adds)))


def chance_text(probability: float) -> str:
    """Write a probability with one digit after the point: 97.2 %, so that ten of them stand in line."""
    return f"{100.0 * probability:.1f} %"


def verdict_text(probabilities: Sequence[float]) -> str:
    """Return the most likely digit; of one that is not much more likely than another one, both."""
    first, second = sorted(range(len(probabilities)), key=lambda digit: -probabilities[digit])[:2]
    if probabilities[first] >= SURE:
        return f"A {first}, {chance_text(probabilities[first])}"
    return f"Unsure: a {first} or a {second}"


def name_of(layers: Sequence[Layer], at: int) -> str:
    """Return the name of a layer in a sentence: convolution 1, average pool 1, the drawing."""
    if at == DRAWING:
        return "the drawing"
    title = layers[at].title
    name = title[:1].lower() + title[1:]
    return f"the {name}" if is_vector(layers[at]) else name


def shape_text(layer: Layer) -> str:
    """Return what a layer gives: 32 maps of 24 x 24, 128 values."""
    if is_vector(layer):
        return f"{layer.shape[0]:,} values"
    maps, rows, columns = layer.shape
    return f"{maps} maps of {rows} × {columns}"


def cell_name(layers: Sequence[Layer], cell: LayerCell) -> str:
    """Return which value it is: Convolution 1, map 7, row 3, column 5."""
    layer = layers[cell.layer]
    if is_vector(layer):
        return f"{layer.title}, value {cell.column}"
    return f"{layer.title}, map {cell.map}, row {cell.row}, column {cell.column}"


def where_from(facts: Facts, cell: LayerCell, value: float, parts: Sequence[Origin]) -> str:
    """Return in a sentence or three where a value comes from, with the values that make it."""
    layer, first = facts.layers[cell.layer], parts[0]
    before, rows, columns = name_of(facts.layers, first.before), first.rows, first.columns
    place = f"rows {rows[0]} to {rows[-1]}, columns {columns[0]} to {columns[-1]}"
    window = f"{place} of {before if first.before == DRAWING else f'map {first.map} of {before}'}"
    if is_pool(layer):
        numbers = ", ".join(number(float(one)) for one in first.values.ravel())
        return f"{number(value)}: the average of {numbers}. They are {window}."
    total, count = sum(one.adds for one in parts), sum(one.values.size for one in parts)
    what = f"{number(value)}: a sum of products."
    if cell.layer == len(facts.layers) - 1:
        what = f"{number(value)}: the score of digit {cell.column}."
    elif total < 0:
        what = f"0: the sum is {number(total)}, and a negative one becomes 0."
    if is_vector(layer) and first.before != DRAWING and is_vector(facts.layers[first.before]):
        origin = f"all {count} values of {before}. {_largest(first, 'value')}"
    elif len(parts) == 1:
        origin = f"{window}: {count} products with filter {cell.map}. {_largest(first, 'product')}"
    else:
        strongest = strongest_of(parts)
        where = "" if is_vector(layer) else f"{place} of "
        origin = (
            f"{where}all {len(parts)} maps of {before}: {count:,} products. "
            f"Map {strongest.map} adds the most: {number(strongest.adds)}."
        )
    return f"{what} It comes from {origin}"


def _largest(one: Origin, what: str) -> str:
    assert one.weights is not None
    products: Floats = one.values * one.weights
    row, column = np.unravel_index(int(np.abs(products).argmax()), products.shape)
    if not products[row, column]:
        return "All of them are 0."
    factors = f"{number(float(one.values[row, column]))} × {number(float(one.weights[row, column]))}"
    where = f"value {column}" if what == "value" else f"row {one.rows[row]}, column {one.columns[column]}"
    return f"The largest is {factors} = {number(float(products[row, column]))}, at {where}."
