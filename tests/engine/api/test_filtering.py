"""What scripts call."""

import ast
import doctest
import itertools
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
import scipy.ndimage

import engine
import engine.api.calls
from engine.api.request import PictureCall, request_of
from engine.device import devices as device_module
from engine.device.interpreter import InterpreterBackend
from engine.device_info import DeviceInfo
from engine.errors import BadValue, DeviceUnavailable, EngineError, MaskError, Reason, UnknownName
from engine.geometry.block import UnsupportedVariant
from engine.geometry.border import Border
from engine.results.text_forms import html_table
from engine.run.task import Job
from engine.work.filtering import oracle
from engine.work.filtering.oracle import rounding_bound
from engine.work.filtering.variants import VARIANTS
from tests.engine.commands.conftest import OnePixelOff, make_every_variant_wrong
from tests.fresh_python import ROOT, fresh_python

RANDOM = np.random.default_rng(3)
IMAGE = RANDOM.normal(size=(13, 11)).astype(np.float32)

TOO_LARGE = np.zeros((1449, 1449), np.uint8)
IN_SIMULATOR = {"variant": "tiled", "device": "simulator"}
SCIPY_MODES = {"zero": "constant", "constant": "constant", "replicate": "nearest", "reflect": "reflect",
               "mirror": "mirror", "wrap": "grid-wrap"}  # fmt: skip
BYTES = RANDOM.integers(0, 256, (6, 7, 2), np.uint8)
A, B = RANDOM.integers(-9, 10, (7, 5)), RANDOM.integers(-9, 10, (5, 6))


def assert_agrees(values, image, mask, border=Border.ZERO, cval=0.0):
    wanted = oracle.correlate(image, mask, border, cval)
    bound = rounding_bound(oracle.correlate(image, mask, border, cval, absolute=True), mask.taps)
    assert (values.dtype, values.shape) == (np.float32, image.shape)
    assert np.all(np.abs(values - wanted) <= bound)


def test_that_importing_the_package_loads_nothing_heavy():
    heavy = {"numba", "PySide6", "PIL", "tifffile", "imagecodecs._png", "scipy", "cuda"}
    code = (
        "import sys, engine; assert 'numpy' not in sys.modules; engine.Mask; engine.open_image; "
        f"engine.Picture; assert not {heavy} & set(sys.modules)"
    )
    assert fresh_python("-c", code) == ""


@pytest.mark.slow
def test_that_a_first_filter_loads_only_what_it_needs():
    """With these it took 1.65 times as long as OpenCV's, without them 1.45 times."""
    packages = {
        "engine": "verify host tasks.product tasks.network variants.matmul",
        "engine.image": "picture open formats",
        "engine.files": "atomic_write reading",
        "engine.results": "measurement metrics export columns",
        "engine.mask": "text resolve analysis generators",
        "engine.device": "cuda",
    }
    ours = {f"{package}.{name}" for package, names in packages.items() for name in names.split()}
    unneeded = ours | {"numba", "scipy", "difflib"}
    first = "import sys, numpy, engine; engine.correlate(numpy.ones((9, 9)), [[1]], device='cpu')"
    code = f"{first}; [print(one) for one in {unneeded} & set(sys.modules)]"
    # Unless its code is kept, the first one compiles it.
    assert (fresh_python("-c", code) and fresh_python("-c", code)) == ""


def test_that_every_public_name_has_a_true_example():
    stub = (ROOT / "engine/__init__.pyi").read_text(encoding="utf-8")
    imported = [line for line in ast.parse(stub).body if isinstance(line, ast.ImportFrom)]
    stated = {one.asname: line.module for line in imported for one in line.names if one.asname == one.name}
    assert stated == engine._HOME
    for name in engine.__all__:
        assert getattr(engine, name).__doc__, name
    with pytest.raises(AttributeError, match="no attribute 'sharpen'"):
        engine.sharpen  # noqa: B018 - the access is the test
    assert not {path.stem for path in (ROOT / "engine").iterdir()} & set(engine.__all__)
    for call, lines in ((engine.correlate, 2), (engine.plan, 3)):
        (example,) = doctest.DocTestFinder(recurse=False).find(call, call.__name__)
        assert doctest.DocTestRunner().run(example) == (0, lines)


def test_that_the_result_has_the_pictures_shape():
    mask = engine.Mask([[1, -2, 3], [0, 5, 1]])
    for shape in [(1, 1), (1, 9), (9, 1), (7, 5), (7, 5, 1), (7, 5, 2), (7, 5, 3), (7, 5, 4)]:
        image = RANDOM.integers(0, 256, shape, np.uint8)
        values = engine.correlate(image, mask, border="mirror", device="cpu")
        assert_agrees(values, image, mask, Border.MIRROR)


def test_that_scipy_agrees_on_correlation_and_convolution():
    for (border, mode), shape in itertools.product(SCIPY_MODES.items(), [(3, 3), (4, 3), (1, 6)]):
        cval = 2.5 if border == "constant" else 0.0
        mask = engine.Mask(RANDOM.normal(size=shape).astype(np.float32))
        for ours, theirs, used in (
            (engine.correlate, scipy.ndimage.correlate, mask),
            (engine.convolve, scipy.ndimage.convolve, mask.flipped()),
        ):
            values = ours(IMAGE, mask, border=border, cval=cval, device="cpu")
            wanted = theirs(IMAGE.astype(np.float64), mask.weights, mode=mode, cval=cval)
            sums = oracle.correlate(IMAGE, used, Border(border), cval, absolute=True)
            assert np.all(np.abs(values - wanted) <= rounding_bound(sums, mask.taps)), shape


def test_that_convolution_is_correlation_with_the_flipped_mask_and_anchor():
    for anchor in [None, (0, 0), (1, 2), (0, 3)]:
        weights = RANDOM.normal(size=(2, 4))
        turned = None if anchor is None else (1 - anchor[0], 3 - anchor[1])
        flipped = engine.Mask(weights[::-1, ::-1], turned if turned else (0, 1))
        convolved = engine.convolve(IMAGE, weights, anchor=anchor, border="wrap", device="cpu")
        assert np.array_equal(convolved, engine.correlate(IMAGE, flipped, border="wrap", device="cpu"))
        how = {"anchor": anchor, "border": "wrap", "device": "cpu", "flip": True, "budget_s": 0.0}
        assert np.array_equal(convolved, engine.apply(IMAGE, weights, **how).values)


def test_that_the_anchor_says_which_cell_lies_on_the_pixel():
    image = np.array([[1, 2, 3, 4]], np.uint8)
    values = [engine.correlate(image, "1 0 0", anchor=(0, a), device="cpu").tolist() for a in range(3)]
    assert values == [[[1, 2, 3, 4]], [[0, 1, 2, 3]], [[0, 0, 1, 2]]]
    mask = engine.Mask([[1, 0, 0]], anchor=(0, 2))
    assert engine.correlate(image, mask, device="cpu").tolist() == [[0, 0, 1, 2]]
    assert engine.correlate(image, mask, anchor=(0, 0), device="cpu").tolist() == [[1, 2, 3, 4]]


def test_that_a_block_may_be_written_in_every_form():
    for block in [engine.Block(16, 8), (16, 8), [np.int64(16), 8], "16x8", " 16 X 8 "]:
        asked = request_of(
            [[1]], ("zero", 0.0, None, "tiled", block, "simulator", False, "pitched", "float32")
        )
        assert PictureCall(IMAGE, asked).choice.block == engine.Block(16, 8)


def test_that_apply_returns_what_is_known_of_its_run():
    applied = engine.apply(IMAGE, "gaussian:3:1", variant="cpu-serial", budget_s=0.01)
    result = applied.result
    told = result.variant, result.device, result.block, result.chosen_because
    assert told == ("cpu-serial", "cpu", None, "")
    assert result.verification.passed
    assert result.verification.checked_pixels == IMAGE.size
    assert result.kernel_ms > 0
    values = engine.correlate(IMAGE, "gaussian:3:1", variant="cpu-serial", device="cpu")
    assert np.array_equal(applied.values, values)
    result = engine.apply(IMAGE, [[1]], device="cpu", budget_s=0.0).result
    assert result.variant in {"cpu-parallel", "cpu-separable", "cpu-box"}
    assert "estimated" in result.chosen_because


def test_that_apply_never_returns_a_result_that_is_not_verified(monkeypatch):
    make_every_variant_wrong(monkeypatch)
    with pytest.raises(EngineError, match="row 0, column 0, channel 0") as caught:
        engine.apply(IMAGE, [[1]], variant="cpu-serial")
    assert type(caught.value).__name__ == "VerificationFailed"


@pytest.mark.parametrize(
    ("changes", "error", "says"),
    [
        ({"mask": np.ones((64, 3))}, MaskError, "1 to 63"),
        ({"mask": [[np.nan]]}, MaskError, "row 1"),
        ({"mask": "no-such-preset"}, MaskError, "there is no such file"),
        ({"anchor": (1, 3)}, MaskError, "Take a row from 0 to 0"),
        ({"border": "sideways"}, UnknownName, "Choose one of zero"),
        *(({"border": "constant", "cval": far}, BadValue, "finite") for far in (np.inf, np.nan, -1e39)),
        ({"border": "mirror", "cval": 5}, BadValue, "^cval 5 with the border mirror"),
        ({"cval": 5}, BadValue, "^cval 5 with the border zero"),
        ({"cval": "dark"}, BadValue, "it is not a number"),
        ({"cval": 10**400}, BadValue, "it is not a number"),
        ({"variant": None}, UnknownName, "^variant 'None': no variant is called that"),
        ({"variant": "tield"}, UnknownName, "Did you mean tiled"),
        ({"variant": "tiled"}, UnsupportedVariant, "It is written for CUDA devices"),
        (IN_SIMULATOR | {"block": (64, 32)}, UnsupportedVariant, "2,048 threads"),
        (IN_SIMULATOR | {"image": TOO_LARGE}, BadValue, "1449 × 1449: too large for the simulator"),
        ({"block": (0, 8)}, UnsupportedVariant, "The nearest legal block is 1 × 8"),
        ({"block": (64, 32)}, UnsupportedVariant, "The nearest legal block is 64 × 16"),
        ({"block": 16}, BadValue, "Write it as 16x16"),
        ({"block": (16.5, 8)}, BadValue, "Write it as 16x16"),
        ({"device": 0}, EngineError, "Write 'cpu', 'cuda:0' or 'auto'"),
        ({"device": "gpu"}, DeviceUnavailable, "there is no such device here"),
        ({"device": "gpu", "variant": "cpu-serial"}, DeviceUnavailable, "there is no such device here"),
    ],
    ids=lambda value: ", ".join(value) if isinstance(value, dict) else "",
)
def test_that_what_cannot_be_done_is_refused_with_the_reason(monkeypatch, changes, error, says):
    monkeypatch.setattr(InterpreterBackend, "run", None)  # nothing is run
    arguments = {"image": IMAGE, "mask": [[1, 2, 3]], "device": "cpu"} | changes
    with pytest.raises(error, match=says) as caught:
        engine.correlate(arguments.pop("image"), arguments.pop("mask"), **arguments)
    assert all((caught.value.what, caught.value.why, caught.value.remedy))
    assert "\n" not in str(caught.value)


def test_that_without_a_driver_nothing_is_computed_elsewhere_instead(monkeypatch):
    known = {device.key: device for device in device_module.devices()}
    why = Reason("no-driver", "There is no driver")
    missing = DeviceInfo("cuda:0", "cuda", "CUDA device", False, why, True)
    monkeypatch.setattr(device_module, "devices", lambda: (known["cpu"], missing, known["simulator"]))
    for options, says in [
        ({"variant": "tiled"}, "variant 'tiled' needs a CUDA device: There is no driver. Choose a CPU var"),
        ({"device": "cuda:0"}, "device 'cuda:0': There is no driver"),
        ({"device": "cuda:0", "variant": "cpu-serial"}, "device 'cuda:0': There is no driver"),
    ]:
        with pytest.raises(DeviceUnavailable, match=says):
            engine.correlate(IMAGE, [[1]], **options)
    assert engine.correlate(IMAGE, [[1]]).shape == IMAGE.shape


def test_that_devices_and_variants_are_listed():
    keys = [device.key for device in engine.list_devices()]
    assert (keys[0], keys[-1]) == ("cpu", "simulator")
    assert engine.api.filtering.list_variants() == tuple(VARIANTS)


def test_that_values_of_another_kind_are_refused_in_words():
    for call, words in [
        (lambda: engine.open_image(None), "None is not a path"),
        (lambda: engine.open_image(b"in.png"), "is not a path"),
        (lambda: engine.open_image("in.png", max_bytes=None), "max_bytes None: it is not a number of bytes"),
        (lambda: engine.open_image(""), "'' is not a path: it is empty"),
        (lambda: engine.save_image(np.zeros((3, 4), np.uint8), ""), "'' is not a path: it is empty"),
        (lambda: engine.save_image(np.zeros((3, 4), np.uint8), 3), "3 is not a path"),
        (lambda: engine.preset(None), "preset None"),
        (lambda: engine.parse_mask(5), "it is not text but of type int"),
        (lambda: engine.apply(IMAGE, "box:3", budget_s=None), "it is not a number of seconds"),
        (lambda: engine.apply(IMAGE, "box:3", budget_s=-1), "it is not a number of seconds"),
        (lambda: engine.apply(IMAGE, "box:3", budget_s=float("nan")), "it is not a number of seconds"),
    ]:
        with pytest.raises(engine.EngineError, match=re.escape(words)):
            call()


BANK = [engine.Mask(RANDOM.standard_normal(shape), None, 10.0) for shape in ((5, 6), (1, 3), (3, 3))]


@pytest.mark.slow
@pytest.mark.parametrize(
    "where", [{"device": "cpu"}, {"device": "simulator", "variant": "tiled", "block": (8, 4)}], ids=str
)
def test_that_a_bank_gives_what_each_mask_gives_alone(where):
    how = {"border": "constant", "cval": 9.0, "flip": True, "layout": "packed"} | where
    applied = engine.apply_bank(BYTES, iter(BANK), budget_s=0, **how)
    assert applied.values.shape == (3, 6, 7, 2)
    for mask, values, result in zip(BANK, applied.values, applied.results, strict=True):
        assert_agrees(values, BYTES, mask.flipped(), Border.CONSTANT, 9.0)
        assert np.array_equal(values, engine.apply(BYTES, mask, budget_s=0, **how).values)
        assert (result.problem.mask_shape, result.device) == (mask.shape, where["device"])
        assert (result.verification.passed, result.verification.checked_pixels) == (True, 6 * 7)
        assert (result.kernel_ms is None) == (where["device"] == "simulator")


def test_that_auto_chooses_a_variant_for_each_mask_of_a_bank():
    image = np.zeros((256, 256), np.float32)
    masks = [np.ones((15, 15)), RANDOM.standard_normal((5, 5))]
    chosen = [one.variant for one in engine.apply_bank(image, masks, device="cpu", budget_s=0).results]
    assert chosen == [engine.apply(image, mask, device="cpu", budget_s=0).result.variant for mask in masks]
    assert len(set(chosen)) == 2


def test_that_a_wrong_result_of_a_bank_is_told_with_the_number_of_its_mask(monkeypatch):
    prepare = Job.prepare

    def prepared(job):
        return OnePixelOff(prepare(job)) if job.constant.total == 2.0 else prepare(job)

    monkeypatch.setattr(Job, "prepare", prepared)
    with pytest.raises(engine.VerificationFailed, match="mask 2 of 3: not verified: row 0, column 0"):
        engine.apply_bank(IMAGE, [[[1]], [[2]], [[3]]], variant="cpu-serial", budget_s=0)


def test_that_what_cannot_be_done_is_refused_without_starting_a_process(monkeypatch):
    monkeypatch.setattr(InterpreterBackend, "run", None)  # nothing is run
    for masks, options, error, says in [
        ([], {}, MaskError, "Give at least one mask"),
        ("sobel-x", {}, BadValue, "Pass a list of masks, or call engine.apply with one"),
        (engine.Mask([[1]]), {}, BadValue, "Pass a list of masks"),
        (3, {}, BadValue, "Pass a list of masks"),
        (["sobel-x", "no-such"], {}, EngineError, "no-such"),
        (["sobel-x"], {"block": (64, 32)}, UnsupportedVariant, "2,048 threads"),
        (["box:3", "laplacian-4"], {"variant": "separable-l0"}, UnsupportedVariant, "Not separable"),
        (["sobel-x"], {"device": "cuda:9"}, DeviceUnavailable, "device 'cuda:9': there is no such device"),
    ]:
        with pytest.raises(error, match=says):
            engine.apply_bank(BYTES, masks, **{"device": "simulator"} | options)


def test_that_numpy_and_the_cpu_multiply():
    assert np.array_equal(engine.matmul(A, B, variant="numpy"), A @ B)
    assert np.array_equal(engine.matmul(A, B, device="cpu"), A @ B)
    assert engine.matmul(A, B, variant="numpy").dtype == np.float32


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["matmul-naive", "matmul-tiled", "auto"])
def test_that_the_simulator_multiplies(variant):
    assert np.array_equal(engine.matmul(A, B, variant=variant, tile=4, device="simulator"), A @ B)


def test_that_what_cannot_be_is_refused_in_words(monkeypatch):
    monkeypatch.setattr(InterpreterBackend, "run", None)  # nothing is run
    for b, options, error, says in [
        (A, {}, BadValue, "A has 5 columns and B has 7 rows"),
        (B, {"tile": 33}, BadValue, "nearest legal tile is 32"),
        (B, {"tile": 99, "variant": "numpy"}, BadValue, "nearest legal tile is 32"),
        (B, {"variant": "tiled"}, UnknownName, "Did you mean matmul-tiled"),
        (B, {"device": "cuda:77"}, DeviceUnavailable, "no such device"),
        (B, {"device": 3}, BadValue, "a device is called by its key"),
        (B[0], {}, BadValue, "matrix B has 1 axis:"),
    ]:
        with pytest.raises(error, match=says):
            engine.matmul(A, b, **options)


GREY = np.random.default_rng(4).integers(0, 256, (40, 30), np.uint8)


def rows_of(shown):
    """Return the texts of the cells of each row of a table."""
    rows = ElementTree.fromstring(shown._repr_html_()).iter("tr")
    return [["".join(cell.itertext()) for cell in row] for row in rows]


@pytest.fixture(scope="module")
def applied():
    return engine.apply(GREY, "gaussian:3:1", device="cpu", budget_s=0.01)


def test_that_a_result_says_what_it_ran_as_whether_it_is_right_and_how_fast(applied):
    result, rows = applied.result, dict(rows_of(applied.result))
    assert list(rows) == ["Variant", "Device", "Verification", "Kernel", "End to end", "Reason"]
    assert (rows["Variant"], rows["Verification"]) == (result.variant, result.status)
    assert re.fullmatch(r"[\d.,]+ ms", rows["Kernel"])
    assert rows_of(applied)[0] == ["Values", "float32, 40 × 30"]
    assert dict(rows_of(replace(result, block=engine.Block(16, 8))))["Block"] == "16 × 8"


def test_that_a_bank_has_a_row_of_each_mask():
    bank = engine.apply_bank(GREY, ["sobel-x", "box:5"], device="cpu", budget_s=0)
    header, *rows = rows_of(bank)
    variants = [row[header.index("Variant")] for row in rows]
    assert ([row[0] for row in rows], variants) == (["1", "2"], [one.variant for one in bank.results])


def test_that_a_plan_says_what_it_takes_and_gives():
    with engine.plan(GREY, "sobel-x", device="cpu") as plan:
        rows = dict(rows_of(plan))
    assert (rows["Pictures"], rows["Results"]) == ("uint8, 40 × 30", "float32, 40 × 30")
    assert rows["Reason"] == plan.reason.clauses


def test_that_texts_are_never_markup_and_name_nothing_outside(applied):
    hostile = "<script src='//a'>&amp;\""
    (row,) = ElementTree.fromstring(html_table([("Reason", hostile)])).iter("tr")
    assert [cell.text for cell in row] == ["Reason", hostile]
    assert not any(tag.attrib for tag in ElementTree.fromstring(applied._repr_html_()).iter())
