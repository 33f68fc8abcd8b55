"""The picture that questions of a kernel are asked of."""

import pytest

from engine.host import shared
from engine.host.protocol import PictureHandle, ScreenLevels


@pytest.fixture
def picture():
    """A picture of 200 x 130 pixels, float32 and grey, in shared memory."""
    (pixels,) = shared.create(((130, 200, 1), "float32"))
    yield PictureHandle(pixels, None, ScreenLevels(()), "made", "made")
    shared.unlink(pixels.name)
