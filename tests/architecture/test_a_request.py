"""A new request, of a kind of its own or of a task, is a message that names what answers it.

A real host answers it as it declares.
"""

import importlib
import re
import threading
from typing import get_args, get_type_hints

import numpy as np
import pytest

from engine.errors import Cancelled, EngineError
from engine.host import shared
from engine.host.client import EngineClient
from engine.host.request import Check, Preview, QueuePolicy, Request, Run, SharedArray, segments_of
from engine.message import Message
from engine.results.problem import Progress
from tests.fresh_python import ROOT


class Doubled(Message, frozen=True):
    """The reply: the doubled numbers."""

    numbers: tuple[SharedArray, ...]


class Double(Message, Request, frozen=True):
    """Double an array of shared memory. Reply: Doubled."""

    numbers: SharedArray
    handler = f"{__name__}:double"


class Wait(Message, Request, frozen=True):
    """Be at work until it is stopped."""

    handler = f"{__name__}:wait"


class Greet(Message, Request, frozen=True):
    """Be answered while another is at work."""

    policy = QueuePolicy.AT_ONCE
    handler = f"{__name__}:greet"


class Newest(Message, Request, frozen=True):
    """Only the newest of these counts."""

    number: int
    policy = QueuePolicy.NEWEST
    handler = f"{__name__}:tell_number"


def double(request, report):

    (result,) = shared.create((request.numbers.shape, request.numbers.dtype))
    shared.attach(result)[...] = 2 * shared.attach(request.numbers)
    return Doubled((result,))


def wait(request, report):
    clock = threading.Event()
    while not clock.wait(0.01):
        report(Progress("waiting", 0.0, 60.0))


def greet(request, report):
    return "good morning"


def tell_number(request, report):
    return request.number


class Sum(Message, frozen=True):
    """A toy task's job: Run adds the numbers up."""

    numbers: tuple[int, ...]
    device: str = "cpu"
    answers = __name__


def run(request, report):
    return sum(request.job.numbers), request.budget_s


PATIENCE_S = 60.0


@pytest.fixture(scope="module")
def client():
    client = EngineClient()
    client.start()
    yield client
    client.shutdown()
    assert shared.left_by(client.segment_prefix, 0) == []


@pytest.mark.slow
def test_that_a_new_request_is_answered_by_the_host(client):
    (numbers,) = shared.create(((5,), "float32"))
    try:
        shared.attach(numbers)[...] = np.arange(5)
        answer = client.submit(Double(numbers)).result(PATIENCE_S)
        assert shared.attach(answer.numbers[0]).tolist() == [0, 2, 4, 6, 8]
        # Handed over: the client has noted it, and takes it back.
        assert segments_of(answer) == (answer.numbers[0].name,)
        assert client._segments.give_back(segments_of(answer), []) == segments_of(answer)
    finally:
        shared.unlink(numbers.name)


@pytest.mark.slow
def test_that_a_new_request_waits_as_it_declares(client):
    begun = threading.Event()
    at_work = client.submit(Wait(), lambda step: begun.set())
    assert begun.wait(PATIENCE_S)
    assert client.submit(Greet()).result(PATIENCE_S) == "good morning"
    first, replaced, last = (client.submit(Newest(number)) for number in range(3))
    assert not at_work.done()
    client.cancel(at_work)
    with pytest.raises(Cancelled):
        at_work.result(PATIENCE_S)
    assert (first.result(PATIENCE_S), replaced.cancelled(), last.result(PATIENCE_S)) == (0, True, 2)


@pytest.mark.slow
def test_that_a_new_request_of_a_task_is_answered_by_the_functions_that_it_has(client):
    numbers = Sum((1, 2, 3))
    assert client.submit(Run(numbers, 2.0)).result(PATIENCE_S) == (6, 2.0)
    with pytest.raises(EngineError, match="has no attribute 'check'"):
        client.submit(Check(numbers)).result(PATIENCE_S)


def test_that_what_a_task_is_asked_waits_as_it_says():
    here = Sum(())
    waits = {type(asked): asked.queue for asked in (Check(here), Preview(here), Run(here))}
    at_once, newest = QueuePolicy.AT_ONCE, QueuePolicy.NEWEST
    assert waits == {Check: at_once, Preview: newest, Run: QueuePolicy.IN_ORDER}


def test_that_what_a_task_is_asked_has_a_kind_for_each_request_of_it():
    assert Run(Sum(())).kind == Run(Sum((1,))).kind == (Run, Sum)
    assert Run(Sum(())).kind not in (Preview(Sum(())).kind, Run(Newest(1)).kind)


def requests():
    """Return every request of the program: of a task or the course, or of a kind of its own."""
    names = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in sorted((ROOT / "engine").rglob("*.py"))
        if re.search(r"(handler|answers): ClassVar\[str\]", path.read_text(encoding="utf-8"))
    ]
    classes = [kind for name in names for kind in vars(importlib.import_module(name)).values()]
    asked = {kind for kind in classes if hasattr(kind, "answers") or getattr(kind, "handler", "")}
    found = [kind for kind in asked if isinstance(kind, type) and issubclass(kind, Message)]
    assert len(found) > 30
    return sorted(found, key=lambda kind: kind.__qualname__)


def test_that_what_a_request_names_takes_requests_of_its_kind_and_replies_as_it_says():
    for kind in requests():
        if issubclass(kind, Request):
            module, _, name = kind.handler.partition(":")
            hints = get_type_hints(getattr(importlib.import_module(module), name))
            assert issubclass(kind, hints["request"])
            assert hints["return"] == (kind.reply or type(None))
        if not hasattr(kind, "answers"):
            continue
        functions, is_answered = vars(importlib.import_module(kind.answers)), False
        for asked in (Check, Preview, Run):
            if function := functions.get(asked.__name__.lower()):
                hints = get_type_hints(function)
                # One function may answer several kinds.
                jobs = {one for job in get_args(hints["request"]) for one in get_args(job) or (job,)}
                if kind in jobs:
                    is_answered = True
                    assert hints["return"] == (asked.reply or kind.reply)
        assert is_answered
