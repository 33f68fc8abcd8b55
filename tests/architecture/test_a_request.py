"""A new kind of request is one dataclass and one line in a table: a real host answers it as it declares."""

import threading

import numpy as np
import pytest

from engine.errors import Cancelled
from engine.host import shared
from engine.host.client import EngineClient
from engine.host.shared_array import segments_of
from tests.architecture.toy_request import Double, Greet, Newest, Wait

PATIENCE_S = 60.0


@pytest.fixture(scope="module")
def client():
    client = EngineClient()
    client.start()
    yield client
    client.shutdown()
    assert shared.left_by(client.segment_prefix, 0) == []


@pytest.mark.slow
@pytest.mark.parametrize("in_simulator", [False, True])
def test_that_a_new_request_is_answered_by_the_host_that_it_wants_and_its_segments_are_handed_over(
    client, in_simulator
):
    (numbers,) = shared.create(((5,), "float32"))
    try:
        shared.attach(numbers)[...] = np.arange(5)
        answer = client.submit(Double(numbers, in_simulator)).result(PATIENCE_S)
        assert answer.simulated is in_simulator
        assert shared.attach(answer.numbers[0]).tolist() == [0, 2, 4, 6, 8]
        # Handed over: the client has noted it, and takes it back.
        assert segments_of(answer) == (answer.numbers[0].name,)
        assert client._segments.give_back(segments_of(answer), []) == segments_of(answer)
    finally:
        shared.unlink(numbers.name)


@pytest.mark.slow
def test_that_a_new_request_waits_as_it_declares_and_can_be_stopped(client):
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
