"""What the tests of pictures share: opening bytes, whose name says nothing."""

from pathlib import Path

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
    """Return a function that opens bytes or a path and returns the refusal, which must be whole."""

    def refuse(data, **options):
        with pytest.raises(ImageReadError) as caught:
            open_image(data, **options) if isinstance(data, Path) else opened(data, **options)
        error = caught.value
        assert error.what.endswith(f"{data if isinstance(data, Path) else 'picture'} cannot be opened")
        assert error.remedy
        assert "\n" not in str(error)
        return error

    return refuse
