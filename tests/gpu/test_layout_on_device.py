"""Pitched and packed rows on a real device, at a width that is a multiple of nothing."""

from dataclasses import replace

import numpy as np
import pytest

import engine
from engine.geometry.border import Border
from engine.geometry.layout import ROW_BYTES, Layout
from engine.run.job import filter_job
from engine.run.measure import measure
from engine.run.sampling import NO_SAMPLES
from engine.variants.auto.planner import Choice
from tests.gpu.test_variants_on_device import CUDA, suiting

HEIGHT, WIDTH = 67, 1001

both_layouts = pytest.mark.parametrize("layout", list(Layout))
both_pictures = pytest.mark.parametrize(("dtype", "channels"), [("uint8", 3), ("float32", 1)])


def picture_of(dtype, channels, width=WIDTH):
    return np.random.default_rng(3).integers(0, 256, (HEIGHT, width, channels)).astype(dtype)


@both_layouts
@both_pictures
def test_that_rows_lie_on_the_device_as_the_layout_says(dtype, channels, layout, gpu):
    picture = picture_of(dtype, channels)
    buffers = gpu.allocate(picture, layout=layout)
    for array, itemsize in ((buffers.image, picture.itemsize), (buffers.out, 4)):
        row_bytes = array.strides[0]
        assert array.__cuda_array_interface__["data"][0] % ROW_BYTES == 0
        dense_bytes = WIDTH * channels * itemsize
        assert row_bytes == dense_bytes if layout is Layout.PACKED else row_bytes % ROW_BYTES == 0
        assert row_bytes >= dense_bytes


@both_layouts
@pytest.mark.parametrize("form", ["dense", "every other column", "mirrored", "Fortran"])
@both_pictures
def test_that_a_picture_comes_back_from_the_device_as_it_went_there(dtype, channels, form, layout, gpu):
    picture = picture_of(dtype, channels, 2 * WIDTH)[:, ::2]
    if form == "dense":
        picture = np.ascontiguousarray(picture)
    elif form == "mirrored":
        picture = picture[::-1, ::-1]
    elif form == "Fortran":
        picture = np.asfortranarray(picture)
    buffers = gpu.allocate(picture, layout=layout)
    gpu.upload(picture, buffers)
    assert np.array_equal(buffers.image.copy_to_host()[:, :WIDTH], picture)
    # Out again, into the host's memory as it comes and into every other column of a larger array.
    out = picture.astype(np.float32)
    padded = np.full(buffers.out.shape, np.nan, np.float32)
    padded[:, :WIDTH] = out
    buffers.out.copy_to_device(padded)
    assert np.array_equal(gpu.download(buffers), out)
    wide = np.full((HEIGHT, 2 * WIDTH, channels), -1.0, np.float32)
    assert np.array_equal(gpu.download(replace(buffers, host_out=wide[:, ::2])), out)
    assert np.array_equal(wide[:, ::2], out)
    assert (wide[:, 1::2] == -1.0).all()


@both_pictures
@pytest.mark.parametrize("variant", CUDA, ids=lambda variant: variant.key)
def test_that_both_layouts_are_verified_and_give_the_same(variant, dtype, channels, gpu):
    problem, mask, picture = suiting(variant, picture_of(dtype, channels), Border.MIRROR)
    results = []
    for layout in Layout:
        choice = Choice(variant, variant.default_block)
        outcome = measure(filter_job(choice, problem, mask, picture, layout=layout), gpu, NO_SAMPLES)
        assert outcome.result.failure == ""
        assert outcome.result.layout == layout
        assert outcome.result.verification.passed, outcome.result.verification.reason
        results.append(outcome.values)
    assert np.array_equal(*results)


@both_layouts
def test_that_a_caller_may_pass_an_array_that_is_not_dense(layout, device):
    dense = picture_of("uint8", 3)
    spread = np.repeat(dense, 2, axis=1)[:, ::2]
    assert not spread.flags.c_contiguous
    found = [
        engine.apply(picture, [[1, 2, 1]], variant="naive", device=device, layout=layout, budget_s=0.0)
        for picture in (dense, spread)
    ]
    assert [one.result.layout for one in found] == [layout, layout]
    assert np.array_equal(found[0].values, found[1].values)
