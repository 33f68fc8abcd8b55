"""The plan of a batch, results that are converted in bands, a batch whose decoder ends the process."""

import json
import signal
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import engine
from engine.commands import batch_loop, batch_plan, picture_opening, picture_work
from engine.commands.arguments import read
from engine.commands.batch_plan import BatchSettings, PictureFile, choose_device, files_for
from engine.commands.picture_opening import Opened
from engine.commands.picture_work import work_for
from engine.device_info import DeviceInfo
from engine.errors import BadValue
from engine.geometry.border import RANGE_MODES
from engine.image import formats
from engine.image.picture import Picture
from engine.run import task
from engine.verify.verification import CheckedSamples
from engine.work.filtering.oracle import regions_to_check, verify
from tests.engine.commands.conftest import words
from tests.engine.commands.works import filter_of, work_of
from tests.fresh_python import ROOT

MASK = "--mask gaussian:5:1 --border mirror --device cpu"
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


def found_in(inputs, out, *options, on_note=None):
    """Return the pictures of a batch."""
    settings = read("batch", BatchSettings, [*map(str, inputs), "--out", str(out), *words([MASK]), *options])
    return files_for(settings, work_for(settings.steps, settings.saving), on_note)


def test_that_files_folders_and_patterns_are_taken_once_in_order(photos, out):
    inputs = [photos / "rgb.tif", photos, photos / "*.png"]
    assert [Path(file.source).name for file in found_in(inputs, out)] == ["rgb.tif", "broken.png", "grey.png"]
    deep = found_in([photos], out, "--recursive")
    targets = [Path(file.target).relative_to(out).as_posix() for file in deep]
    assert targets == ["broken.png", "grey.png", "rgb.tif", "more/deep.png"]
    # A folder that a pattern matches is searched as if it was named.
    assert found_in([photos / "mor*"], out) == found_in([photos / "more"], out)


def test_that_a_link_and_its_picture_are_two_pictures_and_linked_folders_are_named(photos, out):
    (photos / "link.png").symlink_to("grey.png")
    (photos / "more" / "again.png").symlink_to("../link.png")
    (photos / "linked").symlink_to("more")
    notes = []
    found = found_in([photos], out, "--recursive", on_note=notes.append)
    assert [Path(file.target).relative_to(out).as_posix() for file in found if not file.refusal] == [
        "broken.png",
        "grey.png",
        "link.png",
        "rgb.tif",
        "more/again.png",
        "more/deep.png",
    ]
    assert len(notes) == 1
    assert str(photos / "linked") in notes[0]
    # In place they have one result: one of them says so.
    refused = [bool(f.refusal) for f in found_in([photos], photos, "--overwrite")]
    assert sum(refused) == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("{photos}", "required: --out"),
        ("{photos}/letter.txt/.. {mask} --out {photos}/letter.txt", "letter.txt cannot ... has its name"),
        ("{photos} --out {out} --mask sobelx", "Did you mean sobel-x?"),
        ("{photos} --out {out} {mask} --variant tield", "Did you mean tiled?"),
        ("{photos} --out {out} {mask} --format bmp", "--format bmp ... keep, png, jpg"),
        ("{photos} --out {out} --mask box-3 --device cuda:77", "no such device"),
        ("{photos} --out {out} --mask disk:7 --variant cpu-separable", "variant 'cpu-separable' ... rank"),
        ("{photos}/more --out {out} --mask '2 3' --divisor 0", "cannot be divided by 0"),
        (
            "{photos} --out {out} {mask} --skip-existing --overwrite",
            "--skip-existing with --overwrite: ... Give one of the two.",
        ),
        ("{photos}/empty --out {out} {mask}", "nothing to filter ... there is no picture in it"),
        ("{photos}/none --out {out} {mask}", "none cannot be opened: there is no such file."),
        ("'{photos}/*.jpg' --out {out} {mask}", "*.jpg: it is a pattern, and no file matches it."),
        (
            "{photos} --out {out} {mask} --result-type same --range absolute",
            "--range absolute with --result-type same ... Leave one of the two out.",
        ),
        (
            "{photos} --out {out} {mask} --depth float32 --range rescale",
            "--range rescale: a float32 result keeps its values",
        ),
        (
            "{photos} --out {out} {mask} --depth 16 --format jpg",
            "--format jpg with --depth 16: JPEG does not hold 16 bit values ... Save it as "
            f"{formats.titles(formats.formats_for(np.uint16))}",
        ),
    ],
)
def test_that_bad_use_is_refused_before_any_work(refused, monkeypatch, photos, out, arguments, says):
    (photos / "empty").mkdir()
    monkeypatch.setattr(picture_opening, "open_image", None)
    arguments = arguments.format(photos=photos, out=out, mask=MASK)
    refused("batch", arguments, status=3 if "cuda:77" in arguments else 2, says=says)


def test_that_only_many_pictures_start_a_gpu(with_gpu, photo):
    few, device, notes = choose_device(asked(), [photo])
    assert (few.request.device, device) == ("cpu", CPU)
    assert "auto" not in with_gpu
    (note,) = notes
    assert note.startswith("The CPU filters: a GPU would take 1,200 ms to start and copy")
    many, device, notes = choose_device(asked(mask="gaussian:31:5"), [photo] * 1_000_000)
    assert (many.request.device, device, notes) == ("cuda:0", GPU, [])


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
    assert (how.request.device, device, notes) == ("cpu", CPU, [])
    monkeypatch.setattr(batch_plan, "has_driver", lambda: False)
    _, device, notes = choose_device(asked(), [photo])
    assert (device.kind, notes) == ("cpu", [])


RANDOM = np.random.default_rng(5)
AFFORDABLE = 20_000  # multiply-adds: a grid of pixels is checked
SEED = 3
BAND_BYTES = 16 * 41 * 3 * 4  # a few bands of the picture below


def picture_of(dtype, shape=(83, 41, 3), alpha=False):
    pixels = RANDOM.integers(0, np.iinfo(dtype).max + 1, shape, dtype)
    return Picture(pixels, pixels[..., 0].copy() if alpha else None)


def test_that_what_was_kept_is_verified_as_the_whole_result_is(monkeypatch):
    monkeypatch.setattr(batch_loop, "BAND_BYTES", BAND_BYTES)
    how, opened = filter_of("emboss", range="absolute"), Opened(picture_of(np.uint8), np.dtype(np.uint8))
    call = how.call(opened)
    regions = regions_to_check(call.problem, SEED, AFFORDABLE)
    checked = CheckedSamples(call.samples.shape, np.dtype(np.float32), regions)
    highest = max(band.length for band in batch_loop.bands_to_convert(call))
    floats = np.empty((highest, *call.samples.shape[1:]), np.float32)
    batch_loop.convert(call, np.empty(call.samples.shape, np.uint8), floats, checked, "absolute")
    how = {"seed": SEED, "affordable": AFFORDABLE}
    values = call.filter()
    asked = call.samples, call.constant, call.problem
    proof = verify(checked, *asked, **how)
    assert proof.passed
    assert proof == verify(values, *asked, **how)
    assert 0 < proof.checked_pixels < proof.total_pixels
    for region in regions:
        row, column = (one[-1] for one in region.ranges)
        wrong = values.copy()
        wrong[row, column, 1] += 50
        checked.keep(0, wrong)
        proof = verify(checked, *asked, **how)
        assert f"row {row}, column {column}, channel 1" in proof.reason


def test_that_a_batch_saves_what_filter_saves_whatever_the_range_in_bands_too(command, monkeypatch, tmp_path):
    monkeypatch.setattr(batch_loop, "BAND_BYTES", BAND_BYTES)
    convert, in_bands = batch_loop.convert, []
    monkeypatch.setattr(batch_loop, "convert", lambda *given: in_bands.append(given) or convert(*given))
    types, masks = product((np.uint8, np.uint16), (8, 16)), ("sobel-y", "0.3 -1.7 0.9; 2.2 0.1 -0.4")
    for number, ((dtype, depth), mode) in enumerate(product(types, RANGE_MODES)):
        engine.save_image(picture_of(dtype, alpha=number % 3 == 0), tmp_path / "in.png")
        # The kernel sees to the border, before anything is converted.
        border = ("--border constant --cval 7.5", "--border wrap")[number % 2]
        out = tmp_path / f"{number}.png", tmp_path / str(number)
        alpha = "--alpha filter" * (number % 6 == 3)
        options = (
            f"--mask '{masks[number // 4 % 2]}' --range {mode} --depth {depth} --variant cpu-serial "
            f"{border} {alpha}"
        )
        assert command("filter", tmp_path / "in.png", out[0], options).status == 0
        answer = command("batch", tmp_path / "in.png", "--out", out[1], options)
        assert (answer.status, "each verified" in answer.out) == (0, True)
        assert (out[1] / "in.png").read_bytes() == out[0].read_bytes(), options
    assert len(in_bands) >= 10


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
