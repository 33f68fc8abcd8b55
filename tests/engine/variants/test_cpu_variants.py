"""What only the CPU variants have: tiles, threads, and that they let Python's other threads run."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from engine.block import Block
from engine.border import Border
from engine.mask.mask import Mask
from engine.timing.request import describe_problem
from engine.variants.cpu import parallel, serial
from engine.variants.emit.cpu_tile import COLUMNS, ROWS
from engine.variants.registry import variant
from tests.engine.variants.cases import Case, check

HEIGHTS = sorted(
    {
        1,
        ROWS,
        ROWS + 1,
        parallel.TILE_ROWS - 1,
        parallel.TILE_ROWS,
        parallel.TILE_ROWS + 1,
        2 * parallel.TILE_ROWS + 1,
    }
)
WIDTHS = (COLUMNS // 3, COLUMNS // 3 + 1, parallel.TILE_SAMPLES // 3, parallel.TILE_SAMPLES // 3 + 1, 171)


@pytest.mark.parametrize("mask_shape", [(1, 1), (2, 2), (3, 3), (15, 15), (5, 1), (1, 5), (2, 63), (127, 1)])
@pytest.mark.parametrize("shape", [(1, 1, 1), (49, 300, 3), (50, 33, 4), (48, 256, 1)], ids=str)
def test_that_nothing_is_written_beside_the_buffers(
    shape: tuple[int, int, int], mask_shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    guard, filter_band, buffers = 1024, parallel.correlate_band, []

    def guarded(image, *arguments):
        *others, tile, spill = arguments
        copies = [np.full(buffer.size + 2 * guard, 7.5, np.float32) for buffer in (tile, spill)]
        inner = [copy[guard:-guard] for copy in copies]
        inner[0][:] = tile
        buffers.extend(copies)
        filter_band(image, *others, *inner)

    monkeypatch.setattr(parallel, "correlate_band", guarded)
    image, mask = np.ones(shape, np.float32), Mask(np.ones(mask_shape))
    prepared = parallel.Parallel(describe_problem(image, mask, "wrap", 0.0), mask)
    out = np.full(image.size + 2 * guard, 7.5, np.float32)
    prepared.launch(image, out[guard:-guard].reshape(shape))
    assert buffers
    for buffer in (*buffers, out):
        assert (buffer[:guard] == 7.5).all()
        assert (buffer[-guard:] == 7.5).all()
    assert (out[guard:-guard] == mask.taps).all()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("height", HEIGHTS)
def test_that_tiles_meet_without_a_seam(height: int, width: int) -> None:
    border = list(Border)[(height + width) % 6]
    case = Case(
        f"tiles {height}x{width}", height, width, 3, "uint8", (4, 5), border=border, cval=77, weights="whole"
    )
    check(variant("cpu-parallel"), case, "cpu")


@pytest.mark.parametrize("width", [COLUMNS - 1, COLUMNS, COLUMNS + 1, 255, 256, 257])
def test_that_grey_tiles_meet_without_a_seam(width: int) -> None:
    check(variant("cpu-parallel"), Case(f"grey {width}", 5, width, mask_shape=(3, 3)), "cpu")


@pytest.mark.parametrize("workers", [1, 2, 16])
@pytest.mark.parametrize(
    ("height", "samples"), [(1, 1), (1, 5000), (5000, 1), (40, 70_000), (480, 511), (49, 257)]
)
def test_that_bands_cover_each_sample_once_and_give_half_of_the_workers_one(
    height: int, samples: int, workers: int
) -> None:
    bands = parallel.bands(height, samples, workers)
    covered = np.zeros((height, samples), int)
    for top, bottom, left, right in bands:
        covered[top:bottom, left:right] += 1
    assert (covered == 1).all()
    tiles = -(-height // parallel.TILE_ROWS) * -(-samples // parallel.TILE_SAMPLES)
    assert min(workers, tiles) / 2 <= len(bands) <= 4 * workers + 4


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_that_the_number_of_threads_does_not_change_the_result(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = np.random.default_rng(3).standard_normal((parallel.TILE_ROWS * 9 + 5, 91, 3), np.float32)
    mask = Mask(np.random.default_rng(4).standard_normal((5, 7)))
    problem = describe_problem(image, mask, Border.MIRROR, 0.0)
    one_band, banded = np.full(image.shape, np.nan, np.float32), np.full(image.shape, np.nan, np.float32)
    whole = parallel.prepare(problem, mask, Block(1, 1))
    whole._bands = ((0, image.shape[0], 0, 91 * 3),)
    whole.launch(image, one_band)
    with ThreadPoolExecutor(threads) as pool:
        monkeypatch.setattr(parallel, "cores", lambda: threads)
        monkeypatch.setattr(parallel, "_threads", lambda: pool)
        parallel.prepare(problem, mask, Block(1, 1)).launch(image, banded)
    assert np.array_equal(one_band, banded)


def test_that_the_plain_loops_let_other_threads_run() -> None:
    image = np.ones((700, 700, 1), np.float32)
    mask = Mask(np.ones((15, 15)))
    prepared = serial.prepare(describe_problem(image, mask, Border.WRAP, 0.0), mask, Block(1, 1))
    running, over = threading.Event(), threading.Event()

    def filter_picture() -> None:
        running.set()
        prepared.launch(image, np.empty_like(image))
        over.set()

    thread = threading.Thread(target=filter_picture)
    thread.start()
    running.wait()
    steps = 0
    # With the GIL held, this loop would get at most one turn before the loops are over.
    while not over.is_set():
        over.wait(0.002)
        steps += 1
    thread.join()
    assert steps > 20
