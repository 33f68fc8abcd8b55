"""Results that the kernel writes in the type of the file: the same bits as float32 ones that are rounded."""

from dataclasses import replace
from itertools import cycle

import numpy as np
import pytest

import engine
from engine.commands.filtered_picture import load_code
from engine.commands.picture_opening import Opened
from engine.commands.picture_work import PictureWork
from engine.errors import EngineError
from engine.geometry.border import Border
from engine.image.convert import to_depth
from engine.image.format import Form
from engine.image.metadata import Metadata
from engine.image.open import open_sample
from engine.image.picture import Picture
from engine.mask.mask import Mask
from engine.work.filtering.variants import VARIANTS
from tests.engine.commands.works import filter_of
from tests.engine.image.encoded import smooth_rgb
from tests.fresh_python import fresh_python

WHOLE = [known.key for known in VARIANTS if known.device == "cpu" and known.integer_output]


def random_mask(generator, key):
    """Weights with many ties and values beyond both ends; products for the variant that takes no others."""
    rows, columns = generator.integers(1, 8, 2)
    column, row = generator.normal(0, 0.6, (rows, 1)), generator.normal(0, 0.6, (1, columns))
    kind = generator.integers(3)
    if kind == 0:
        column, row = np.round(column * 2) / 2, np.round(row * 2) / 2
    weights = column @ row
    if key != "cpu-separable" and kind == 1:
        weights = generator.normal(0, 0.4, (rows, columns))
    anchor = (int(generator.integers(rows)), int(generator.integers(columns)))
    return Mask(weights, anchor, offset=float(generator.choice([0.0, 0.5, -20.0, 90.25])))


@pytest.mark.slow
@pytest.mark.parametrize("key", WHOLE)
def test_that_whole_results_have_the_bits_of_float32_results_that_are_rounded(key):
    generator = np.random.default_rng(1)
    compared = 0
    for number, border in zip(range(24), cycle(Border), strict=False):
        dtype = (np.uint8, np.uint16)[number % 2]
        shape = (*generator.integers(8, 40, 2), *((3,), (2,), (4,), ())[number % 4])
        pixels = generator.integers(0, np.iinfo(dtype).max + 1, shape, dtype)
        mask = random_mask(generator, key)
        asked = {
            "border": border,
            "variant": key,
            "device": "cpu",
            "cval": float(generator.integers(-9, 300)) * border.takes_value,
        }
        try:
            floats = engine.correlate(pixels, mask, **asked)
        except EngineError:  # a mask that the variant does not take
            continue
        whole = engine.correlate(pixels, mask, **asked, result="same")
        assert whole.dtype == dtype
        assert np.array_equal(whole, to_depth(floats, dtype)), (shape, mask)
        compared += 1
    assert compared >= 8


def test_that_the_picture_to_save_is_the_same_with_either_type():
    for channels in [1, 3]:
        for alpha in ["keep", "filter", None]:
            pixels = smooth_rgb() if channels == 3 else smooth_rgb()[..., 0].copy()
            picture = Picture(
                pixels, None if alpha is None else smooth_rgb()[..., 1].copy(), metadata=Metadata(b"exif")
            )
            opened = Opened(picture, picture.dtype)
            found = []
            for result_type in ("auto", "float32"):
                how = filter_of("sharpen", alpha=alpha or "keep", result_type=result_type)
                call = how.call(opened)
                assert call.problem.is_quantised == (result_type == "auto")
                found.append(how.finished(call, opened, call.filter()))
            (whole, no_notes, *_), (rounded, no_more_notes, *_) = found
            assert (no_notes, no_more_notes) == ((), ())
            assert np.array_equal(whole.pixels, rounded.pixels)
            assert whole.alpha is rounded.alpha is None or np.array_equal(whole.alpha, rounded.alpha)
            assert whole.metadata == rounded.metadata == Metadata(b"exif")


def test_that_float32_results_stay_where_something_depends_on_them():
    for changed, saved, mask, result in [
        ({"range": "absolute"}, np.uint8, "sobel-x", "float32"),
        # Nothing of it can be negative.
        ({"range": "absolute"}, np.uint8, "gaussian-5", "uint8"),
        ({"range": "absolute"}, np.uint8, "0 1 0", "uint8"),
        ({"range": "absolute", "border": "constant", "cval": -3.0}, np.uint8, "0 1 0", "float32"),
        ({}, np.uint16, "sobel-x", "float32"),
        ({}, np.float32, "sobel-x", "float32"),
        ({"result_type": "float32"}, np.uint8, "sobel-x", "float32"),
        ({"variant": "cpu-box"}, np.uint8, "box:5", "float32"),  # it writes float32 only
        ({}, np.uint8, "3e38 -3e38", "float32"),  # infinity is counted in a note
    ]:
        request = filter_of(mask, **changed).call(Opened(open_sample("camera"), np.dtype(saved)))
        assert request.problem.result_dtype == result, (changed, mask)


def test_that_the_variant_and_its_reason_are_those_for_float32():
    opened = Opened(Picture(np.zeros((300, 400, 3), np.uint8)), np.dtype(np.uint8))
    floats, whole = (
        filter_of("gaussian:9:1.5", result_type=result_type).call(opened)
        for result_type in ("float32", "auto")
    )
    assert whole.choice == floats.choice
    assert (whole.request.result_type, floats.request.result_type) == ("same", "float32")


def test_that_what_filters_is_imported_while_the_picture_is_opened():
    """Its import takes 70 ms, which decoding takes too."""
    fresh_python(
        "-c",
        "import sys\n"
        "from engine.commands.arguments import read\n"
        "from engine.commands.filtering import FilterSettings\n"
        "read('filter', FilterSettings, ['in.png', 'out.png', '--mask', 'box-3'])\n"
        "later = {'engine.api.filtering', 'engine.run.task', 'engine.work.filtering.variants', 'llvmlite'}\n"
        "assert not later & set(sys.modules), later & set(sys.modules)",
    )


def test_that_the_code_for_a_form_is_loaded_before_the_picture_is_there(monkeypatch):
    prepared, call, form = [], PictureWork.call, Form(30, 40, 3, False, np.dtype(np.uint8))

    def watched(*given):
        request = call(*given)
        chosen = replace(request.choice.variant, prepare=lambda *given: prepared.append(given))
        request.choice = request.choice._replace(variant=chosen)
        return request

    monkeypatch.setattr(PictureWork, "call", watched)
    load_code(filter_of("box-3"), form)
    ((problem, _, _),) = prepared
    assert (problem.height, problem.width, problem.channels, problem.is_quantised) == (30, 40, 3, True)
    # Refused, or not for the CPU: nothing is loaded, and the error is left to the picture itself.
    for changed in ({"max_bytes": 100}, {"variant": "tield"}, {"variant": "naive", "device": "simulator"}):
        load_code(filter_of("box-3", **changed), form)
    load_code(filter_of("box-3"), Form(0, 40, 3, False, np.dtype(np.uint8)))
    assert len(prepared) == 1
