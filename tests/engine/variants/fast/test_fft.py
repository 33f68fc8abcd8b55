"""`cpu-fft` and `fft`: tiles, errors that are stated and kept, integers, and pictures that are refused."""

import numpy as np
import pytest
import scipy.fft

import engine
from engine.geometry.block import Block, Limits, UnsupportedVariant
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.variants.fast import fft
from engine.work.filter_task import describe_problem
from engine.work.filtering import oracle
from engine.work.filtering.variants import variant
from tests.engine.variants.cases import verified

BLOCK = Block(1, 1)
RANDOM = np.random.default_rng(6)


def filtered(image, mask, border=Border.MIRROR, cval=0.0):
    problem = describe_problem(image, mask, border, cval)
    out = np.full(image.shape, np.nan, np.float32)
    fft.CPU_FFT.prepare(problem, mask, BLOCK).launch(image, out)
    verified(out, image, mask, problem, fft.CPU_FFT.added_to(problem, mask, image))
    return out


@pytest.mark.parametrize("border", list(Border))
def test_that_tiles_meet_without_a_seam(border, monkeypatch):
    monkeypatch.setattr(fft, "TILE_RESULTS", 20)
    image = RANDOM.standard_normal((70, 61, 3), np.float32)
    filtered(image, Mask(RANDOM.standard_normal((9, 14)), anchor=(0, 13)), border, 2.5)


def test_that_lengths_are_those_that_scipy_calls_fast():
    lengths = range(1, 5000)
    assert [fft.fast_length(n) for n in lengths] == [scipy.fft.next_fast_len(n, True) for n in lengths]


def test_that_whole_numbers_are_equal_bit_for_bit():
    image = RANDOM.integers(0, 256, (90, 80, 3), np.uint8)
    mask = Mask(RANDOM.integers(-8, 9, (31, 31)), offset=7.0)
    assert fft.CPU_FFT.added_error(describe_problem(image, mask, "zero", 0.0), mask) == 0.0
    assert np.array_equal(filtered(image, mask), oracle.correlate(image, mask, Border.MIRROR, 0.0))

    image = np.zeros((200, 200, 1), np.uint16)
    image[:50, :50] = 65535
    assert not filtered(image, Mask(np.full((9, 9), 1 / 64)))[70:, 70:].any()


def test_that_the_stated_error_is_larger_than_what_is_seen_in_the_dark():
    image = np.zeros((600, 600, 1), np.float32)
    image[:300] = RANDOM.random((300, 600, 1), np.float32)
    mask = Mask(RANDOM.standard_normal((31, 31)))
    problem = describe_problem(image, mask, "zero", 0.0)
    dark = np.abs(filtered(image, mask, Border.ZERO)[350:]).max()
    assert 0.0 < dark <= fft.CPU_FFT.added_error(problem, mask)
    assert fft.CPU_FFT.added_error(problem, mask) < 1e-10 * np.abs(mask.weights32).sum()


def test_that_a_few_values_far_above_all_others_leave_these_as_exact_as_they_are_alone():
    for border in list(Border):
        image = RANDOM.random((80, 70, 2), np.float32) * 50
        others, mask = image.copy(), Mask(RANDOM.standard_normal((9, 7)), offset=3.0)
        for row, column, channel, value in ((1, 2, 0, 1e20), (1, 3, 0, -3e19), (79, 69, 1, 1e12)):
            image[row, column, channel], others[row, column, channel] = value, 0.0
        # Of the wrapped ones, and of those at the edges, too.
        found, alone = filtered(image, mask, border, 2.5), oracle.correlate(others, mask, border, 2.5)
        apart = oracle.correlate(image - others, mask, border, 2.5) == oracle.correlate(
            0 * others, mask, border, 2.5
        )
        assert apart.mean() > 0.9
        assert np.abs(found - alone)[apart].max() < 1e-4


@pytest.mark.parametrize("strange", [np.nan, np.inf, -np.inf])
def test_that_a_picture_that_is_not_finite_is_refused_with_the_place(strange):
    image = np.ones((9, 8), np.float32)
    image[4, 6] = strange
    for run in (engine.correlate, engine.apply):
        with pytest.raises(UnsupportedVariant, match=r"Row 4, column 6.*Use cpu-parallel"):
            run(image, np.ones((3, 3)), variant="cpu-fft", device="cpu")


def test_that_a_missing_library_is_told_with_what_to_install(monkeypatch):
    monkeypatch.setattr(fft, "_has_cupy", lambda: False)
    mask = Mask(np.ones((3, 3)))
    problem = describe_problem(np.zeros((9, 9, 1), np.float32), mask, "zero", 0.0)
    refusal = variant("fft").unsupported(problem, mask, BLOCK, Limits())
    assert "pip install cupy" in str(refusal)


def test_that_8_bit_results_are_the_float32_ones_rounded_half_to_even():
    image = RANDOM.integers(0, 256, (40, 30, 1), np.uint8)
    mask = Mask(np.full((9, 9), 1 / 64), offset=-40.0)
    quantised = describe_problem(image, mask, "mirror", 0.0, "uint8")
    out = np.full(image.shape, 77, np.uint8)
    fft.CPU_FFT.prepare(quantised, mask, BLOCK).launch(image, out)
    assert np.array_equal(out, np.rint(np.clip(filtered(image, mask), 0, 255)))


def test_that_cufft_refuses_a_picture_that_it_would_flush_to_zero():
    chosen, picture = variant("fft"), np.zeros((3, 4, 1), np.float32)
    assert chosen.refuse_samples(picture) is None
    picture[1, 2] = 1e-31
    assert chosen.refuse_samples(picture).code == "samples-too-small"
    assert variant("cpu-fft").refuse_samples(picture) is None
    picture[0, 0] = 1e-30
    assert chosen.refuse_samples(picture) is None


def test_that_the_simulator_takes_no_kernels_of_a_library(monkeypatch):
    monkeypatch.setattr(fft, "_has_cupy", lambda: True)
    with pytest.raises(UnsupportedVariant) as refused:
        engine.correlate(np.ones((8, 8), np.float32), np.ones((3, 3)), variant="fft", device="simulator")
    assert refused.value.refusal.code == "not-ptx"
