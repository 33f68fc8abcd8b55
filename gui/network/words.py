"""The page's sentences: what a value is and where it comes from. No widgets in here."""

from collections.abc import Sequence

import numpy as np

from engine.tasks.network.problem import Layer
from gui.network.layers import DRAWING, Cell, Facts, Floats, Origin, is_pool, is_vector, strongest_of
from gui.widgets.value_table import number

SURE = 0.95
"""Of the 360 held-out digits 11 have less; all 5 that are misclassified are among them."""


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


def cell_name(layers: Sequence[Layer], cell: Cell) -> str:
    """Return which value it is: Convolution 1, map 7, row 3, column 5."""
    layer = layers[cell.layer]
    if is_vector(layer):
        return f"{layer.title}, value {cell.column}"
    return f"{layer.title}, map {cell.map}, row {cell.row}, column {cell.column}"


def window_text(rows: range, columns: range) -> str:
    """Return which window it is: rows 3 to 7, columns 5 to 9."""
    return f"rows {rows[0]} to {rows[-1]}, columns {columns[0]} to {columns[-1]}"


def window_title(rows: range, columns: range) -> str:
    """Return which window it is where there is little room: rows 3–7, columns 5–9."""
    return f"rows {rows[0]}–{rows[-1]}, columns {columns[0]}–{columns[-1]}"


def where_from(facts: Facts, cell: Cell, value: float, found: Sequence[Origin]) -> str:
    """Return in a sentence or three where a value comes from, with the values that make it."""
    layer, first = facts.layers[cell.layer], found[0]
    before = name_of(facts.layers, first.before)
    if is_pool(layer):
        numbers = ", ".join(number(float(one)) for one in first.values.ravel())
        return f"{number(value)}: the average of {numbers}. They are {_window(first, before)}."
    total = sum(one.adds for one in found)
    return f"{_head(facts, cell, value, total)} {_parts(facts, cell, found, before)}"


def _head(facts: Facts, cell: Cell, value: float, total: float) -> str:
    is_last = cell.layer == len(facts.layers) - 1
    if is_last:
        return f"{number(value)}: the score of digit {cell.column}."
    if total < 0:
        return f"0: the sum is {number(total)}, and a negative one becomes 0."
    return f"{number(value)}: a sum of products."


def _parts(facts: Facts, cell: Cell, found: Sequence[Origin], before: str) -> str:
    first = found[0]
    count = sum(one.values.size for one in found)
    if (
        is_vector(facts.layers[cell.layer])
        and first.before != DRAWING
        and is_vector(facts.layers[first.before])
    ):
        return f"It comes from all {count} values of {before}. {_largest(first, 'value')}"
    if len(found) == 1:
        window = _window(first, before)
        return (
            f"It comes from {window}: {count} products with filter {cell.map}. {_largest(first, 'product')}"
        )
    strongest = strongest_of(found)
    all_of = f"all {len(found)} maps of {before}"
    share = f"Map {strongest.map} adds the most: {number(strongest.adds)}."
    where = "" if is_vector(facts.layers[cell.layer]) else f"{window_text(first.rows, first.columns)} of "
    return f"It comes from {where}{all_of}: {count:,} products. {share}"


def _window(one: Origin, before: str) -> str:
    of_map = "" if one.before == DRAWING else f"map {one.map} of "
    return f"{window_text(one.rows, one.columns)} of {of_map}{before}"


def _largest(one: Origin, what: str) -> str:
    """Return the largest product of a window in words."""
    assert one.weights is not None
    products: Floats = one.values * one.weights
    row, column = np.unravel_index(int(np.abs(products).argmax()), products.shape)
    if not products[row, column]:
        return "All of them are 0."
    factors = f"{number(float(one.values[row, column]))} × {number(float(one.weights[row, column]))}"
    where = f"value {column}" if what == "value" else f"row {one.rows[row]}, column {one.columns[column]}"
    return f"The largest is {factors} = {number(float(products[row, column]))}, at {where}."
