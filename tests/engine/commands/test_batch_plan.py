"""The plan of a batch, results that are converted in bands, a batch whose decoder ends the process."""

import json
import signal
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

import engine
from engine.commands import batch_loop, batch_plan, picture_work
from engine.commands.batch_loop import Job
from engine.commands.batch_plan import PictureFile, choose_device
from engine.commands.picture_opening import Opened
from engine.device_info import DeviceInfo
from engine.errors import BadValue
from engine.geometry.border import RANGE_MODES, Border
from engine.image.picture import Picture
from engine.run import task
from engine.verify.verification import CheckedSamples
from engine.work.filtering.oracle import regions_to_check, verify
from tests.engine.commands.works import filter_of, work_of
from tests.fresh_python import ROOT

CPU = DeviceInfo("cpu", "cpu", "CPU, 2 cores")
GPU = DeviceInfo("cuda:0", "cuda", "a GPU")


@pytest.fixture
def with_gpu(monkeypatch):
    """Make this a machine with a GPU; return the keys that were asked for."""
    asked = []

    def named(key):
        asked.append(key)
        return CPU if key == "cpu" else GPU

    monkeypatch.setattr(batch_plan, "has_driver", lambda: True)
    monkeypatch.setattr(batch_plan, "device_named", named)
    monkeypatch.setattr(task, "device_named", named)
    return asked


@pytest.fixture
def photo(tmp_path):
    engine.save_image(np.zeros((30, 40, 3), np.uint8), tmp_path / "a.png")
    return PictureFile(str(tmp_path / "a.png"), "out.png", None)


def asked(options="", mask="emboss"):
    return work_of(f"--mask {mask} {options}")


def test_that_only_many_pictures_start_a_gpu(with_gpu, photo):
    few, device, notes = choose_device(asked(), [photo])
    assert (few.asked.device, device) == ("cpu", CPU)
    assert "auto" not in with_gpu
    (note,) = notes
    assert note.startswith("The CPU filters: a GPU would take 1,200 ms to start and copy")
    many, device, notes = choose_device(asked(mask="gaussian:31:5"), [photo] * 1_000_000)
    assert (many.asked.device, device, notes) == ("cuda:0", GPU, [])


def test_that_a_picture_that_cannot_be_opened_does_not_decide(with_gpu, photo, tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(picture_work, "why_not_gpu", lambda problem, *rest: seen.append(problem) or "so")
    refused = PictureFile("b.png", "b.png", None, BadValue("b.png", "it is another picture"))
    missing = PictureFile(str(tmp_path / "none.png"), "none.png", None)
    assert choose_device(asked(), [refused, missing, photo])[1] is CPU
    ((problem,),) = [seen]
    assert (problem.height, problem.width, problem.channels, problem.result_dtype) == (30, 40, 3, "uint8")
    assert choose_device(asked(), [refused, missing])[1] is CPU
    assert len(seen) == 1


def test_that_what_is_named_is_obeyed_and_all_else_stays_on_the_cpu_without_a_word(
    with_gpu, photo, monkeypatch
):
    for options, kind in (
        ("--device cpu", "cpu"),
        ("--device cuda", "cuda"),
        ("--variant cpu-parallel", "cpu"),
    ):
        assert choose_device(asked(options), [photo])[1].kind == kind
    how, device, notes = choose_device(work_of("--operation median"), [photo] * 1_000_000)
    assert (how.asked.device, device, notes) == ("cpu", CPU, [])
    monkeypatch.setattr(batch_plan, "has_driver", lambda: False)
    _, device, notes = choose_device(asked(), [photo])
    assert (device.kind, notes) == ("cpu", [])


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
    monkeypatch.setattr(batch_loop, "BAND_BYTES", 16 * 41 * 3 * 4)
    how, opened = filter_of(mask, **changed), Opened(picture, np.dtype(dtype))
    call = how.call(opened)
    assert job_of(how, opened).is_converted
    checked = CheckedSamples(
        call.samples.shape, np.dtype(np.float32), regions_to_check(call.problem, SEED, AFFORDABLE)
    )
    in_bands = np.empty(call.samples.shape, dtype)
    highest = max(band.length for band in batch_loop.bands_to_convert(call))
    floats = np.empty((highest, *call.samples.shape[1:]), np.float32)
    loss = batch_loop.convert(call, in_bands, floats, checked, how.saving.range)
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


DEADLY_WIDTH = 77
# Decoding a picture of that width ends the process, as an overflow of the heap does.
CODE = f"""
import signal, sys
import imagecodecs
decode = imagecodecs.png_decode
def decode_or_die(data, *, out):
    if {DEADLY_WIDTH} in out.shape:
        signal.raise_signal(signal.SIGSEGV)
    return decode(data, out=out)
imagecodecs.png_decode = decode_or_die
import main
sys.exit(main.run())
"""


def batch(folder, out, *options):
    """Run the command in a process of its own, with such a decoder."""
    command = [sys.executable, "-c", CODE, "batch", str(folder), "--out", str(out)]
    return subprocess.run(
        [*command, "--mask", "box:3", *options], cwd=ROOT, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="a process cannot be forked")
def test_that_a_batch_goes_on_and_names_the_files_whose_decoder_ends_the_process(tmp_path):
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    for number in range(6):
        width = DEADLY_WIDTH if number in (2, 3) else 40
        Image.fromarray(np.full((30, width), 9 * number, np.uint8)).save(folder / f"{number}.png")
    (folder / "6.png").write_bytes(b"no picture")
    done = batch(folder, out, "--json")
    assert done.returncode == 2, done.stderr
    document = json.loads(done.stdout)
    assert (document["pictures"], document["done"], document["failed"]) == (7, 4, 3)
    files = {one["input"][-5:]: one for one in document["files"]}
    assert list(files) == [f"{number}.png" for number in range(7)]
    for number in (2, 3):
        assert "ended the process (SIG" in files[f"{number}.png"]["failure"]
    assert sorted(one.name for one in out.iterdir()) == ["0.png", "1.png", "4.png", "5.png"]


@pytest.mark.skipif(sys.platform == "win32", reason="a process cannot be forked")
def test_that_a_process_that_opens_nothing_and_ends_leaves_its_signal_as_the_status(tmp_path):
    code = (
        "import os, sys, main; main.main = lambda given: os.abort()\n"
        "sys.argv[1:] = ['batch']; sys.exit(main.run())"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == 128 + signal.SIGABRT
