"""`import haloscope`: the Python calls of an installation, against sums written out here."""

import subprocess
import sys
from pathlib import Path

import haloscope
import numpy as np
import pytest

SAMPLES = Path(haloscope.__file__).parent / "assets" / "samples"
NUMBERS = np.arange(20, dtype=np.uint8).reshape(4, 5)


def shifted_sums(image, mask):
    """Return the correlation with zeros outside, of whole numbers."""
    rows, columns = np.array(mask.shape) // 2
    padded = np.pad(image.astype(np.int64), ((rows, rows), (columns, columns)))
    height, width = image.shape
    return sum(
        weight * padded[row : row + height, column : column + width]
        for (row, column), weight in np.ndenumerate(mask)
    )


@pytest.mark.parametrize("variant", ["auto", "cpu-serial", "cpu-parallel", "cpu-fft"])
def test_that_correlate_gives_the_sums(variant):
    mask = np.array([[1, 0, -2], [3, 1, 0], [0, -1, 2]])
    sums = haloscope.correlate(NUMBERS, mask, variant=variant, device="cpu")
    assert np.array_equal(sums, shifted_sums(NUMBERS, mask))


def test_that_the_simulator_says_what_it_needs_where_the_cuda_compiler_is_not_installed():
    with pytest.raises(haloscope.DeviceUnavailable, match=r"pip install 'haloscope\[cuda\]'"):
        haloscope.apply(NUMBERS, [[1, 2, 1]], variant="tiled", device="simulator")


def test_that_a_picture_is_saved_as_it_was_opened(elsewhere):
    picture = haloscope.open_image(SAMPLES / "gradient-16.png")
    haloscope.save_image(picture, elsewhere / "kept.tif")
    assert np.array_equal(haloscope.open_image(elsewhere / "kept.tif").pixels, picture.pixels)


def test_that_the_network_reads_its_weights():
    one = np.zeros((28, 28))
    one[4:24, 13:15] = 1.0
    assert haloscope.network(one, device="cpu").digits == 1


def test_that_matrices_are_multiplied():
    assert haloscope.matmul([[1, 2], [3, 4]], [[1], [10]], variant="numpy").tolist() == [[21], [43]]


def test_that_an_error_names_what_an_installation_has():
    with pytest.raises(haloscope.EngineError, match=r"haloscope masks"):
        haloscope.preset("no-such-preset")


def test_that_a_missing_dask_is_said_in_words():
    with pytest.raises(haloscope.EngineError, match=r"needs Dask: pip install 'haloscope\[cluster\]'"):
        haloscope.filter_dask(NUMBERS, "box:3")


def test_that_importing_it_loads_neither_numba_nor_qt_nor_dask():
    code = "import haloscope, sys; print({'numba', 'PySide6', 'numpy', 'dask'} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "set()"
