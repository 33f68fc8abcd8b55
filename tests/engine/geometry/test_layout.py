import pytest

from engine.errors import UnknownName
from engine.geometry.layout import ROW_BYTES, Layout


@pytest.mark.parametrize("width", [1, 31, 32, 33, 127, 128, 1001, 1024])
def test_that_pitched_rows_are_the_fewest_whole_pixels_that_end_on_a_boundary(width):
    for channels in range(1, 5):
        for itemsize in (1, 2, 4):
            pixels = Layout.PITCHED.row_pixels(width, channels, itemsize)
            ends = [
                count for count in range(width, pixels + 1) if count * channels * itemsize % ROW_BYTES == 0
            ]
            assert ends == [pixels]
            assert Layout.PACKED.row_pixels(width, channels, itemsize) == width


def test_that_a_layout_is_found_by_its_name_and_another_name_is_refused():
    assert Layout.named("packed") is Layout.named(Layout.PACKED) is Layout.PACKED
    with pytest.raises(UnknownName, match=r"layout 'dense'.*Choose one of pitched, packed"):
        Layout.named("dense")
