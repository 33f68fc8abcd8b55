import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.streams.bands import cut, rows_of_chunk
from engine.tasks.filtering.oracle import correlate
from engine.tasks.filtering.problem import Problem


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    rows, columns = draw(st.integers(1, 6)), draw(st.integers(1, 3))
    return Problem(
        height=draw(st.integers(1, 60)),
        width=draw(st.integers(1, 4)),
        mask_shape=(rows, columns),
        anchor=(draw(st.integers(0, rows - 1)), draw(st.integers(0, columns - 1))),
        border=draw(st.sampled_from(list(Border))),
        cval=3.0,
    )


@settings(max_examples=150, deadline=None)
@given(problem=problems(), wanted_rows=st.integers(1, 30))
def test_that_bands_filtered_apart_are_the_whole_and_have_about_the_wanted_height(problem, wanted_rows):
    random = np.random.default_rng(1)
    image = random.integers(-9, 9, (problem.height, problem.width, 1)).astype(np.float32)
    mask = Mask(random.integers(-3, 4, problem.mask_shape), problem.anchor)
    bands, found = cut(problem, wanted_rows), []
    for band in bands:
        rows = np.concatenate([image[first:last] for first, last in band.sources])
        assert len(rows) == band.rows
        result = correlate(rows, mask, problem.border, problem.cval)
        found.append(result[band.skip : band.skip + band.bottom - band.top])
    np.testing.assert_array_equal(np.concatenate(found), correlate(image, mask, problem.border, problem.cval))
    assert [0, *(band.bottom for band in bands)] == [*(band.top for band in bands), problem.height]
    heights = [band.bottom - band.top for band in bands]
    assert max(heights) - min(heights) <= 1
    assert max(heights) <= max(wanted_rows, 2 * problem.mask_shape[0])
    if len(bands) > 1:
        assert min(heights) >= problem.mask_shape[0]


def test_that_only_wrap_reads_the_rows_of_the_other_end():
    problem = Problem(100, 5, mask_shape=(5, 5), anchor=(2, 2), border=Border.WRAP)
    assert cut(problem, 50)[0].sources == ((98, 100), (0, 52))
    assert cut(problem, 50)[1].sources == ((48, 100), (0, 2))
    mirrored = Problem(100, 5, mask_shape=(5, 5), anchor=(2, 2), border=Border.MIRROR)
    assert cut(mirrored, 50)[0].sources == ((0, 52),)


@pytest.mark.parametrize(
    ("dtype", "result", "row_bytes"),
    [("uint8", "float32", 400), ("float32", "float32", 400), ("uint8", "uint8", 100)],
)
def test_that_a_chunk_is_measured_by_its_larger_copy(dtype, result, row_bytes):
    problem = Problem(100, 100, dtype=dtype, result_dtype=result)
    assert rows_of_chunk(problem, 10 * row_bytes) == 10
    assert rows_of_chunk(problem, 1) == 1
