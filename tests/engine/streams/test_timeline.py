import json
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from bench.timeline_drawing import draw, timeline_from_json
from engine.errors import BadValue
from engine.results.strict_json import json_text
from engine.streams.timeline import Chunk, Queue, Span, Timeline

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


def test_that_a_timeline_comes_back_from_json_in_the_form_of_version_1():
    document = json.loads(json_text(TIMELINE.as_json()))
    assert timeline_from_json(document) == TIMELINE
    assert document["spans"][0] == {"chunk": 0, "lane": "copy in", "begin_ms": 0.0, "end_ms": 0.75}


@pytest.mark.parametrize(
    "document",
    [None, [], {}, {"format": "haloscope-timeline"}, {**TIMELINE.as_json(), "chunks": [1]}],
    ids=["none", "list", "empty", "format only", "damaged"],
)
def test_that_another_document_is_refused(document):
    with pytest.raises(BadValue):
        timeline_from_json(document)


def test_that_a_queue_is_busy_for_the_sum_of_its_spans():
    assert TIMELINE.busy_ms(Queue.KERNEL) == pytest.approx(2.25)
    assert TIMELINE.busy_ms(Queue.STAGE_IN) == 0
    assert TIMELINE.queues == QUEUES


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
