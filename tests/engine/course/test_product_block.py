"""The lecture's block (0,0) against what the threads of the kernels' own source read, load and store."""

import numpy as np

from engine.course.product_block import TILE_WIDTH, WIDTH, block_rows, read_rows
from engine.device.launches import Operand
from engine.geometry.block import Block
from engine.tasks.product.problem import MatrixProduct
from engine.tasks.product.variants import matmul_variant
from tests.engine.variants.counting import CountingArray, Counts, run_pass

PRODUCT = MatrixProduct(WIDTH, WIDTH, WIDTH)


def traced(key):
    """Return M, N, P and each access by the threads of a kernel: block, (ty, tx), array, what, index."""
    counts = Counts(trace=[])
    kinds = ("matrix", "matrix", "out")
    m, n, p = (CountingArray(np.ones((WIDTH, WIDTH), np.float32), counts, kind) for kind in kinds)
    (step,) = matmul_variant(key).passes(PRODUCT, None, Block(TILE_WIDTH, TILE_WIDTH))
    matrices = iter((m, n, p))
    arrays = {argument: next(matrices) for argument in step.arguments if not isinstance(argument, int)}
    assert list(arrays)[-1] is Operand.OUT
    run_pass(step, counts, arrays)
    trace = [(block[:2], thread[1::-1], *rest) for block, thread, *rest in counts.trace]
    return m, n, p, trace


def words(pairs, name):
    return [f"{name}{row},{column}" for row, column in pairs]


def of_block(trace, array, what="loads"):
    """Return the indexes that each thread of block (0,0) accesses of an array, in its own order."""
    found = {}
    for block, thread, accessed, done, index in trace:
        if accessed is array and (block, done) == ((0, 0), what):
            found.setdefault(f"({thread[0]},{thread[1]})", []).append(index)
    return found


def test_that_the_threads_of_block_0_0_do_what_the_table_says():
    rows = {names[0]: (names[1], list(cells)) for names, cells in block_rows()}
    m, n, p, trace = traced("matmul-naive")
    reads = zip(of_block(trace, m).items(), of_block(trace, n).values(), strict=True)
    assert len(rows) == TILE_WIDTH**2
    for (thread, of_m), of_n in reads:
        result, (accesses, *_) = rows[thread]
        pairs = zip(words(of_m, "M"), words(of_n, "N"), strict=True)
        assert accesses == "; ".join(map(" ".join, pairs))
        assert words(of_block(trace, p, "stores")[thread], "P") == [result]

    m, n, p, trace = traced("matmul-tiled")
    for thread, of_m in of_block(trace, m).items():
        result, (accesses, *phases) = rows[thread]
        loads, adds = phases[::2], phases[1::2]
        pairs = zip(words(of_m, "M"), words(of_block(trace, n)[thread], "N"), strict=True)
        assert loads == list(map(" ".join, pairs))
        # What is added phase by phase is what the naive kernel adds.
        assert " + ".join(adds) == accesses.replace("; ", " + ")
        assert words(of_block(trace, p, "stores")[thread], "P") == [result]


def test_that_an_element_is_read_as_often_as_counted():
    (_, times), *_ = read_rows()
    elements = 2 * WIDTH * TILE_WIDTH, 2 * WIDTH * WIDTH
    for place, key in enumerate(("matmul-naive", "matmul-tiled")):
        *_, trace = traced(key)
        reads = [block for block, _, array, what, _ in trace if array.kind == "matrix" and what == "loads"]
        assert times[place] == reads.count((0, 0)) // elements[0]
        assert times[2 + place] == len(reads) // elements[1]
    assert list(times) == [2, 1, 4, 2]
