"""Results that are converted band by band: the bits, and the proof, of the whole float32 result."""

import numpy as np
import pytest

from engine.commands.batch_loop import Job
from engine.commands.batch_plan import PictureFile
from engine.commands.picture_opening import Opened
from engine.flow import stages
from engine.geometry.border import RANGE_MODES, Border
from engine.image.picture import Picture
from engine.verify.regions import CheckedSamples
from engine.work.filtering.oracle import regions_to_check, verify
from tests.engine.commands.works import filter_of

RANDOM = np.random.default_rng(5)
AFFORDABLE = 20_000  # multiply-adds: a grid of pixels is checked
SEED = 3


def picture_of(dtype, shape=(83, 41, 3), alpha=False):
    pixels = RANDOM.integers(0, np.iinfo(dtype).max + 1, shape, dtype)
    return Picture(pixels, pixels[..., 0].copy() if alpha else None)


def job_of(how, opened):
    return Job(PictureFile("in.png", "out.png", None), how, opened, how.call(opened))


def both_ways(monkeypatch, picture, dtype, mask, **changed):
    """Return the colours to save made band by band and made of a whole result, and the request."""
    monkeypatch.setattr(stages, "BAND_BYTES", 16 * 41 * 3 * 4)
    how, opened = filter_of(mask, **changed), Opened(picture, np.dtype(dtype))
    call = how.call(opened)
    assert job_of(how, opened).is_converted
    checked = CheckedSamples(
        call.samples.shape, np.dtype(np.float32), regions_to_check(call.problem, SEED, AFFORDABLE)
    )
    in_bands = np.empty(call.samples.shape, dtype)
    highest = max(band.length for band in stages.bands_to_convert(call))
    floats = np.empty((highest, *call.samples.shape[1:]), np.float32)
    loss = stages.convert(call, in_bands, floats, checked, how.saving.range)
    in_bands = in_bands.reshape(call.shape)
    finished = how.finished(call, opened, call.filter())
    assert loss.sentences(in_bands.size, in_bands.dtype) == finished.lost
    return in_bands, finished.picture.pixels, call, checked


@pytest.mark.slow
@pytest.mark.parametrize("mode", RANGE_MODES)
@pytest.mark.parametrize(
    ("source", "saved"), [(np.uint8, np.uint8), (np.uint8, np.uint16), (np.uint16, np.uint8)]
)
def test_that_a_result_in_bands_has_the_bits_of_a_whole_one(monkeypatch, mode, source, saved):
    mask = "0.3 -1.7 0.9; 2.2 0.1 -0.4; 0.7 -2.3 0.31"
    changed = {"range": mode, "depth": "keep" if source == saved else str(8 * np.dtype(saved).itemsize)}
    if mode == "clip" and source == saved:
        changed["result_type"] = "float32"
    # The kernel sees to the border, before anything is converted.
    for border in (Border.CONSTANT, Border.WRAP):
        in_bands, whole, *_ = both_ways(
            monkeypatch,
            picture_of(source),
            saved,
            mask,
            border=border,
            cval=7.5 * (border == "constant"),
            **changed,
        )
        assert in_bands.dtype == saved
        assert np.array_equal(in_bands, whole), border


def test_that_what_was_kept_is_verified_as_the_whole_result_is(monkeypatch):
    *_, request, checked = both_ways(monkeypatch, picture_of(np.uint8), np.uint8, "emboss", range="absolute")
    how = {"seed": SEED, "affordable": AFFORDABLE}
    values = request.filter()
    asked = request.samples, request.constant, request.problem
    proof = verify(checked, *asked, **how)
    assert proof.passed
    assert proof == verify(values, *asked, **how)
    assert 0 < proof.checked_pixels < proof.total_pixels
    for region in regions_to_check(request.problem, SEED, AFFORDABLE):
        row, column = (one[-1] for one in region.ranges)
        wrong = values.copy()
        wrong[row, column, 1] += 50
        checked.keep(0, wrong)
        proof = verify(checked, *asked, **how)
        assert f"row {row}, column {column}, channel 1" in proof.reason


def test_that_other_results_are_made_whole():
    for changed, source, saved, alpha, mask in [
        ({}, np.uint8, np.uint8, False, "sobel-x"),  # the kernel writes it
        ({"range": "absolute"}, np.uint8, np.uint8, False, "gaussian-5"),  # the same, as nothing is negative
        ({"range": "absolute", "alpha": "filter"}, np.uint8, np.uint8, True, "sobel-x"),
        ({"range": "absolute", "variant": "cpu-fft"}, np.uint8, np.uint8, False, "sobel-x"),
        ({}, np.uint8, np.float32, False, "sobel-x"),
        ({"range": "absolute"}, np.uint8, np.uint8, False, "1e38"),  # infinite results are noted
    ]:
        how, opened = filter_of(mask, **changed), Opened(picture_of(source, alpha=alpha), np.dtype(saved))
        assert not job_of(how, opened).is_converted


def test_that_results_that_cannot_be_negative_are_written_by_the_kernel_for_absolute_too():
    opened = Opened(picture_of(np.uint8), np.dtype(np.uint8))
    for mask, is_whole in (("gaussian-5", True), ("0 1 0", True), ("sobel-x", False)):
        request = filter_of(mask, range="absolute").call(opened)
        assert request.problem.is_quantised == is_whole
    below = filter_of("0 1 0", range="absolute", border=Border.CONSTANT, cval=-3.0)
    floats = below.call(opened)
    assert not floats.problem.is_quantised


def test_that_a_batch_saves_what_filter_saves_whatever_the_range(command, tmp_path):
    import engine

    engine.save_image(picture_of(np.uint8, (60, 50, 3), alpha=True), tmp_path / "in.png")
    for mode in RANGE_MODES:
        options = f"--mask sobel-y --range {mode} --device cpu"
        assert command("filter", tmp_path / "in.png", tmp_path / f"{mode}.png", options).status == 0
        answer = command("batch", tmp_path / "in.png", "--out", tmp_path / mode, options)
        assert (answer.status, "each verified" in answer.out) == (0, True)
        one, other = (
            engine.open_image(path) for path in (tmp_path / f"{mode}.png", tmp_path / mode / "in.png")
        )
        assert np.array_equal(one.pixels, other.pixels)
        assert np.array_equal(one.alpha, other.alpha)
