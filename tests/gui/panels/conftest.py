"""What the panels' tests share."""

from collections.abc import Iterator

import numpy as np
import pytest

from engine.host.protocol import SharedArray
from engine.host.shared import unlink
from tests.gui.made_pictures import Share, shared


@pytest.fixture
def share() -> Iterator[Share]:
    """Put arrays into shared memory, and take them away after the test."""
    names: list[str] = []

    def put(array: np.ndarray) -> SharedArray:
        place = shared(array)
        names.append(place.name)
        return place

    yield put
    unlink(*names)
