"""What the tests of pictures share: opening bytes, whose name says nothing."""

import pytest

from engine.errors import ImageReadError
from engine.image.open import open_image


@pytest.fixture
def opened(tmp_path):
    """Return a function that opens the bytes of a file."""

    def open_bytes(data, **options):
        path = tmp_path / "picture"
        path.write_bytes(data)
        return open_image(path, **options)

    return open_bytes


@pytest.fixture
def refused(opened):
    """Return a function that opens the bytes of a file and returns the refusal, which must be whole."""

    def refuse(data, **options):
        with pytest.raises(ImageReadError) as caught:
            opened(data, **options)
        error = caught.value
        assert error.what.endswith("picture cannot be opened")
        assert error.remedy
        assert "\n" not in str(error)
        return error

    return refuse
