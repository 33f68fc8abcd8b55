"""What other programs do with a mask: their lines of code are run where the programs are, and compared."""

import json
import math
import shlex
import shutil
import subprocess

import numpy as np
import pytest

import engine
from engine.commands.command_line import main
from engine.errors import EngineError
from engine.recipes.programs import PROGRAMS, as_program
from engine.verify.closeness import compare_quantised
from engine.work.filtering import oracle
from engine.work.filtering.oracle import rounding_bound
from tests.pairwise import by_pairs

# Each tells a turn, an anchor, a border and a rounding from another one; 13 x 13 is what OpenCV transforms.
MASKS = {
    "odd": engine.Mask([[1, 2, 0], [0, -3, 5], [0, 0, 1]]),
    "even": engine.Mask([[1, 0, 2, 0], [0, 3, 0, 0.5]]),
    "halves": engine.Mask([[0.5, 0, 0.25], [0, 0, 0], [0, 0.25, 0]]),
    "one row": engine.Mask([[0.1, 0.2, 0.7]]),
    "large": engine.Mask(np.arange(-84, 85).reshape(13, 13) / 100),
}
LIBRARIES = [
    ("opencv", "cv2"), ("scipy-correlate", "scipy.ndimage"), ("scipy-convolve", "scipy.ndimage"),
    ("scipy-signal", "scipy.signal"),
]  # fmt: skip


def pictures():
    chance = np.random.default_rng(7)
    impulse = np.zeros((15, 17), np.uint8)
    impulse[7, 8] = impulse[0, 0] = impulse[14, 16] = 200
    yield impulse
    yield chance.integers(0, 256, (21, 18), dtype=np.uint8)
    yield chance.integers(0, 256, (21, 18, 3), dtype=np.uint8)


def both(key, mask, picture, normalise):
    """Return what the window would show with a program's settings, the oracle's sums, bound, and the code."""
    channels = 1 if picture.ndim == 2 else 3
    other = as_program(key, mask, normalise=normalise, dtype="uint8", channels=channels)
    settings = other.settings
    ours = other.mask.normalised() if settings["normalise"] else other.mask
    ours = ours.flipped() if settings["flip"] else ours
    result = engine.correlate(picture, ours, border=settings["border"], result=settings["result_type"])
    wanted = oracle.correlate(picture, ours, settings["border"])
    magnitudes = oracle.correlate(picture, ours, settings["border"], absolute=True)
    return result, wanted, (magnitudes, rounding_bound(magnitudes, ours.taps)), other.code


@pytest.mark.slow
@by_pairs(normalise=[False, True], mask=[*MASKS], program=LIBRARIES)
def test_that_a_library_does_what_its_settings_here_do(program, mask, normalise):
    (key, module), mask = program, MASKS[mask]
    library = pytest.importorskip(module)
    if normalise and mask.total == 0:
        return
    for picture in pictures():
        ours, wanted, limits, code = both(key, mask, picture, normalise)
        names = {"np": np, "picture": picture, module.rpartition(".")[2]: library}
        exec(code, names)
        theirs = names["result"]
        assert theirs.shape == ours.shape
        if ours.dtype == np.uint8 and mask.taps >= 121:
            # By a transform in float32.
            assert np.abs(theirs.astype(int) - ours).max() <= 1, code
        elif ours.dtype == np.uint8:
            assert theirs.dtype == np.uint8
            assert compare_quantised(theirs, wanted, lambda limits=limits: limits).wrong_samples == 0, code
        else:
            assert np.all(np.abs(theirs - wanted) <= limits[1]), code


@pytest.mark.slow
@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
def test_that_imagemagick_does_what_its_settings_here_do(mask, tmp_path):
    program = shutil.which("magick") or shutil.which("convert")
    if program is None:
        pytest.skip("ImageMagick is not installed")
    for picture in pictures():
        _, wanted, (_, bound), code = both("imagemagick", mask, picture, normalise=False)
        engine.save_image(picture, tmp_path / "in.png")
        channels = math.prod(picture.shape[2:])
        # Rounded to 16 bit, 257 steps for one of 8, and that to 8 bit; in a PNG version 6 cuts off fractions.
        for name, most in (("out.tif", 0.5), ("out.png", 1.0)):
            arguments = shlex.split(code.replace("out.tif", name))[1:]
            subprocess.run([program, *arguments], cwd=tmp_path, check=True)
            theirs = engine.open_image(tmp_path / name).pixels
            # What has no colours is written as grey.
            theirs = np.broadcast_to(theirs.reshape(*picture.shape[:2], -1), (*picture.shape[:2], channels))
            error = np.abs(theirs.reshape(picture.shape) - np.clip(wanted, 0, 255))
            assert np.all(error <= most + 0.5 / 257 + bound), (name, code)


def test_that_what_a_program_cannot_take_is_refused_with_what_helps():
    for key, mask, why in (
        ("gimp", engine.Mask(np.ones((7, 7))), "5 × 5"),
        ("imagemagick", engine.Mask([[1, 1]], offset=3), "no offset"),
        ("photoshop", engine.Mask([[1]]), "imagej"),
    ):
        with pytest.raises(EngineError, match=why):
            as_program(key, mask, normalise=False, dtype="uint8", channels=3)


def test_that_imagej_and_gimp_get_the_mask_in_the_middle_of_an_odd_one_and_gimp_inverts():
    even = engine.Mask([[1, 2], [3, 4]])
    imagej = as_program("imagej", even, normalise=False, dtype="uint8", channels=1)
    assert imagej.code == r'run("Convolve...", "text1=[1 2 0\n3 4 0\n0 0 0\n] normalize");'
    assert (imagej.mask.shape, imagej.mask.anchor, imagej.settings["normalise"]) == ((3, 3), (1, 1), True)
    gimp = as_program("gimp", even, normalise=False, dtype="uint8", channels=1)
    assert gimp.code == "gegl in.png -o out.png -- gegl:convolution-matrix b2=1 b3=3 c2=2 c3=4"
    edge = as_program("gimp", engine.Mask([[-1, 0, 1]]), normalise=False, dtype="uint8", channels=1)
    assert (edge.mask.offset, edge.settings["normalise"]) == (127.5, False)
    below = as_program("gimp", engine.Mask([[-1, -2, -1]]), normalise=False, dtype="uint8", channels=1)
    assert (below.mask.weights.tolist(), below.mask.offset) == ([[-0.25, -0.5, -0.25]], 255.0)


def test_that_the_command_masks_prints_what_programs_do(capsys):
    assert main(["masks", "sobel-x", "--as", "matlab-imfilter"]) == 0
    assert "result = imfilter(picture, [-1 0 1; -2 0 2; -1 0 1]);" in capsys.readouterr().out
    assert main(["masks", "box:7", "--json"]) == 0
    entries = json.loads(capsys.readouterr().out)["programs"]
    assert [entry["key"] for entry in entries] == [program.key for program in PROGRAMS]
    assert [entry["key"] for entry in entries if "refused" in entry] == ["gimp"]
    for short, functions in (("scipy", 3), ("matlab", 2), ("opencv", 1)):
        assert main(["masks", "sobel-x", "--as", short]) == 0
        assert len(capsys.readouterr().out.split("\n\n")) == functions
    assert main(["masks", "sobel-x", "--as", "sci"]) == 2
    assert "Choose one of imagej" in capsys.readouterr().err
    assert main(["masks", "--as", "opencv"]) == 2
    assert "no mask is given" in capsys.readouterr().err
