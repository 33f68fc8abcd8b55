"""`separable-fused`: refusals, tiles and rings, and the emitted code."""

import re

import numpy as np
import pytest

from engine.geometry.block import UnsupportedVariant
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.variants.fused import separable_fused, shape
from engine.variants.fused.separable_fused import VARIANT
from engine.variants.fused.weighted_sums import rounds_of
from engine.variants.ir.register_tile import VECTOR
from engine.work.filter_task import describe_problem
from tests.engine.variants import emitted
from tests.engine.variants.cases import problem_of
from tests.engine.variants.executed import check_executed

BLOCK = VARIANT.default_block


def product(rows, columns, anchor=None):
    """Return a mask of rank 1 without a zero."""
    return Mask(
        np.outer(emitted.RANDOM.uniform(0.1, 1, rows), emitted.RANDOM.uniform(0.1, 1, columns)), anchor
    )


def test_that_a_mask_that_is_no_product_has_no_passes():
    mask = Mask([[1, 2], [3, 4]])
    assert "one column times one row" in emitted.refused(VARIANT, problem_of(50, 50, mask), mask)
    with pytest.raises(UnsupportedVariant, match="two passes"):
        VARIANT.passes(problem_of(50, 50, mask), mask, BLOCK)


CASES = {
    "wide": ((2, 45, 3), 2, 31, (1, 30), Border.CONSTANT),
    "two blocks across, one mask row": ((3, 130, 1), 1, 17, (0, 0), Border.REFLECT),
    "two blocks down": ((35, 5, 1), 4, 7, (3, 0), Border.CONSTANT),
    "two blocks across": ((20, 70, 1), 3, 31, (0, 30), Border.MIRROR),
    "high": ((18, 5, 1), 63, 2, None, Border.MIRROR),
    "high, three channels": ((3, 2, 3), 63, 3, (62, 2), Border.WRAP),
    "strips": ((66, 5, 1), 37, 5, None, Border.CONSTANT),
    "strips of bytes": ((40, 5, 3), 63, 2, None, Border.REFLECT),
    "very wide": ((20, 2, 2), 2, 63, None, Border.ZERO),
}


@pytest.mark.slow
@pytest.mark.parametrize("is_large", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_that_tiles_and_rings_agree_with_oracle_and_model(name, is_large, monkeypatch):
    # Else only large pictures are filtered by rings with several steps and strips.
    monkeypatch.setattr(separable_fused, "MOST_TILE_ROWS", 0 if is_large else 99)
    monkeypatch.setattr(shape, "rows_of_strips", lambda *_, step, least: step)
    picture, rows, columns, anchor, border = CASES[name]
    dtype = "uint8" if "bytes" in name else "float32"
    image = emitted.RANDOM.uniform(0, 255, picture).astype(dtype)
    if dtype == "float32" and picture[0] > 18:
        image[3, 1, 0], image[17, 1, 0] = np.nan, np.inf
    mask = product(rows, columns, anchor)
    check_executed(VARIANT, describe_problem(image, mask, border, 2.5), mask, image)


@pytest.mark.slow
@emitted.needs_nvvm
@pytest.mark.parametrize("capability", [(7, 5), (9, 0)], ids=str)
@pytest.mark.parametrize(
    ("side", "dtype", "channels"),
    [(5, "float32", 1), (15, "uint8", 3), (31, "uint16", 1), (63, "float32", 4)],
)
def test_that_loads_and_stores_are_whole_vectors(side, dtype, channels, capability):
    mask = product(side, side)
    problem = problem_of(5000, 7000, mask, channels, dtype)
    ptx, found = emitted.ptx_of(VARIANT, problem, mask, capability), separable_fused.fused_shape(problem)
    if dtype == "float32" and capability > (8, 0):
        assert re.search(r"cp\.async\.ca\.shared\.global \[%r\d+\+0\], \[%rd\d+\+0\], 16;", ptx)
        assert set(re.findall(r"cp\.async\.wait_group (\d+);", ptx)) == {"0"}
    assert "ld.shared.v4.f32" in ptx
    assert "ld.const" in ptx
    # Else neighbouring threads store neighbouring samples.
    assert ("st.global.v4.f32" in ptx) == (found.size.columns == VECTOR)
    # A round of the loops, and what comes after the last one; the compiler may write the loop over rows out.
    along, down = (
        written(windows, 1, at_once)
        for windows, at_once in ((found.along, 16), (found.down, max(8, found.size.rows)))
    )
    rows, rest = divmod(emitted.multiply_adds(ptx) - down, along)
    assert rest == 0
    assert 1 <= rows <= 8


def written(windows, products, at_once):
    """Return the multiply-adds in the code of some windows, those of its loop once."""
    rounds = rounds_of(windows, products, at_once)
    return products * windows.count * (windows.length - max(rounds - 1, 0) * at_once)
