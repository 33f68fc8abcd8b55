"""Bands, timelines and result arrays; the pipeline on a device that does everything as late as it may."""

import itertools
import json
from contextlib import nullcontext
from dataclasses import replace
from functools import cache, partial
from types import SimpleNamespace

import numpy as np
import pytest

from engine.device.devices import device_named
from engine.errors import BadValue
from engine.flow import pipeline
from engine.flow.chunks import Chunk, ChunkJob, Flow, Interval, Queue, Timeline
from engine.flow.filtering import Outputs
from engine.flow.pipeline import Pipeline
from engine.geometry.border import Border
from engine.geometry.border import bands as cut_in_bands
from engine.mask.mask import Mask
from engine.results.text_forms import json_text
from engine.work.filter_task import describe_problem
from engine.work.filtering.planner import choose
from engine.work.problem import Problem
from tests.engine.flow.fake_queues import FakeQueues


def test_that_only_wrap_reads_the_rows_of_the_other_end():
    problem = Problem(100, 5, mask_shape=(5, 5), anchor=(2, 2), border=Border.WRAP)
    first, last = cut_in_bands(problem.reach, 100, 50)
    assert first.sources == ((98, 100), (0, 52))
    assert last.sources == ((48, 100), (0, 2))
    mirrored = Problem(100, 5, mask_shape=(5, 5), anchor=(2, 2), border=Border.MIRROR)
    assert cut_in_bands(mirrored.reach, 100, 50)[0].sources == ((0, 52),)


QUEUES = (Queue.COPY_IN, Queue.KERNEL, Queue.COPY_OUT)
TIMELINE = Timeline(
    device="cuda:0",
    variant="tiled",
    clock="device events",
    ring=2,
    chunks=tuple(Chunk(n, 0, 10 * n, 10 * n + 10, 400, 400) for n in range(3)),
    spans=tuple(
        Interval(n, queue, n + at, n + at + 0.75) for n in range(3) for at, queue in enumerate(QUEUES)
    ),
    end_to_end_ms=5.0,
)


def test_that_a_timeline_is_busy_for_its_spans_and_json_has_each_of_them():
    document = json.loads(json_text(TIMELINE.as_json()))
    assert document["spans"][0] == {"chunk": 0, "lane": "copy in", "begin_ms": 0.0, "end_ms": 0.75}
    assert len(document["spans"]) == len(TIMELINE.spans)
    assert TIMELINE.busy_ms(Queue.KERNEL) == pytest.approx(2.25)
    assert TIMELINE.busy_ms(Queue.STAGE_IN) == 0
    assert TIMELINE.queues == QUEUES


def test_that_arrays_are_taken_exactly_when_they_share_no_memory():
    memory = np.zeros(60, np.uint8)
    random = np.random.default_rng(1)
    given, taken, refused = [], [], 0
    outputs = Outputs(given[-1] for _ in itertools.count())
    for number in range(3000):
        begin = int(random.integers(0, 59))
        given.append(memory[begin : begin + int(random.integers(1, 9)), None])
        if taken and random.random() < 0.3:
            outputs.leave(taken.pop(int(random.integers(len(taken)))))
        overlaps = any(np.shares_memory(given[-1], one) for one in taken)
        picture = np.zeros(given[-1].shape, np.uint8)
        problem = Problem(1, 1, dtype="uint8", result_dtype="uint8")
        call = SimpleNamespace(shape=picture.shape, samples=picture, problem=problem)
        with pytest.raises(BadValue, match="another picture") if overlaps else nullcontext():
            taken.append(outputs.take(call, number))
        refused += overlaps
    assert 300 < refused < 2700


CHUNKS = 11
MASK = Mask([[0, 1, 0], [1, -4, 1], [0, 2, 0]])


def jobs(queues, pinned_in, pinned_out, dtype="float32"):
    """Return chunks of different sizes whose results are of the pictures' type, and what they must be."""
    random = np.random.default_rng(3)
    found, wanted = [], []
    for number in range(CHUNKS):
        image = random.integers(0, 99, (7 + number % 3, 5 + number % 2, 1)).astype(dtype)
        fill = np.nan if dtype == "float32" else 255
        target = np.full((len(image) - 3, *image.shape[1:]), fill, dtype)
        problem = describe_problem(image, MASK, "wrap", 0.0, dtype)
        choice = choose("cpu-serial", problem, MASK, None, device_named("cpu"))
        prepared = choice.variant.prepare(problem, MASK, choice.block)
        whole = np.empty(image.shape, dtype)
        prepared.launch(image, whole)
        wanted.append(whole[2:-1])
        if pinned_in:
            queues.pin(image)
        if pinned_out:
            queues.pin(target)
        chunk = Chunk(number, number, 0, len(target), image.nbytes, target.nbytes)
        ready = partial(lambda one: one, prepared)
        found.append(ChunkJob(chunk, (image[:4], image[4:]), target, 2, image.shape, ready))
    return found, wanted


def run(queues, ring, pinned_in, pinned_out, dtype="float32"):
    """Send all chunks through; each result is right when it is reported, and nothing is left under way."""
    chunks, wanted = jobs(queues, pinned_in, pinned_out, dtype)
    finished = []

    def check(job):
        assert job.target.dtype == dtype
        np.testing.assert_array_equal(job.target, wanted[job.chunk.number])
        finished.append(job.chunk.number)

    pipeline = Pipeline(queues, ring)
    Flow(stream=lambda: pipeline).run(chunks, check)
    assert finished == list(range(CHUNKS))
    assert queues.is_idle
    return pipeline


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "ring", "dtype"),
    [*itertools.product(range(4), (2, 3), ("float32",)), (1, 2, "uint8"), (1, 2, "uint16")],
)
def test_that_every_result_is_right_however_late_the_device_is(seed, ring, dtype):
    for pinned_in, pinned_out in itertools.product((False, True), repeat=2):
        run(FakeQueues(seed), ring, pinned_in, pinned_out, dtype)


def test_that_forgotten_waits_would_be_seen(monkeypatch):
    with pytest.raises(AssertionError, match="Arrays are not equal"):
        run(FakeQueues(0, heeds_marks=False), 2, pinned_in=True, pinned_out=True)
    monkeypatch.setattr(pipeline, "ThreadPoolExecutor", LateThreads)
    run(FakeQueues(0, is_eager=True), 2, pinned_in=False, pinned_out=False)


class LateThreads:
    """Threads that do nothing until their result is awaited, and then do it once."""

    def __init__(self, *arguments, **named): ...

    def submit(self, action, *arguments):
        return SimpleNamespace(result=cache(partial(action, *arguments)))

    def shutdown(self, **named): ...


def test_that_chunks_go_one_at_a_time_through_the_queues_in_order():
    spans = run(FakeQueues(1), 3, pinned_in=True, pinned_out=True).spans
    order = [(span.chunk, span.queue) for span in spans]
    assert order == list(itertools.product(range(CHUNKS), QUEUES))
    for queue in QUEUES:
        line = [span for span in spans if span.queue is queue]
        assert all(a.begin_ms < a.end_ms <= b.begin_ms for a, b in itertools.pairwise(line))
    for a, b in itertools.pairwise(spans):
        assert b.chunk != a.chunk or b.begin_ms >= a.end_ms


@pytest.mark.parametrize(("pinned", "copied_first"), [(True, 3), (False, 1)])
def test_that_the_first_copies_go_in_before_a_kernel_is_made_ready(pinned, copied_first, monkeypatch):
    queues = FakeQueues(1)
    chunks, wanted = jobs(queues, pinned, pinned)
    copied = set()
    copied_at_prepare = []

    def seen(job):
        def prepare():
            copied_at_prepare.append(len(copied))
            return job.prepare()

        return replace(job, prepare=prepare)

    copy_in = queues.copy_in
    monkeypatch.setattr(
        queues, "copy_in", lambda host, place, row: copied.add(id(place.base)) or copy_in(host, place, row)
    )
    Flow(stream=lambda: Pipeline(queues, 3)).run([seen(job) for job in chunks])
    assert copied_at_prepare[0] == copied_first
    assert len(copied_at_prepare) == CHUNKS
    for job, right in zip(chunks, wanted, strict=True):
        np.testing.assert_array_equal(job.target, right)
