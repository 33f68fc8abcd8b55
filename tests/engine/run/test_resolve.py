import numpy as np
import pytest

from engine.errors import BadValue, UnknownName
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.run.resolve import as_samples, describe_problem
from engine.tasks.filtering.problem import Problem


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
def test_that_native_types_are_taken_as_they_are(dtype):
    image = np.zeros((2, 3, 2), dtype)
    assert as_samples(image) is image or np.shares_memory(as_samples(image), image)
    assert as_samples(image).dtype == dtype


def test_that_other_types_are_converted_and_channels_get_an_axis():
    types = {"bool": "uint8", "int8": "float32", "int64": "float32", "float64": "float32",
             "float16": "float32", ">u2": "uint16", ">f4": "float32"}  # fmt: skip
    for dtype, taken in types.items():
        samples = as_samples(np.array([[0, 1], [1, 0]]).astype(dtype))
        assert (samples.dtype, samples.shape) == (np.dtype(taken), (2, 2, 1)), dtype
        assert samples[:, :, 0].tolist() == [[0, 1], [1, 0]], dtype
    # Not broadcast.
    assert as_samples(np.zeros((4, 8), np.float32)).strides == (32, 4, 4)
    # Too large for float32.
    assert as_samples(np.array([[1e300, -1e300]]))[0, :, 0].tolist() == [np.inf, -np.inf]


@pytest.mark.parametrize(
    "image", [np.zeros((4, 6))[::2, ::-1], np.asfortranarray(np.ones((3, 4, 2))), [[1, 2], [3, 4]]]
)
def test_that_samples_lie_in_one_piece(image):
    samples = as_samples(image)
    assert samples.flags.c_contiguous
    assert samples.flags.aligned
    assert samples.dtype.isnative


@pytest.mark.parametrize(
    ("image", "words"),
    [
        (np.zeros(5), "an array of 1 axis:"),
        (np.zeros((2, 2, 2, 2)), "an array of 4 axes"),
        (np.zeros((0, 5)), "it has no pixels"),
        (np.zeros((2, 5, 0)), "it has no pixels"),
        (np.zeros((2, 2, 5)), "groups of at most 4"),
        (np.zeros((2, 2), complex), "only real numbers"),
        (np.array([["a", "b"]]), "only real numbers"),
        (np.array([[None, 1]]), "only real numbers"),
    ],
)
def test_that_what_is_no_picture_is_refused_in_words(image, words):
    with pytest.raises(BadValue, match=words):
        as_samples(image)


def test_that_the_problem_is_read_off_picture_and_mask():
    found = describe_problem(np.zeros((2, 3, 4), np.uint16), Mask(np.ones((3, 4)), (0, 3)), "constant", 1.5)
    assert found == Problem(2, 3, 4, "uint16", (3, 4), (0, 3), Border.CONSTANT, 1.5)


@pytest.mark.parametrize(
    ("border", "cval", "error", "says"),
    [
        ("constant", cval, BadValue, "not a finite number of float32")
        for cval in (np.nan, np.inf, -np.inf, 1e39)
    ]
    + [("edge", 0.0, UnknownName, "edge")],
)
def test_that_a_border_or_a_constant_that_is_none_is_refused(border, cval, error, says):
    with pytest.raises(error, match=says):
        describe_problem(np.zeros((1, 1, 1), np.uint8), Mask([[1]]), border, cval)
