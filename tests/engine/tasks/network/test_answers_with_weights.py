"""What the host answers with other weights than the trained ones, and with bad ones."""

import numpy as np
import pytest

from engine.errors import EngineError
from engine.host import shared
from engine.host.request import Preview, Run, answer, segments_of
from engine.host.shared import attach, unlink
from engine.tasks.network.operands import WEIGHTS_FILE, held_out, trained_weights
from engine.tasks.network.problem import DigitsRequest, DrawingRequest, NetworkRequest, StageRequest

INK = held_out().pixels[8].tobytes()


def nothing(step):
    """Report to nobody."""


def weights_file(path, **changed):
    """Write the trained weights with some of them changed."""
    with np.load(WEIGHTS_FILE) as stored:
        arrays = {name: stored[name] for name in stored.files}
    np.savez(path, **(arrays | changed))
    return str(path)


@pytest.fixture
def released():
    """Collect replies whose memory is given back after the test."""
    replies = []
    yield replies
    unlink(*(name for reply in replies for name in segments_of(reply)))


def test_that_the_weights_of_a_file_are_those_that_tell_the_digit(released, tmp_path):
    output = np.zeros((128, 10), np.float16)
    output[:, 3] = 1.0
    path = weights_file(tmp_path / "threes.npz", output=output)
    for weights, digit in (("", 8), (path, 3)):
        found = answer(Preview(DrawingRequest(INK, weights)), nothing)
        released.append(found)
        assert found.digit == digit
    facts = answer(NetworkRequest(path), nothing)
    released.append(facts)
    assert np.array_equal(attach(facts.output_weights), output)
    assert np.array_equal(attach(facts.hidden_weights), trained_weights().hidden)


def test_that_weights_whose_scores_overflow_leave_no_shared_memory(tmp_path, monkeypatch):
    path = weights_file(tmp_path / "huge.npz", output=np.full((128, 10), 3e38, np.float32))
    monkeypatch.setattr(shared, "create", lambda *arrays: pytest.fail("memory was taken"))
    with pytest.raises(EngineError, match="the scores of drawing 0 are not finite"):
        answer(Preview(DrawingRequest(INK, path)), nothing)


def test_that_bad_weights_are_refused_in_a_sentence_by_every_request(tmp_path):
    path = weights_file(tmp_path / "bad.npz", output=np.zeros((128, 9), np.float32))
    for request in (
        NetworkRequest(path),
        Preview(DrawingRequest(INK, path)),
        Run(StageRequest("network-serial", 1, weights=path)),
        DigitsRequest("network-serial", weights=path),
    ):
        with pytest.raises(EngineError, match=r"The weights 'bad\.npz' cannot be used") as error:
            answer(request, nothing)
        assert "output has the shape 128 × 9, and this network needs 128 × 10" in str(error.value)
        assert error.value.remedy
        assert "\n" not in str(error.value)
