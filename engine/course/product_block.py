"""The lecture's block (0,0) of a product of matrices, thread by thread, and how often it reads an element.

Source: COSC 407, "CUDA Memories and Performance Revisited": slides "Global Memory Access by Threads in Block
(0,0)", "Loading an Input Tile" and "Work for Block (0,0)".
"""

import itertools

from engine.course.cells import Row
from engine.geometry.block import Block
from engine.tasks.product.problem import MatrixProduct
from engine.tasks.product.variants import matmul_variant

WIDTH, TILE_WIDTH = 4, 2
# WIDTH and TILE_WIDTH: the lecture's example, and the sizes that "Tiling size effects" measures.
SIZES = ((WIDTH, TILE_WIDTH), (1024, 16), (1024, 32))


def accesses(row: int, column: int) -> list[str]:
    """Return what a thread of the naive kernel reads from global memory, step by step of its loop."""
    return [f"M{row},{k} N{k},{column}" for k in range(WIDTH)]


def loads(row: int, column: int, phase: int) -> str:
    """Return what a thread of block (0,0) copies into shared memory in a phase: an element of each matrix."""
    first = phase * TILE_WIDTH
    return f"M{row},{first + column} N{first + row},{column}"


def block_rows() -> list[Row]:
    """Return a row per thread of block (0,0): its accesses without tiles, then phase by phase with them."""
    rows: list[Row] = []
    for row, column in itertools.product(range(TILE_WIDTH), repeat=2):
        terms = accesses(row, column)
        cells = ["; ".join(terms)]
        for phase in range(WIDTH // TILE_WIDTH):
            uses = terms[phase * TILE_WIDTH : (phase + 1) * TILE_WIDTH]
            cells += [loads(row, column, phase), " + ".join(uses)]
        rows.append(((f"({row},{column})", f"P{row},{column}"), cells))
    return rows


def read_rows() -> list[Row]:
    """Return how often each element is read from global memory, by the kernels' own models of work."""
    rows: list[Row] = []
    for width, tile in SIZES:
        # The rows of M and the columns of N that one block needs; and all of both.
        block, whole = MatrixProduct(tile, width, tile), MatrixProduct(width, width, width)
        times = []
        for product, key in itertools.product((block, whole), ("matmul-naive", "matmul-tiled")):
            work = matmul_variant(key).work(product, Block(tile, tile))
            assert work is not None
            elements = product.rows * product.inner + product.inner * product.columns
            times.append(work.global_loads // elements)
        rows.append(((width, tile), times))
    return rows
