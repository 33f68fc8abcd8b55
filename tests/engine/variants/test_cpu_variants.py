"""What only the CPU variants have: bands and tiles, threads, edges, and that they let Python's other threads run."""

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from queue import SimpleQueue
from types import ModuleType

import numpy as np
import pytest

from engine.block import Block, Limits
from engine.border import Border
from engine.errors import UnsupportedVariant
from engine.mask.generators import gaussian
from engine.mask.mask import Mask
from engine.metrics.agreement import verify
from engine.timing.request import describe_problem
from engine.variants.cpu import band_walk, bands, parallel, separable, serial
from engine.variants.cpu.edges import Halo, holds
from engine.variants.emit.cpu_rows import MOST_ROWS, product_rows
from engine.variants.emit.cpu_two_passes import RESULTS_AT_ONCE
from engine.variants.emit.cpu_vectors import VECTOR
from engine.variants.registry import variant
from tests.engine.variants.cases import Case, check

KEYS = ("cpu-parallel", "cpu-separable")
BLOCK = Block(1, 1)
COMPILED = ((band_walk, "walk_bands"), (separable, "two_passes_of_bands"))
every_banded_variant = pytest.mark.parametrize("module", [parallel, separable], ids=KEYS)
HEIGHTS = sorted(
    {
        1,
        bands.LEAST_ROWS - 1,
        bands.LEAST_ROWS + 1,
        separable.BLOCK_ROWS,
        separable.BLOCK_ROWS + RESULTS_AT_ONCE + 1,
    }
)
# In samples of a row: vectors, and the wide tiles with both edges.
WIDTHS = (
    *(VECTOR - 1, VECTOR, VECTOR + 1, 3 * VECTOR + 2, 529),
    *(band_walk.TILE_SAMPLES + VECTOR, band_walk.TILE_SAMPLES + 5 * VECTOR + 3),
)
NARROW_TILE_FLOATS = 1 << 13


def filtered(
    module: ModuleType, image: np.ndarray, mask: Mask, border: Border = Border.MIRROR, **more: object
) -> np.ndarray:
    """Return a picture filtered by a variant's module, verified."""
    problem = replace(describe_problem(image, mask, border, 0.0), **more)
    out = np.zeros(image.shape, problem.result_dtype)
    module.prepare(problem, mask, BLOCK).launch(image, out)
    verification = verify(out, image, mask, problem)
    assert verification.passed, verification.reason
    return out


@pytest.mark.parametrize("mask_shape", [(1, 1), (2, 2), (3, 3), (15, 15), (5, 1), (1, 5), (2, 63), (63, 1)])
@pytest.mark.parametrize("shape", [(1, 1, 1), (49, 300, 3), (50, 33, 4), (48, 256, 1)], ids=str)
@every_banded_variant
def test_that_nothing_is_written_beside_the_buffers(
    module: ModuleType,
    shape: tuple[int, int, int],
    mask_shape: tuple[int, int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    guard, guarded = 1024, []

    def guarding(function: Callable[..., None]) -> Callable[..., None]:
        def call(*arguments: object) -> None:
            inner = list(arguments)
            for index, buffer in enumerate(arguments[-5:], len(arguments) - 5):
                if isinstance(buffer, np.ndarray) and buffer.dtype == np.float32:
                    copy = np.full(buffer.size + 2 * guard, 7.5, np.float32)
                    copy[guard:-guard] = buffer
                    guarded.append(copy)
                    inner[index] = copy[guard:-guard]
            function(*inner)

        return call

    for holder, name in COMPILED:
        monkeypatch.setattr(holder, name, guarding(getattr(holder, name)))
    image, mask = np.ones(shape, np.float32), Mask(np.ones(mask_shape))
    problem = describe_problem(image, mask, "wrap", 0.0)
    out = np.full(image.size + 2 * guard, 7.5, np.float32)
    module.prepare(problem, mask, BLOCK).launch(image, out[guard:-guard].reshape(shape))
    assert guarded
    for buffer in (*guarded, out):
        assert (buffer[:guard] == 7.5).all()
        assert (buffer[-guard:] == 7.5).all()
    assert (out[guard:-guard] == mask.taps).all()


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("width", sorted({-(-samples // 3) for samples in WIDTHS}))
@pytest.mark.parametrize("height", HEIGHTS)
def test_that_colour_tiles_meet_without_a_seam(
    key: str, height: int, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(separable, "TILE_FLOATS", NARROW_TILE_FLOATS)
    border = list(Border)[(height + width) % 6]
    case = Case(
        f"tiles {height}x{width}",
        height,
        width,
        3,
        "uint8",
        (4, 5),
        border=border,
        cval=77,
        weights="rank 1 whole",
    )
    check(variant(key), case, "cpu")


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("width", WIDTHS)
def test_that_grey_tiles_meet_without_a_seam(key: str, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(separable, "TILE_FLOATS", NARROW_TILE_FLOATS)
    check(variant(key), Case(f"grey {width}", 5, width, mask_shape=(3, 3), weights="rank 1 even"), "cpu")


@pytest.mark.parametrize("sums_rows", [34, 46, 158])
@pytest.mark.parametrize("samples", [1, VECTOR, 1500, 12_288, 100_003])
def test_that_tiles_are_of_whole_vectors_and_their_sums_fit(sums_rows: int, samples: int) -> None:
    wide = separable.tile_samples(sums_rows, samples)
    assert wide % VECTOR == 0
    assert wide * sums_rows <= separable.TILE_FLOATS + VECTOR * sums_rows
    # As many tiles as have to be, so all about as wide.
    assert -(-samples // wide) <= -(
        -samples // min(separable.MOST_TILE_SAMPLES, separable.TILE_FLOATS // sums_rows)
    )


@pytest.mark.parametrize("rows", [MOST_ROWS, MOST_ROWS + 1, 2 * MOST_ROWS + 1])
def test_that_masks_are_taken_in_parts_of_the_rows_that_registers_hold(rows: int) -> None:
    for height in (rows // 2, 3 * rows):
        check(variant("cpu-parallel"), Case(f"{rows} rows", height, 40, mask_shape=(rows, 2)), "cpu")


@pytest.mark.parametrize("workers", [1, 2, 16])
@pytest.mark.parametrize("mask_rows", [1, 15, 63])
@pytest.mark.parametrize(
    ("height", "tiles"), [(1, 1), (1, 20), (5000, 1), (40, 35), (480, 1), (49, 2), (2048, 3)]
)
def test_that_bands_cover_each_row_and_tile_once_and_leave_few_workers_without(
    height: int, tiles: int, mask_rows: int, workers: int
) -> None:
    cut = bands.cut(height, tiles, workers, mask_rows)
    covered = np.zeros((height, tiles), int)
    for top, bottom, tile in cut:
        covered[top:bottom, tile] += 1
    assert (covered == 1).all()
    pieces = -(-height // bands.LEAST_ROWS) * tiles
    assert min(workers, pieces) / 2 <= len(cut) <= max(6 * workers, 2 * tiles)


def test_that_small_work_stays_on_one_thread() -> None:
    assert bands.workers_for(0, 16) == 1
    assert bands.workers_for(bands.LEAST_MULTIPLY_ADDS * 3, 16) == 3
    assert bands.workers_for(10**12, 16) == 16


@pytest.mark.parametrize("threads", [2, 7])
@pytest.mark.parametrize("side", [7, 17])
@every_banded_variant
def test_that_the_number_of_threads_does_not_change_the_result(
    module: ModuleType, side: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = np.random.default_rng(3).standard_normal((437, 91, 3), np.float32)
    mask = Mask(np.outer(*np.random.default_rng(4).standard_normal((2, side))))
    for holder, _ in COMPILED:
        monkeypatch.setattr(holder, "cores", lambda: 1)
    alone = filtered(module, image, mask)
    for holder, _ in COMPILED:
        monkeypatch.setattr(holder, "cores", lambda: threads)
    assert np.array_equal(alone, filtered(module, image, mask))


def unfinished(number: int) -> bands.Progress:
    return bands.Progress.of(np.zeros((number, 3), np.int64))


def test_that_a_failure_on_another_thread_is_not_lost() -> None:
    first = threading.get_ident()

    def work(looks: int) -> None:
        if threading.get_ident() != first:
            raise ValueError("from the other thread")

    with pytest.raises(ValueError, match="other thread"):
        bands.run_together(work, 2, unfinished(1))


def test_that_a_failure_on_another_thread_waits_for_those_that_still_write(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Three threads, also where the machine has two cores.
    orders = [SimpleQueue[bands._Order]() for _ in range(2)]
    for one in orders:
        threading.Thread(target=bands._help, args=(-1, one), daemon=True).start()
    monkeypatch.setattr(bands, "_helpers", lambda: [(-1, one) for one in orders])
    first, progress, ended = threading.get_ident(), unfinished(9), []
    failing, failed = iter([True]), threading.Event()

    def work(looks: int) -> None:
        if threading.get_ident() == first:
            return
        if next(failing, False):
            failed.set()
            raise ValueError("from the other thread")
        failed.wait()
        ended.append(True)

    with pytest.raises(ValueError, match="other thread"):
        bands.run_together(work, 3, progress)
    assert ended == [True]


def test_that_a_failure_of_the_caller_waits_for_the_others() -> None:
    first, begun, progress = threading.get_ident(), threading.Event(), unfinished(5)
    ended = []

    def work(looks: int) -> None:
        if threading.get_ident() == first:
            begun.wait()
            raise MemoryError("no buffer")
        begun.set()
        # Bands are taken until none is left.
        while progress.counters[0] < progress.bands:
            threading.Event().wait(0.001)
        ended.append(True)

    with pytest.raises(MemoryError, match="no buffer"):
        bands.run_together(work, 2, progress)
    assert ended == [True]


def test_that_ctrl_c_reaches_the_caller_when_nobody_writes_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    first, progress, writing, released = (
        threading.get_ident(),
        unfinished(2),
        threading.Event(),
        threading.Event(),
    )
    ended = []

    def work(looks: int) -> None:
        if threading.get_ident() == first:
            writing.wait()
            return
        writing.set()
        released.wait()
        ended.append(True)

    def interrupted(*_: object) -> None:
        released.set()
        raise KeyboardInterrupt

    monkeypatch.setattr(bands, "_await_bands", interrupted)
    with pytest.raises(KeyboardInterrupt):
        bands.run_together(work, 2, progress)
    assert ended == [True]


def test_that_a_lock_is_waited_for_through_interruptions() -> None:
    interruptions = iter([KeyboardInterrupt, KeyboardInterrupt])

    class Lock:
        def acquire(self) -> None:
            for kind in interruptions:
                raise kind

    bands._await(Lock())  # type: ignore[arg-type]
    assert next(interruptions, None) is None


def test_that_a_thread_that_took_no_band_fails_nothing() -> None:
    first, progress = threading.get_ident(), unfinished(1)

    def work(looks: int) -> None:
        if threading.get_ident() != first:
            progress.counters[bands.FINISHED] += 1
            raise MemoryError("no buffer for a further band")

    bands.run_together(work, 2, progress)


def test_that_threads_are_started_once_however_many_call_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bands, "_started", cache(bands._started.__wrapped__))
    begun = threading.Barrier(8)
    found = []

    def call() -> None:
        begun.wait()
        found.append(bands._helpers())

    callers = [threading.Thread(target=call) for _ in range(8)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert len(found) == 8
    assert all(one is found[0] for one in found)


def test_that_the_caller_waits_for_bands_and_not_for_threads() -> None:
    first, released, progress = threading.get_ident(), threading.Event(), unfinished(1)

    def work(looks: int) -> None:
        if threading.get_ident() == first:
            assert looks > 0
            progress.counters[bands.FINISHED] += 1
        else:
            released.wait()

    bands.run_together(work, 2, progress)
    assert progress.complete
    released.set()


def test_that_the_caller_goes_on_when_another_thread_has_finished_its_band() -> None:
    first, progress = threading.get_ident(), unfinished(1)

    def work(looks: int) -> None:
        if threading.get_ident() != first:
            progress.counters[bands.FINISHED] += 1

    bands.run_together(work, 2, progress)
    assert progress.complete


@pytest.mark.parametrize("width", [64, 63, 33])
@pytest.mark.parametrize("first", [0, 1, 5])
@every_banded_variant
def test_that_results_stored_past_the_cache_are_the_same(
    module: ModuleType, width: int, first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = np.random.default_rng(5).standard_normal((40, width, 1), np.float32)
    mask = Mask(np.outer(*np.random.default_rng(6).standard_normal((2, 3))))
    problem = describe_problem(image, mask, Border.REFLECT, 0.0)
    wanted = filtered(module, image, mask, Border.REFLECT)
    monkeypatch.setattr(band_walk, "PAST_CACHE_BYTES", 0)
    # Wherever the result begins in memory: vectors past the cache have to be aligned.
    out = np.zeros(image.size + first, np.float32)[first:].reshape(image.shape)
    module.prepare(problem, mask, BLOCK).launch(image, out)
    assert np.array_equal(out, wanted)


@pytest.mark.parametrize("cval", [300.0, -1.0, 0.5])
@every_banded_variant
def test_that_a_ghost_value_that_the_samples_cannot_hold_counts_in_full(
    module: ModuleType, cval: float
) -> None:
    image = np.random.default_rng(7).integers(0, 256, (9, 41, 2), np.uint8)
    for mask in (Mask(np.ones((3, 5))), gaussian(7)):
        filtered(module, image, mask, border=Border.CONSTANT, cval=cval)
        filtered(module, image, mask, border=Border.CONSTANT, cval=cval, result_dtype="uint8")


def test_that_only_what_samples_are_exactly_is_held() -> None:
    assert holds("uint8", 255.0)
    assert holds("uint16", 256.0)
    assert holds("float32", -0.5)
    assert not any((holds("uint8", 256.0), holds("uint8", -1.0), holds("uint16", 1.5)))


@pytest.mark.parametrize("before_vector", [0, 3])
@pytest.mark.parametrize("samples", [1, 30, 64, 1000])
def test_that_all_taps_of_the_middle_lie_inside_the_picture(samples: int, before_vector: int) -> None:
    problem = describe_problem(
        np.zeros((1, samples, 1), np.float32), Mask(np.ones((1, 7)), (0, 2)), Border.ZERO, 0.0
    )
    halo = Halo.of(problem)
    left_end, right_start = halo.columns(samples, before_vector)
    assert 0 <= left_end <= right_start <= samples
    assert (right_start - left_end) % VECTOR == 0
    if right_start > left_end:
        assert left_end >= 2
        assert right_start + 4 <= samples
        assert left_end % VECTOR == before_vector or not before_vector
    assert max(left_end, samples - right_start) <= halo.longest_edge or samples <= halo.longest_edge


def test_that_a_picture_that_may_not_be_written_compiles_nothing_more() -> None:
    image = np.ones((5, 9, 1), np.float32)
    filtered(parallel, image, Mask(np.ones((3, 3))))
    before = len(band_walk.walk_bands.signatures)
    image.setflags(write=False)
    filtered(parallel, image, Mask(np.ones((5, 5))))
    assert len(band_walk.walk_bands.signatures) == before


@pytest.mark.parametrize("border", list(Border))
def test_that_a_column_times_a_row_is_right_for_all_numbers_of_rows(border: Border) -> None:
    random = np.random.default_rng(10)
    for dtype in ("float32", "uint8"):
        # Heights with no middle, and with rows that are walked down together; widths with and without a middle part.
        for shape in ((3, 5, 2), (29, 150, 1), (60, 47, 3)):
            image = random.integers(0, 200, shape).astype(dtype)
            for rows in (*product_rows(dtype == "uint8"), 6, 8):
                mask = Mask(np.outer(random.integers(-4, 5, rows), random.integers(-4, 5, 4)))
                filtered(separable, image, mask, border)
                filtered(separable, image, gaussian(rows) if rows % 2 else mask, border, result_dtype=dtype)


def test_that_there_is_code_for_few_rows_of_integers_only() -> None:
    assert set(product_rows(whole_numbers=True)) < set(product_rows(whole_numbers=False))
    assert max(product_rows(whole_numbers=False)) <= MOST_ROWS


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("taps", range(1, 10))
def test_that_factors_that_are_the_same_from_both_ends_are_folded_rightly(taps: int, channels: int) -> None:
    random = np.random.default_rng(9)
    half = random.integers(1, 9, taps)
    for dtype in ("uint8", "uint16"):
        image = random.integers(0, np.iinfo(dtype).max, (7, 83, channels), dtype, endpoint=True)
        for row in (half + half[::-1], (half + half[::-1]) / 7):
            filtered(separable, image, Mask(np.outer([1, 2, 4, 8], row)), Border.WRAP)


def test_that_masks_that_are_no_product_are_refused_in_words() -> None:
    problem = describe_problem(np.zeros((5, 5, 1), np.float32), gaussian(3), Border.ZERO, 0.0)
    refusal = separable.unsupported(problem, Mask(np.eye(3)), BLOCK, Limits())
    assert refusal is not None
    assert "its rank is 3" in refusal.reason
    assert "cpu-parallel takes every mask" in refusal.reason
    with pytest.raises(UnsupportedVariant, match="its rank is 3"):
        separable.prepare(problem, Mask(np.eye(3)), BLOCK)
    assert separable.unsupported(problem, gaussian(31), BLOCK, Limits()) is None


@pytest.mark.parametrize("border", list(Border))
def test_that_two_passes_keep_nan_and_infinity_where_the_direct_sum_has_them(
    border: Border, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(separable, "TILE_FLOATS", NARROW_TILE_FLOATS)
    image = np.random.default_rng(8).standard_normal((50, 530, 1), np.float32)
    for row, column, strange in ((0, 0, np.inf), (20, 300, np.nan), (31, 511, -np.inf), (49, 529, np.inf)):
        image[row, column] = strange
    for mask in (
        gaussian(9),
        gaussian(15),
        Mask(np.outer([1, 0, 2], [0.5, 0, 0.1, 3])),
        Mask(np.outer([1, 0, 2, 0, 0, 1], [0.5, 0, 0.1, 3])),
        Mask(np.outer([1, -1], [1, 2, 1])),
    ):
        filtered(separable, image, mask, border)


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
