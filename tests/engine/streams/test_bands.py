"""Bands of a picture, timelines, and result arrays in use."""

import json
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.timeline_drawing import draw, timeline_from_json
from engine.errors import BadValue
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.results.strict_json import json_text
from engine.streams.bands import cut, rows_of_chunk
from engine.streams.outputs import IntervalsInUse
from engine.streams.timeline import Chunk, Queue, Span, Timeline
from engine.tasks.filtering.oracle import correlate
from engine.tasks.filtering.problem import Problem


@st.composite
def problems(draw):
    rows, columns = draw(st.integers(1, 6)), draw(st.integers(1, 3))
    return Problem(
        height=draw(st.integers(1, 60)),
        width=draw(st.integers(1, 4)),
        mask_shape=(rows, columns),
        anchor=(draw(st.integers(0, rows - 1)), draw(st.integers(0, columns - 1))),
        border=draw(st.sampled_from(list(Border))),
        cval=3.0,
    )


@settings(max_examples=150, deadline=None)
@given(problem=problems(), wanted_rows=st.integers(1, 30))
def test_that_bands_filtered_apart_are_the_whole_and_have_about_the_wanted_height(problem, wanted_rows):
    random = np.random.default_rng(1)
    image = random.integers(-9, 9, (problem.height, problem.width, 1)).astype(np.float32)
    mask = Mask(random.integers(-3, 4, problem.mask_shape), problem.anchor)
    bands, found = cut(problem, wanted_rows), []
    for band in bands:
        rows = np.concatenate([image[first:last] for first, last in band.sources])
        assert len(rows) == band.rows
        result = correlate(rows, mask, problem.border, problem.cval)
        found.append(result[band.skip : band.skip + band.bottom - band.top])
    np.testing.assert_array_equal(np.concatenate(found), correlate(image, mask, problem.border, problem.cval))
    assert [0, *(band.bottom for band in bands)] == [*(band.top for band in bands), problem.height]
    heights = [band.bottom - band.top for band in bands]
    assert max(heights) - min(heights) <= 1
    assert max(heights) <= max(wanted_rows, 2 * problem.mask_shape[0])
    if len(bands) > 1:
        assert min(heights) >= problem.mask_shape[0]


def test_that_only_wrap_reads_the_rows_of_the_other_end():
    problem = Problem(100, 5, mask_shape=(5, 5), anchor=(2, 2), border=Border.WRAP)
    assert cut(problem, 50)[0].sources == ((98, 100), (0, 52))
    assert cut(problem, 50)[1].sources == ((48, 100), (0, 2))
    mirrored = Problem(100, 5, mask_shape=(5, 5), anchor=(2, 2), border=Border.MIRROR)
    assert cut(mirrored, 50)[0].sources == ((0, 52),)


@pytest.mark.parametrize(
    ("dtype", "result", "row_bytes"),
    [("uint8", "float32", 400), ("float32", "float32", 400), ("uint8", "uint8", 100)],
)
def test_that_a_chunk_is_measured_by_its_larger_copy(dtype, result, row_bytes):
    problem = Problem(100, 100, dtype=dtype, result_dtype=result)
    assert rows_of_chunk(problem, 10 * row_bytes) == 10
    assert rows_of_chunk(problem, 1) == 1


QUEUES = (Queue.COPY_IN, Queue.KERNEL, Queue.COPY_OUT)
TIMELINE = Timeline(
    device="cuda:0",
    variant="tiled",
    clock="device events",
    ring=2,
    chunks=tuple(Chunk(n, 0, 10 * n, 10 * n + 10, 400, 400) for n in range(3)),
    spans=tuple(
        Span(n, queue, n + place, n + place + 0.75) for n in range(3) for place, queue in enumerate(QUEUES)
    ),
    end_to_end_ms=5.0,
)


def test_that_a_timeline_comes_back_from_json_and_a_queue_is_busy_for_the_sum_of_its_spans():
    document = json.loads(json_text(TIMELINE.as_json()))
    assert timeline_from_json(document) == TIMELINE
    assert document["spans"][0] == {"chunk": 0, "lane": "copy in", "begin_ms": 0.0, "end_ms": 0.75}
    assert TIMELINE.busy_ms(Queue.KERNEL) == pytest.approx(2.25)
    assert TIMELINE.busy_ms(Queue.STAGE_IN) == 0
    assert TIMELINE.queues == QUEUES


@pytest.mark.parametrize(
    "document",
    [None, [], {}, {"format": "haloscope-timeline"}, {**TIMELINE.as_json(), "chunks": [1]}],
    ids=["none", "list", "empty", "format only", "damaged"],
)
def test_that_another_document_is_refused(document):
    with pytest.raises(BadValue):
        timeline_from_json(document)


@pytest.mark.slow
def test_that_a_drawing_names_every_queue_and_chunk_and_is_the_same_each_time():
    picture = draw(TIMELINE)
    nodes = [node for node in ElementTree.fromstring(picture).iter() if node.tag.endswith("text")]
    texts = ["".join(node.itertext()).strip() for node in nodes]
    assert all(any(str(queue) in text for text in texts) for queue in QUEUES)
    assert [texts.count(number) for number in "012"] == [pytest.approx(3, abs=1)] * 3
    assert b"<dc:date>" not in picture
    assert draw(TIMELINE) == picture


def test_that_a_timeline_of_many_chunks_and_one_of_none_can_be_drawn():
    spans = tuple(Span(n, Queue.KERNEL, n, n + 0.5) for n in range(500))
    many = replace(TIMELINE, chunks=TIMELINE.chunks * 200, spans=spans)
    assert draw(many, "png").startswith(b"\x89PNG")
    assert draw(replace(TIMELINE, spans=())).startswith(b"<?xml")


def test_that_arrays_are_taken_exactly_when_they_share_no_memory():
    memory = np.zeros(60, np.uint8)
    random = np.random.default_rng(1)
    intervals, taken = IntervalsInUse(), []
    refused = 0
    for _ in range(3000):
        begin = int(random.integers(0, 60))
        array = memory[begin : begin + int(random.integers(1, 9))]
        if taken and random.random() < 0.3:
            intervals.leave(taken.pop(int(random.integers(len(taken)))))
        overlaps = any(np.shares_memory(array, one) for one in taken)
        if not any(one.ctypes.data == array.ctypes.data and len(one) == len(array) for one in taken):
            # One that was never taken leaves nothing.
            intervals.leave(array)
        assert intervals.take(array) is not overlaps
        refused += overlaps
        if not overlaps:
            taken.append(array)
    assert 300 < refused < 2700
