import itertools
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest

from engine.device.devices import device_named
from engine.device.launches import Prepared
from engine.errors import Cancelled, EngineError
from engine.mask.mask import Mask
from engine.run.resolve import describe_problem
from engine.streams import staging
from engine.streams.lanes import Work
from engine.streams.pipeline import Pipeline
from engine.streams.timeline import Chunk, QueuePolicy
from engine.variants.auto.planner import choose
from tests.engine.streams.fake_lanes import FakeLanes

CHUNKS = 11
MASK = Mask([[0, 1, 0], [1, -4, 1], [0, 2, 0]])


def works(
    lanes: FakeLanes, pinned_in: bool, pinned_out: bool, dtype: str = "float32"
) -> tuple[list[Work], list[np.ndarray]]:
    """Return chunks of different sizes whose results are of the pictures' type, and what they must be."""
    random = np.random.default_rng(3)
    found, wanted = [], []
    for number in range(CHUNKS):
        image = random.integers(0, 99, (7 + number % 3, 5 + number % 2, 1)).astype(dtype)
        poison = np.nan if dtype == "float32" else 255
        target = np.full((len(image) - 3, *image.shape[1:]), poison, dtype)
        problem = describe_problem(image, MASK, "wrap", 0.0, dtype)
        choice = choose("cpu-serial", problem, MASK, None, device_named("cpu"))
        prepared = choice.variant.prepare(problem, MASK, choice.block)
        whole = np.empty(image.shape, dtype)
        prepared.launch(image, whole)
        wanted.append(whole[2:-1])
        if pinned_in:
            lanes.pin(image)
        if pinned_out:
            lanes.pin(target)
        chunk = Chunk(number, number, 0, len(target), image.nbytes, target.nbytes)
        found.append(Work(chunk, (image[:4], image[4:]), target, 2, lambda prepared=prepared: prepared))
    return found, wanted


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("ring", [2, 3])
@pytest.mark.parametrize(
    ("pinned_in", "pinned_out"), [(False, False), (True, False), (False, True), (True, True)]
)
def test_that_every_result_is_right_however_late_the_device_is(
    seed: int, ring: int, pinned_in: bool, pinned_out: bool
) -> None:
    lanes = FakeLanes(seed)
    chunks, wanted = works(lanes, pinned_in, pinned_out)
    finished: list[int] = []

    def check(work: Work) -> None:
        np.testing.assert_array_equal(work.target, wanted[work.chunk.number])
        finished.append(work.chunk.number)

    Pipeline(lanes, ring, 0.0).run(chunks, check)
    assert finished == list(range(CHUNKS))
    assert lanes.is_idle


@pytest.mark.parametrize("pinned", [False, True])
@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
def test_that_results_of_the_pictures_type_go_the_same_way(dtype: str, pinned: bool) -> None:
    lanes = FakeLanes(1)
    chunks, wanted = works(lanes, pinned, pinned, dtype)
    Pipeline(lanes, 2, 0.0).run(chunks, lambda work: None)
    for work, right in zip(chunks, wanted, strict=True):
        assert work.target.dtype == dtype
        np.testing.assert_array_equal(work.target, right)


def test_that_forgotten_waits_would_be_seen() -> None:
    lanes = FakeLanes(0, heeds_marks=False)
    chunks, wanted = works(lanes, pinned_in=True, pinned_out=True)
    Pipeline(lanes, 2, 0.0).run(chunks, lambda work: None)
    assert not all(np.array_equal(work.target, right) for work, right in zip(chunks, wanted, strict=True))


class LateFuture:
    """Done when somebody asks for it, not before."""

    def __init__(self, action: Callable[[], None]) -> None:
        self._action: Callable[[], None] | None = action

    def result(self) -> None:
        action, self._action = self._action, None
        if action is not None:
            action()


class LateThreads:
    """Threads that do nothing until somebody waits for them."""

    def __init__(self, *arguments: object, **named: object) -> None: ...

    def submit(self, action: Callable[..., None], *arguments: object) -> LateFuture:
        return LateFuture(lambda: action(*arguments))

    def shutdown(self, **named: object) -> None: ...


def test_that_pinned_memory_is_used_again_only_when_the_host_has_copied_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(staging, "ThreadPoolExecutor", LateThreads)
    lanes = FakeLanes(0, is_eager=True)
    chunks, wanted = works(lanes, pinned_in=False, pinned_out=False)
    Pipeline(lanes, 2, 0.0).run(chunks, lambda work: None)
    for work, right in zip(chunks, wanted, strict=True):
        np.testing.assert_array_equal(work.target, right)


def test_that_a_lane_has_one_chunk_at_a_time_and_a_chunk_its_lanes_in_order() -> None:
    lanes = FakeLanes(1)
    chunks, _ = works(lanes, pinned_in=True, pinned_out=True)
    pipeline = Pipeline(lanes, 3, 0.0)
    pipeline.run(chunks, lambda work: None)
    spans = pipeline.spans()
    order = (QueuePolicy.COPY_IN, QueuePolicy.KERNEL, QueuePolicy.COPY_OUT)
    assert [(span.chunk, span.lane) for span in spans] == [(n, lane) for n in range(CHUNKS) for lane in order]
    for lane in order:
        line = [span for span in spans if span.lane is lane]
        assert all(a.begin_ms < a.end_ms <= b.begin_ms for a, b in itertools.pairwise(line))
    for a, b in itertools.pairwise(spans):
        assert b.chunk != a.chunk or b.begin_ms >= a.end_ms


def test_that_the_host_does_not_run_ahead_of_two_rounds_of_the_ring() -> None:
    lanes = FakeLanes(2)
    chunks, _ = works(lanes, pinned_in=True, pinned_out=True)
    taken = finished = 0

    def one_by_one() -> Iterator[Work]:
        nonlocal taken
        for work in chunks:
            taken += 1
            assert taken - finished <= 2 * 2 + 1
            yield work

    def count(work: Work) -> None:
        nonlocal finished
        finished += 1

    Pipeline(lanes, 2, 0.0).run(one_by_one(), count)
    assert taken == finished == CHUNKS


@pytest.mark.parametrize("pinned", [False, True])
@pytest.mark.parametrize("before", [0, 1, 2, 6])
def test_that_a_stopped_stream_leaves_nothing_under_way(before: int, pinned: bool) -> None:
    lanes = FakeLanes(3)
    chunks, _ = works(lanes, pinned, pinned)

    def until_cancelled() -> Iterator[Work]:
        yield from chunks[:before]
        raise Cancelled("Stopped")

    with pytest.raises(Cancelled):
        Pipeline(lanes, 3, 0.0).run(until_cancelled(), lambda work: None)
    assert lanes.is_idle
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("stream-")]


@pytest.mark.parametrize("pinned", [False, True])
@pytest.mark.parametrize("number", [0, 1, 2, 7])
@pytest.mark.parametrize("who", ["prepare", "finished"])
def test_that_a_failure_leaves_nothing_under_way(who: str, number: int, pinned: bool) -> None:
    lanes = FakeLanes(4)
    chunks, _ = works(lanes, pinned, pinned)

    def fail() -> Prepared:
        raise EngineError(f"what {who} says")

    def finished(work: Work) -> None:
        if who == "finished" and work.chunk.number == number:
            fail()

    if who == "prepare":
        chunks[number] = replace(chunks[number], prepare=fail)
    with pytest.raises(EngineError, match=f"what {who} says"):
        Pipeline(lanes, 3, 0.0).run(chunks, finished)
    assert lanes.is_idle


def test_that_what_is_wrong_with_an_earlier_picture_is_told_first() -> None:
    lanes = FakeLanes(5)
    chunks, _ = works(lanes, pinned_in=True, pinned_out=True)

    def fail() -> Prepared:
        raise EngineError("the first")

    def with_a_wrong_second() -> Iterator[Work]:
        yield replace(chunks[0], prepare=fail)
        raise EngineError("the second")

    with pytest.raises(EngineError, match="the first"):
        Pipeline(lanes, 3, 0.0).run(with_a_wrong_second(), lambda work: None)
    assert lanes.is_idle


@pytest.mark.parametrize(("pinned", "copied_first"), [(True, 3), (False, 1)])
def test_that_the_first_copies_go_in_before_a_kernel_is_made_ready(
    pinned: bool, copied_first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lanes = FakeLanes(1)
    chunks, wanted = works(lanes, pinned, pinned)
    copied: set[int] = set()
    copied_at_prepare: list[int] = []

    def seen(work: Work) -> Work:
        def prepare() -> Prepared:
            copied_at_prepare.append(len(copied))
            return work.prepare()

        return replace(work, prepare=prepare)

    copy_in = lanes.copy_in
    monkeypatch.setattr(
        lanes, "copy_in", lambda host, place, row: copied.add(id(place.base)) or copy_in(host, place, row)
    )
    Pipeline(lanes, 3, 0.0).run([seen(work) for work in chunks], lambda work: None)
    assert copied_at_prepare[0] == copied_first
    assert len(copied_at_prepare) == CHUNKS
    for work, right in zip(chunks, wanted, strict=True):
        np.testing.assert_array_equal(work.target, right)
