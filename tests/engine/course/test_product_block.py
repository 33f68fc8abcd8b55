"""The lecture's block (0,0) against what the threads of the kernels read, load and store."""

import numpy as np

import engine
from engine.course.performance_lecture import TILE_WIDTH, WIDTH, block_rows, read_rows
from tests.engine.variants.executed import observed


def traced(key, at=(0, 0)):
    """Return what each thread of a block loads of M and of N and stores to P, in its own order."""
    m = np.ones((WIDTH, WIDTH), np.float32)
    with observed(at=(*at, 0)) as launches:
        engine.matmul(m, m.copy(), variant=key, tile=TILE_WIDTH, device="simulator")
    ((step, _, arrays, accesses),) = launches
    names = [arrays[one].name for one in step.arguments if not isinstance(one, int)]
    found = {name: {} for name in names}
    for done in (one for one in accesses if one.array in names):
        for thread, address in zip(done.threads.tolist(), done.addresses.tolist(), strict=True):
            place = f"({thread // TILE_WIDTH},{thread % TILE_WIDTH})"
            found[done.array].setdefault(place, []).append(divmod(address // 4, WIDTH))
    return list(found.values())


def words(pairs, name):
    return [f"{name}{row},{column}" for row, column in pairs]


def test_that_the_threads_of_block_0_0_do_what_the_table_says():
    rows = {names[0]: (names[1], list(cells)) for names, cells in block_rows()}
    of_m, of_n, of_p = traced("matmul-naive")
    assert len(rows) == TILE_WIDTH**2
    for thread, (result, (accesses, *_)) in rows.items():
        pairs = zip(words(of_m[thread], "M"), words(of_n[thread], "N"), strict=True)
        assert accesses == "; ".join(map(" ".join, pairs))
        assert words(of_p[thread], "P") == [result]

    of_m, of_n, of_p = traced("matmul-tiled")
    for thread, (result, (accesses, *phases)) in rows.items():
        loads, adds = phases[::2], phases[1::2]
        pairs = zip(words(of_m[thread], "M"), words(of_n[thread], "N"), strict=True)
        assert loads == list(map(" ".join, pairs))
        # What is added phase by phase is what the naive kernel adds.
        assert " + ".join(adds) == accesses.replace("; ", " + ")
        assert words(of_p[thread], "P") == [result]


def test_that_an_element_is_read_as_often_as_counted():
    (_, times), *_ = read_rows()
    elements = 2 * WIDTH * TILE_WIDTH, 2 * WIDTH * WIDTH
    blocks = [(x, y) for x in range(WIDTH // TILE_WIDTH) for y in range(WIDTH // TILE_WIDTH)]
    for place, key in enumerate(("matmul-naive", "matmul-tiled")):
        loads = [traced(key, at)[:2] for at in blocks]
        reads = [sum(len(cells) for one in both for cells in one.values()) for both in loads]
        assert times[place] == reads[0] // elements[0]
        assert times[2 + place] == sum(reads) // elements[1]
    assert list(times) == [2, 1, 4, 2]
