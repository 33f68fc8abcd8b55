"""Which segments vanish when they are given back."""

from collections.abc import Iterator

import numpy as np
import pytest

from engine.host import shared
from engine.host.link import HostLink
from engine.host.process import HostOptions
from engine.host.segments import HandedSegments
from engine.host.shared_array import SharedArray


@pytest.fixture
def name() -> Iterator[str]:
    (array,) = shared.create(((4,), "uint8"))
    shared.attach(array)[...] = 7
    yield array.name
    shared.unlink(array.name)


def exists(name: str) -> bool:
    shared.forget(name)
    try:
        values = shared.attach(SharedArray(name, (4,), "uint8"))
    except FileNotFoundError:
        return False
    return bool(np.array_equal(values, [7] * 4))


def host() -> HostLink:
    return HostLink(HostOptions(), lambda link, message: None, lambda link, reason: None)


@pytest.mark.parametrize("is_alive", [True, False])
def test_that_a_segment_of_a_living_host_is_its_own_again_and_that_of_another_is_removed(name, is_alive):
    segments, maker = HandedSegments(), host()
    segments.hand_over((name,), maker)
    assert segments.give_back((name,), [maker if is_alive else host()]) == (name,)
    assert exists(name) is is_alive


def test_that_a_name_that_was_not_handed_over_or_is_given_back_twice_is_left_alone(name):
    segments, maker = HandedSegments(), host()
    assert segments.give_back((name,), [maker]) == ()
    segments.hand_over((name,), maker)
    segments.give_back((name,), [maker])
    assert segments.give_back((name,), [maker]) == ()
    assert exists(name)
