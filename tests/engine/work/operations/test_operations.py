"""The oracles by other definitions, the bounds, parameters and pictures that are refused, what is found."""

import colorsys
import io
import math
import re
from dataclasses import replace

import numpy as np
import pytest
import scipy.fft
import scipy.ndimage
from PIL import Image

import engine
from engine.device.devices import backend
from engine.errors import BadValue, EngineError, UnknownName
from engine.image.metadata import BRIGHTNESS_TABLE
from engine.image.open import open_sample
from engine.run.task import compute
from engine.variants.operations import counts, find_patch, jpeg
from engine.verify.verification import Region
from engine.work.operations.contract import OPERATIONS, Mark, Range, operation_named, parameters_from
from engine.work.operations.patch import BACKGROUND, BAR, corner_of, histogram_picture, marked
from engine.work.resolve import Resolved
from tests.picture_jobs import operation_request

RANDOM = np.random.default_rng(8)


def picture(height=9, width=11, channels=3, dtype="uint8"):
    if dtype == "float32":
        return RANDOM.random((height, width, channels), np.float32)
    return RANDOM.integers(0, np.iinfo(dtype).max, (height, width, channels), dtype, endpoint=True)


def problem_of(key, samples, **settings):
    resolved = Resolved(operation_request(operation=key, settings=settings), samples)
    return resolved.problem, resolved.constant


def exact(key, samples, **settings):
    """Return what the oracle of an operation says of the whole picture."""
    problem, _ = problem_of(key, samples, **settings)
    known = OPERATIONS[key]
    half = known.window(problem.parameters)
    around, side = ((half, half), (half, half), (0, 0)), (2 * half + 1, 2 * half + 1)
    ones = np.ones((*samples.shape[:2], 1), bool)
    padded = np.pad(samples.astype(np.float64), around, "edge"), np.pad(ones, around)
    cells, inside = (np.lib.stride_tricks.sliding_window_view(one, side, (0, 1)) for one in padded)
    return known.of_cells.ranges(Range(cells, cells, cells, inside), problem).value


def test_that_every_operation_has_legal_defaults():
    for operation in OPERATIONS.values():
        assert operation.read({}) == {one.name: one.default for one in operation.parameters}
        assert all(one.explanation and one.title for one in operation.parameters)


def test_that_negative_and_desaturate_are_their_definitions():
    samples = picture()
    assert np.array_equal(exact("negative", samples), 255 - samples.astype(int))
    grey = exact("desaturate", samples, weights="rec709")
    by_hand = [0.2126, 0.7152, 0.0722] @ samples[2, 3].astype(float)
    assert grey[2, 3].tolist() == pytest.approx([by_hand] * 3, rel=1e-6)


def correlations(picture, patch):
    """Return the normalised correlation of a patch with each window, by the definition in float64."""
    windows = np.lib.stride_tricks.sliding_window_view(picture.astype(np.float64), patch.shape)
    windows = windows - windows.mean(axis=(2, 3), keepdims=True)
    own = patch.astype(np.float64) - patch.astype(np.float64).mean()
    return (windows * own).sum(axis=(2, 3)) / np.sqrt((windows**2).sum(axis=(2, 3)) * (own**2).sum())


@pytest.mark.slow
def test_that_an_exact_copy_is_found_on_any_level_beside_one_with_noise():
    for seed in range(2):
        for level, texture, dtype in [
            (1e6, 1.0, "float32"), (-3e6, 4.0, "float32"), (1.0, 1e-5, "float32"), (65000, 3, "uint16"),
            (0, 1e-12, "float32"),
        ]:  # fmt: skip
            random = np.random.default_rng(seed)
            scene = (level + random.random((40, 40)) * texture).astype(dtype)
            patch = scene[5:11, 6:12].copy()
            noise = random.normal(0, 0.06 * texture + 0.5 * (dtype == "uint16"), patch.shape)
            scene[25:31, 20:26] = (patch + noise).astype(dtype)
            found = engine.operate(scene, "find-patch", patch=patch, device="cpu", budget_s=0.01)
            exact = correlations(scene, patch)
            assert np.unravel_index(exact.argmax(), exact.shape) == (5, 6)
            assert (found.mark.row, found.mark.column, found.result.is_proven) == (5, 6, True)
            assert found.numbers["score"] == pytest.approx(1.0, abs=1e-5)
            assert found.result.verification.bound < 1e-4


@pytest.mark.slow
def test_that_bilateral_keeps_a_texture_on_a_high_level():
    scene = (1e6 + np.random.default_rng(3).random((20, 21))).astype(np.float32)
    found = engine.operate(scene, "bilateral", size=3, colour=0.5, device="cpu", budget_s=0.01)
    low = (scene - np.float32(1e6)).astype(np.float64)
    padded = np.pad(low, 1, mode="edge")
    total, sums = np.zeros_like(low), np.zeros_like(low)
    for m, n in ((0, 0), (0, 1), (1, 0), (0, -1), (-1, 0)):
        cells = padded[1 + m : 21 + m, 1 + n : 22 + n]
        weights = np.exp(-(m * m + n * n) / 8.0 - (cells - low) ** 2 / (2 * 0.25))
        total, sums = total + weights, sums + weights * cells
    assert found.result.is_proven
    # Half a step of float32 there, and rounding.
    assert np.abs(found.picture.astype(np.float64) - 1e6 - sums / total).max() < 0.04


def test_that_hue_shift_agrees_with_the_colour_conversions_of_the_standard_library():
    for degrees in [0, 60, 120, -33.3, 300]:
        samples = picture(dtype="float32")
        turned = exact("hue-shift", samples, degrees=degrees)
        for pixel, found in zip(samples.reshape(-1, 3).tolist(), turned.reshape(-1, 3).tolist(), strict=True):
            hue, saturation, value = colorsys.rgb_to_hsv(*pixel)
            wanted = colorsys.hsv_to_rgb((hue + degrees / 360) % 1, saturation, value)
            assert found == pytest.approx(wanted, abs=1e-6)


def test_that_the_median_is_numpys_with_repeated_edges():
    samples = picture(7, 6, 2, "float32")
    samples[2, 3, 1] = np.nan
    for size in (3, 5):
        half = size // 2
        padded = np.pad(samples, ((half, half), (half, half), (0, 0)), mode="edge").astype(float)
        found = exact("median", samples, size=size)
        for row, column, channel in np.ndindex(samples.shape):
            window = padded[row : row + size, column : column + size, channel]
            assert np.array_equal(found[row, column, channel], np.median(window), equal_nan=True)


@pytest.mark.slow
def test_that_bins_are_exact_and_counts_those_of_numpy():
    samples = np.array([0, 15, 16, 255], np.uint8)
    assert counts.bins_of(samples, 16).tolist() == [0, 0, 1, 15]
    assert counts.bins_of(np.array([0, 255, 256, 65535], np.uint16), 256).tolist() == [0, 0, 1, 255]
    floats = np.array([-1, 0, 0.25, 0.9999, 1, 7, np.nan, np.inf, -np.inf], np.float32)
    assert counts.bins_of(floats, 4).tolist() == [0, 0, 1, 3, 3, 3, -1, 3, 0]
    for dtype in ("uint8", "uint16", "float32"):
        for shape in ((1, 9, 4), (23, 31, 3)):
            samples = picture(*shape, dtype)
            top = 1.0 if dtype == "float32" else np.iinfo(dtype).max + 1.0
            found = engine.operate(samples, "histogram", bins=32, device="cpu").counts
            for channel, found_counts in enumerate(found):
                own = samples[..., channel].astype(float)
                assert np.array_equal(found_counts, np.histogram(own, 32, (0, top))[0])


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
def test_that_equalisation_gives_the_share_of_darker_samples(dtype):
    samples = picture(9, 11, 2, dtype)
    samples[..., 1] = samples[0, 0, 1]
    found = engine.operate(samples, "equalise", bins=32, device="cpu").picture
    bins, white = counts.bins_of(samples, 32)[..., 0], {"uint8": 255, "uint16": 65535, "float32": 1}[dtype]
    in_darkest = int((bins == bins.min()).sum())
    for row, column in np.ndindex(bins.shape):
        above = int((bins <= bins[row, column]).sum()) - in_darkest
        level = white * above / (bins.size - in_darkest)
        rounding = 4 * 2.0**-24 if dtype == "float32" else 0.5
        assert abs(float(found[row, column, 0]) - level) <= rounding
    assert np.array_equal(found[..., 1], samples[..., 1])


def test_that_equalisation_of_a_photograph_in_8_bit_follows_the_usual_table():
    """White times the share of samples above the darkest level, which is 0, as OpenCV has it too."""
    grey = open_sample("camera").pixels
    grey = np.ascontiguousarray(grey.reshape(*grey.shape[:2], -1)[..., 0] // 2 + 60)
    found = engine.operate(grey, "equalise", device="cpu").picture
    counts = np.bincount(grey.ravel(), minlength=256)
    first = int(np.flatnonzero(counts)[0])
    scale = 255 / (grey.size - counts[first])
    table = np.floor((np.cumsum(counts) - counts[first]) * scale + 0.5)
    assert np.array_equal(found.squeeze(), table[grey].astype(np.uint8))
    assert (found.min(), found.max()) == (0, 255)


def test_that_scores_are_the_correlation_coefficients_of_numpy():
    samples = picture(8, 9, 2, "uint16")
    problem, patch = problem_of("find-patch", samples, width=4, height=3)
    rows, columns, _ = problem.result_shape
    score, limits = find_patch.scores(samples, patch, Region(0, rows, 0, columns))
    _, bound = limits()
    row, column = corner_of(samples, problem.parameters)
    cells = samples[row : row + 3, column : column + 4].astype(float).ravel()
    for i, j, _ in np.ndindex(score.shape):
        window = samples[i : i + 3, j : j + 4].astype(float).ravel()
        assert score[i, j, 0] == pytest.approx(np.corrcoef(cells, window)[0, 1], abs=1e-6)
    assert (bound > 0).all()
    assert bound.max() < 1e-5


def test_that_the_transform_is_orthonormal_and_its_steps_are_those_of_a_jpeg_file():
    cosines = jpeg.basis64()
    assert np.allclose(cosines @ cosines.T, np.eye(8), atol=1e-15)
    assert jpeg.zigzag()[:10].tolist() == [0, 1, 8, 16, 9, 2, 3, 10, 17, 24]
    assert jpeg.zigzag()[-3:].tolist() == [55, 62, 63]
    problem, _ = problem_of("compress", picture(), quality=50)
    assert np.array_equal(jpeg.steps_of(problem), BRIGHTNESS_TABLE)
    problem, _ = problem_of("compress", picture(), quality=100)
    assert jpeg.steps_of(problem).max() == 1
    for quality in [1, 3, 25, 49, 50, 51, 75, 95, 100]:
        problem, _ = problem_of("compress", picture(), quality=quality)
        table = saved_as_jpeg(picture(8, 8, 1)[..., 0], quality)[1]
        assert np.array_equal(jpeg.steps_of(problem), table)
        problem, _ = problem_of("compress", picture(dtype="uint16"), quality=quality)
        assert np.array_equal(jpeg.steps_of(problem), table * 257)


def saved_as_jpeg(samples, quality):
    """Return a grey picture as Pillow writes it: the file's bytes, its table, and what is read back."""
    file = io.BytesIO()
    Image.fromarray(samples).save(file, "JPEG", quality=quality, optimize=True)
    with Image.open(io.BytesIO(file.getvalue())) as opened:
        return len(file.getvalue()), np.reshape(opened.quantization[0], (8, 8)), np.asarray(opened)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["camera", "noise", "zone-plate"])
@pytest.mark.parametrize("quality", [5, 50, 90])
def test_that_coefficients_are_scipys(name, quality):
    pixels = open_sample(name).pixels
    samples = np.ascontiguousarray(pixels.reshape(*pixels.shape[:2], -1)[:203, :197, 0])
    operated = engine.operate(samples, "compress", quality=quality, device="cpu")
    rows, columns = (jpeg.filled(side) for side in samples.shape)
    whole_blocks = np.pad(samples, ((0, rows - 203), (0, columns - 197)), mode="edge") - 128.0
    parts = whole_blocks.reshape(rows // 8, 8, columns // 8, 8).transpose(0, 2, 1, 3)
    size, table, decoded = saved_as_jpeg(samples, quality)
    exact = scipy.fft.dctn(parts, axes=(2, 3), norm="ortho") / table
    levels = operated.values[:rows, :, 0].reshape(rows // 8, 8, columns // 8, 8).transpose(0, 2, 1, 3)
    assert (np.abs(levels - exact) <= 0.5 + 1e-3).all()
    noise = 10 * np.log10(255**2 / np.mean((decoded.astype(float) - samples) ** 2))
    assert operated.numbers["psnr_db"] == pytest.approx(noise, abs=0.1)
    # Pillow counts its symbols too; its header and tables are shorter by up to 150 bytes.
    assert abs(operated.numbers["estimated_bytes"] - size) <= 150 + 0.02 * size


def test_that_a_size_is_estimated_in_parts_as_in_one(monkeypatch):
    levels = np.rint(RANDOM.laplace(0.0, 0.7, (48, 40, 3)))
    levels[8:16] = 0.0
    whole_size = jpeg.estimated_bytes(levels)
    monkeypatch.setattr(jpeg, "_BLOCKS_AT_ONCE", 1)
    assert jpeg.estimated_bytes(levels) == whole_size
    # By hand: of two blocks one has 5 first, then 17 zeros and a 1 (a symbol for sixteen of them), and ends.
    levels = np.zeros((8, 16, 1))
    levels[0, 0, 0] = 5.0
    levels[tuple(divmod(int(jpeg.zigzag()[18]), 8))] = 1.0
    # First cells: sizes 3 (5) and 3 (0 - 5): one symbol, no bits, and 3 bits each; then four symbols of which
    # the end of a block occurs twice, 2 + 2 + 2 x 1 bits, and a bit for the 1.
    assert jpeg.estimated_bytes(levels) == jpeg.HEADER_BYTES + math.ceil((6 + 6 + 1) / 8)


def test_that_the_noise_of_an_unchanged_picture_is_said_in_words():
    grey = np.full((8, 8, 1), 128, np.uint8)
    problem = OPERATIONS["compress"].problem(grey, {"quality": 50})
    values = np.concatenate([np.zeros_like(grey), grey]).astype(np.float32)
    noise, *_ = jpeg.answer(values, problem, grey).quantities
    assert (noise.value, noise.text) == (math.inf, "infinite (nothing changed)")


def changed(key, change, **settings):
    """Return the verification of a right result after a change of it."""
    # Neither black nor white, so that more of a sample is another one; the same after whatever ran before.
    samples = np.random.default_rng(8).integers(5, 250, (16, 16, 3), np.uint8)
    resolved = Resolved(operation_request(operation=key, settings=settings, device="cpu"), samples)
    operated = engine.operate(resolved.samples, key, device="cpu", **settings)
    values = operated.values.copy()
    change(values)
    job = resolved.job()
    return job.task.verify(values, job, lambda _: None)


def add(place, amount):
    return lambda values: values.__setitem__(place, values[place] + values.dtype.type(amount))


@pytest.mark.slow
def test_that_only_a_right_value_is_verified():
    for key, place, amount in [
        ("negative", (3, 4, 1), 1), ("desaturate", (3, 4, 1), 2), ("hue-shift", (3, 4, 1), 2),
        ("histogram", (1, 200, 0), 1), ("median", (15, 15, 2), 1), ("find-patch", (0, 0, 0), 1e-4),
        ("compress", (3, 4, 1), 1), ("compress", (3, 4, 1), 0.5), ("compress", (20, 4, 1), 0.01),
        ("compress", (20, 4, 1), math.nan),
    ]:  # fmt: skip
        settings = {"width": 5, "height": 5} if key == "find-patch" else {}
        assert changed(key, add(place, 0), **settings).passed
        verification = changed(key, add(place, amount), **settings)
        assert not verification.passed, (key, amount)
        assert verification.reason.startswith("not verified: ")


def verified(key, samples, change=lambda values: None, affordable=None, seed=0, report=lambda _: None):
    """Return the verification of a CPU variant's result after a change of it."""
    resolved = Resolved(operation_request(operation=key, device="cpu"), samples)
    values = compute(resolved.job(), backend("cpu"))
    change(values)
    job = replace(resolved.job(), seed=seed, affordable=affordable)
    return job.task.verify(values, job, report)


@pytest.mark.slow
def test_that_the_first_and_the_last_rows_of_blocks_are_always_checked_and_what_is_wrong_is_told():
    samples = picture(8 * 30 + 3, 9, 1)
    for seed in (0, 5, 17):
        proof = verified("compress", samples, affordable=1, seed=seed)
        assert proof.passed
        assert 11 * 9 <= proof.checked_pixels < proof.total_pixels
        for row in (0, 247, 248, 2 * 248 - 1):
            wrong = verified("compress", samples, add((row, 8, 0), 3), affordable=1, seed=seed)
            assert not wrong.passed, row
    for amount, value in ((0.5, r".*\.5"), (math.nan, "nan")):
        found = verified("compress", picture(8, 8, 1), add((2, 3, 0), amount))
        assert re.search(f"coefficient at row 2, column 3, channel 0 is {value}, ", found.reason)


def test_that_a_histogram_is_counted_in_bands_between_which_it_can_be_stopped(monkeypatch):
    monkeypatch.setattr(counts, "_BAND_SAMPLES", 60)
    steps = []
    samples = picture(9, 11, 3, "float32")
    samples[4, 4, 1] = np.nan
    assert verified("histogram", samples, report=steps.append).passed
    assert steps == [row / 9 for row in range(9)]
    assert not verified("histogram", samples, add((2, 255, 0), 1)).passed


REFUSED = [
    ("meidan", {}, picture(), r"operation 'meidan': there is no such operation\. Did you mean median\?"),
    (None, {}, picture(), "there is no such operation"),
    ("negative", {"size": 3}, picture(), "size of negative: the operation has no parameters. Leave it out"),
    ("median", {"sise": 3}, picture(), "sise of median: .*no such parameter. Choose one of size"),
    ("median", {"size": 4}, picture(), "size 4: it is not one of 3, 5. Give size=3"),
    ("median", {"size": "big"}, picture(), "size 'big': it is not one of 3, 5"),
    ("hue-shift", {"degrees": 361}, picture(), "degrees 361: it is not a number from -360 to 360"),
    ("hue-shift", {"degrees": math.nan}, picture(), "degrees nan: it is not a number"),
    ("hue-shift", {"degrees": None}, picture(), "degrees None: it is not a number"),
    ("desaturate", {"weights": "rec2020"}, picture(), "one of rec601, rec709, equal"),
    ("histogram", {"bins": 100}, picture(), "bins 100: it is not one of 4, 8"),
    ("compress", {"quality": 0}, picture(), "quality 0: it is not a whole number from 1 to 100"),
    ("compress", {"quality": 50.5}, picture(), "quality 50.5: it is not a whole number"),
    ("compress", {"quality": True}, picture(), "quality True: it is not a whole number"),
    ("compress", {"quality": "9" * 90}, picture(), "…: it is not a whole number"),
    ("desaturate", {}, picture(channels=1), "a grey picture: .* Take one of three channels"),
    ("hue-shift", {}, picture(channels=4), "a picture of 4 channels: "),
    ("compress", {}, np.full((4, 4), np.nan, np.float32), "row 0, column 0, channel 0 is nan: its block"),
    ("compress", {}, np.full((4, 4), 2e6, np.float32), r"samples up to 2e\+06: .* at most 1000"),
    ("find-patch", {}, picture(), "a patch of 16 × 16: the picture has 11 × 9 pixels"),
    ("find-patch", {"width": 65}, picture(), "width 65: it is not a whole number from 1 to 64"),
    ("find-patch", {"width": 4, "height": 4, "left": 9}, picture(), "reaches over the edge"),
    ("find-patch", {"width": 4, "height": 4}, np.full((9, 9), 7, np.uint8), "all its samples are 7"),
    ("find-patch", {"width": 1, "height": 1}, picture(channels=1), "divides by their spread, 0"),
    ("find-patch", {"width": 4, "height": 4}, np.full((9, 9), 1e20, np.float32), "pass the range of float32"),
    ("find-patch", {"width": 4, "height": 4}, picture(dtype="float32") * np.float32(1e-40), "Multiply the"),
    ("find-patch", {"width": 9, "height": 9}, np.full((9, 9), np.inf, np.float32), "NaN or infinity"),
    ("find-patch", {"patch": picture(3, 70)}, picture(20, 20), "70 × 3: each side can have up to 64"),
    ("find-patch", {"patch": picture(3, 30)}, picture(20, 20), "30 × 3: the picture has 20 × 20 pixels"),
    ("find-patch", {"patch": picture(3, 3, 1)}, picture(20, 20), "a patch that is grey: the picture is RGB"),
    ("find-patch", {"patch": picture(3, 3), "width": 3}, picture(20, 20), "width with a patch from a file"),
    ("median", {"patch": picture(3, 3)}, picture(20, 20), "median takes the picture alone"),
    ("median", {"variant": "median-tild"}, picture(20, 20), r"'median-tild'.*Did you mean median-tiled\?"),
    ("bilateral", {}, np.full((9, 9), np.nan, np.float32), "a picture with NaN or infinity"),
]  # fmt: skip


def test_that_bad_input_is_refused_in_one_line():
    for key, settings, samples, words in REFUSED:
        with pytest.raises(EngineError, match=words) as found:
            engine.operate(samples, key, device="cpu", **settings)
        assert "\n" not in str(found.value)
        assert isinstance(found.value, BadValue | UnknownName)
    with pytest.raises(BadValue, match="--set '3': it is not name=value"):
        parameters_from(["3"])
    assert parameters_from(["left=3, top = 4"]) == {"left": "3", "top": "4"}
    assert operation_named("median").title


def test_that_plots_and_marks_are_drawn():
    counts = np.zeros((3, 256), np.int64)
    counts[0, 0], counts[1, 255] = 10, 5
    plot = histogram_picture(counts)
    assert plot[-1, 0].tolist() == [BAR, BACKGROUND, BACKGROUND]
    assert plot[-1, -1].tolist() == [BACKGROUND, BAR, BACKGROUND]
    assert plot[10, 0, 0] == BAR
    assert plot[10, -1, 1] < BAR
    framed = marked(np.full((20, 20, 1), 100, np.uint8), Mark(5, 6, 4, 3), 255.0)[..., 0]
    assert (framed[5:9, 6:9] == 100).all()
    assert (framed[4, 5:10] == 255).all()
    assert (framed[3, 4:11] == 0).all()
    corner = marked(np.full((4, 4, 1), 100, np.uint8), Mark(0, 0, 4, 4), 255.0)
    assert (corner == 100).all()


def of(key, samples, **settings):
    """Return what the CPU makes of it, proven."""
    return engine.operate(samples, key, device="cpu", budget_s=0.0, **settings).picture


@pytest.mark.slow
def test_that_minima_maxima_morphology_and_the_gradient_magnitude_are_scipys():
    grey, square = picture(23, 31, 1)[..., 0], {"size": 5, "mode": "nearest"}
    # SciPy repeats the nearest cell too; it takes 8 bit without rounding.
    wanted = {
        "minimum": scipy.ndimage.minimum_filter(grey, **square),
        "maximum": scipy.ndimage.maximum_filter(grey, **square),
        "open": scipy.ndimage.grey_opening(grey, **square),
        "close": scipy.ndimage.grey_closing(grey, **square),
        "gradient": scipy.ndimage.morphological_gradient(grey, **square),
        "top-hat": scipy.ndimage.white_tophat(grey, **square),
        "black-hat": scipy.ndimage.black_tophat(grey, **square),
    }
    for kind, values in wanted.items():
        asked = {"size": 5} if kind in ("minimum", "maximum") else {"size": 5, "kind": kind}
        found = of(kind if len(asked) == 1 else "morphology", grey, **asked)
        assert np.array_equal(found, values), kind
    grey = picture(23, 31, 1)[..., 0]
    for key, mask in (("sobel", scipy.ndimage.sobel), ("prewitt", scipy.ndimage.prewitt)):
        length = scipy.ndimage.generic_gradient_magnitude(grey.astype(np.float64), mask, mode="nearest")
        assert np.array_equal(of("gradient-magnitude", grey, mask=key), np.clip(np.rint(length), 0, 255))


def test_that_a_threshold_is_a_comparison_and_a_bilateral_filter_keeps_an_edge():
    samples = picture()
    assert np.array_equal(of("threshold", samples, level=0.2), np.where(samples > 51, 255, 0))
    step = np.zeros((9, 12), np.float32)
    step[:, 6:] = 1.0
    # Ten deviations apart: exp(-50).
    assert np.abs(of("bilateral", step, size=7) - step).max() <= 2.0**-20
