"""Where a value comes from: windows, products and the sentences about them, against plain sums."""

import numpy as np
import pytest

from gui.network.layers import DRAWING, LayerCell, cell_name, origins, strongest_of, where_from, windows
from gui.widgets.number_table import number, short_number
from tests.gui.made_network import LAYERS, made_facts


@pytest.fixture(scope="module")
def facts():
    return made_facts()


@pytest.fixture(scope="module")
def drawing():
    return np.random.default_rng(3).random((28, 28), np.float32)


@pytest.fixture(scope="module")
def values(facts, drawing):
    """Every layer by plain sums, in the order of the layers."""
    first, second, hidden, output = facts.weights.values()
    one = convolved(drawing[None], first)
    pooled = averaged(one)
    two = convolved(pooled, second)
    last = averaged(two)
    connected = np.maximum(last.reshape(-1) @ hidden, 0)
    return (one, pooled, two, last, connected, connected @ output)


def convolved(maps, filters):
    windows = np.lib.stride_tricks.sliding_window_view(maps, (5, 5), axis=(1, 2))
    return np.maximum(np.einsum("crspq,mcpq->mrs", windows, filters), 0)


def averaged(maps):
    count, rows, columns = maps.shape
    return maps.reshape(count, rows // 2, 2, columns // 2, 2).mean(axis=(2, 4))


CELLS = [
    LayerCell(0, 7, 3, 5), LayerCell(0, 31, 23, 23), LayerCell(1, 7, 3, 5), LayerCell(2, 63, 7, 0),
    LayerCell(2, 1, 3, 4), LayerCell(3, 5, 3, 1), LayerCell(4, column=127), LayerCell(4, column=0),
    LayerCell(5, column=9),
]  # fmt: skip


def value_at(values, cell):
    layer = values[cell.layer]
    return layer[cell.column] if layer.ndim == 1 else layer[cell.map, cell.row, cell.column]


def test_that_the_parts_of_a_value_add_up_to_it(facts, values, drawing):
    for cell in CELLS:
        found = origins(facts, values, drawing, cell)
        total = sum(one.adds for one in found)
        expected = total if cell.layer == len(LAYERS) - 1 else max(total, 0)
        # 1,024 float32 products at most, each rounded once, in any order.
        weights = [0.25 if one.weights is None else one.weights for one in found]
        sizes = [np.abs(one.values * weight).sum() for one, weight in zip(found, weights, strict=True)]
        bound = 2.0**-23 * 1024 * float(sum(sizes))
        assert value_at(values, cell) == pytest.approx(expected, abs=bound), cell
        of_a_vector = cell.layer in (0, len(LAYERS) - 1) or not LAYERS[cell.layer].multiply_adds
        maps = 1 if of_a_vector else LAYERS[cell.layer - 1].shape[0]
        assert len(found) == found[0].maps == maps


def test_that_a_window_is_followed_back_to_the_drawing():
    for cell, expected in [
        (LayerCell(0, 7, 3, 5), [(DRAWING, (3, 8), (5, 10))]),
        (LayerCell(1, 7, 3, 5), [(0, (6, 8), (10, 12)), (DRAWING, (6, 12), (10, 16))]),
        (LayerCell(3, 0, 3, 3), [(2, (6, 8), (6, 8)), (1, (6, 12), (6, 12)), (0, (12, 24), (12, 24)),
                            (DRAWING, (12, 28), (12, 28))]),
        (LayerCell(5, column=1), [(4, (0, 1), (0, 128)), (3, (0, 4), (0, 4)), (2, (0, 8), (0, 8)),
                             (1, (0, 12), (0, 12)), (0, (0, 24), (0, 24)), (DRAWING, (0, 28), (0, 28))]),
    ]:  # fmt: skip
        found = [(at, (r.start, r.stop), (c.start, c.stop)) for at, r, c in windows(LAYERS, cell)]
        assert found == expected


def test_that_a_sentence_has_place_window_and_values(facts, values, drawing):
    def told(cell):
        value = float(value_at(values, cell))
        return where_from(facts, cell, value, origins(facts, values, drawing, cell))

    assert cell_name(LAYERS, LayerCell(0, 7, 3, 5)) == "Convolution 1, map 7, row 3, column 5"
    pool = LayerCell(1, 7, 3, 5)
    window = values[0][7, 6:8, 10:12]
    numbers = ", ".join(number(float(one)) for one in window.ravel())
    assert told(pool) == (
        f"{number(float(window.mean()))}: the average of {numbers}. "
        "They are rows 6 to 7, columns 10 to 11 of map 7 of convolution 1."
    )
    second = told(LayerCell(2, 1, 3, 4))
    strongest = strongest_of(origins(facts, values, drawing, LayerCell(2, 1, 3, 4)))
    assert "rows 3 to 7, columns 4 to 8 of all 32 maps of average pool 1: 800 products." in second
    assert f"Map {strongest.map} adds the most: {number(strongest.adds)}." in second
    assert "from all 64 maps of average pool 2: 1,024 products." in told(LayerCell(4, column=3))
    assert "from all 128 values of the hidden layer." in told(LayerCell(5, column=9))
    dead = next(LayerCell(2, m, 0, 0) for m in range(64) if values[2][m, 0, 0] == 0)
    assert told(dead).startswith("0: the sum is −")


def test_that_numbers_are_short_and_signed():
    assert " ".join(map(number, (0.4123, -8.086, 12.0, 0.0, 0.0412))) == "0.412 −8.09 12.0 0 0.041"
    assert " ".join(map(short_number, (0.4123, -8.086, 12.3, 0.001, -0.5))) == "0.41 −8.1 12 0 −0.50"
