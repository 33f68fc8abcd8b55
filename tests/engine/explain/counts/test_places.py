"""Where in the source warps ask for memory, and how often they go round its loops."""

import inspect

import numpy as np
import pytest

from engine.explain.code.listing import SourceLine
from engine.explain.counts.accesses import LoopRounds, Place
from engine.explain.counts.counting import counted_run
from engine.explain.counts.request_log import Active, Key, RequestLog
from engine.variants.ladder import implicit_gemm, naive, tiled
from tests.engine.explain.jobs import filtering

SIDE = 64
WARPS = SIDE * SIDE // 32


def counted(key, block=(32, 8), mask_shape=(3, 3)):
    """Return the counts of a kernel on a picture of whole blocks."""
    (only,) = counted_run(filtering(key, block, mask_shape, side=SIDE)).passes
    return only


def text_of(module, line):
    """Return a line of a kernel's module."""
    assert module.__name__.replace(".", "/") in line.path
    return inspect.getsource(module).split("\n")[line.line - 1].strip()


def requests_by_text(found, module):
    """Return the requests by the text of their line, memory and kind."""
    return {
        (text_of(module, one.place.line), one.memory, one.kind): one.requests for one in found.places
    }  # fmt: skip


def test_that_naive_loads_a_cell_and_a_weight_in_each_round_of_its_loops():
    found = counted("naive")
    of_loads = [one for one in found.places if one.kind == "loads"]
    # Blocks of whole rows: of the warps at the top and at the bottom the outer taps are ghost cells.
    assert max(one.requests for one in of_loads) == 9 * WARPS
    assert {one.per_round for one in of_loads} == {1.0}


def test_that_the_inner_loop_of_naive_is_entered_once_for_each_row_of_the_mask():
    inner, outer = counted("naive").loops
    assert (inner.entries, outer.entries) == (((3, 3 * WARPS),), ((3, WARPS),))
    assert (inner.outer, outer.outer) == (outer.line, None)


def test_that_a_loop_begins_at_the_line_that_its_source_has():
    for one in counted("naive").loops:
        assert text_of(naive, one.line).startswith("for ")


@pytest.mark.parametrize(("key", "module"), [("tiled", tiled), ("implicit-gemm", implicit_gemm)])
def test_that_places_have_all_requests_for_memory_that_the_source_makes(key, module):
    found = counted(key)
    for memory in ("global", "shared"):
        for kind in ("loads", "stores"):
            placed = sum(one.requests for one in found.places if (one.memory, one.kind) == (memory, kind))
            assert placed == found.of(memory, kind).requests
    assert all(text_of(module, one.place.line) for one in found.places if "ladder" in one.place.line.path)


def test_that_a_warp_goes_round_as_often_as_its_last_thread_needs():
    inner, outer, *_ = counted("tiled").loops
    # Tiles of 10 rows of 34 cells by 8 rows of 32 threads: two rows of threads load twice, and in each row
    # two threads.
    assert outer.entries == ((1, WARPS * 6 // 8), (2, WARPS * 2 // 8))
    assert inner.entries == ((2, WARPS * 10 // 8),)


def test_that_rounds_add_up_over_entries():
    one = LoopRounds(SourceLine("engine/kernel.py", 3), None, ((2, 10), (5, 4)))
    assert (one.most_rounds, one.rounds) == (5, 40)


def test_that_a_place_has_the_requests_in_a_round_of_the_warp_that_makes_most():
    log, line = RequestLog(np.zeros(2, np.int64), lambda: None), SourceLine("engine/kernel.py", 3)
    both, first = Active(np.ones(64, bool)), Active(np.arange(64) < 32)
    key, place = Key("global", "loads", "image"), Place(SourceLine("engine/kernel.py", 4), line)
    for active in (both, first, first):
        log.record_place(key, place, active)
    log.record_loop(line, None, both, np.array([1, 1]))
    (only,) = log.places(np.ones(1))
    assert (only.requests, only.per_round) == (4, 3.0)
