"""Bad input is one line that says what, why and what to do; odd names; options as they are read."""

import os
import shlex
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import engine
from engine import commands
from engine.commands.arguments import (
    Parser,
    Settings,
    group,
    number,
    operands,
    option,
    read,
    refuse_used,
    required,
    several,
    whole,
)
from engine.commands.benchmark import BenchSettings
from engine.errors import BadValue
from engine.image.formats import formats_for, titles
from engine.image.open import sample_path
from tests.engine.commands.conftest import raising
from tests.engine.image.encoded import png_header

GOOD = sample_path("impulse")
BOX = "--mask box-3"
FLOATS = titles(formats_for(np.float32))


@pytest.fixture
def folder(tmp_path):
    """Return a folder with inputs that cannot be filtered."""
    (tmp_path / "words.png").write_bytes(b"Dear sir or madam")
    (tmp_path / "huge.png").write_bytes(png_header(200_000, 200_000))
    (tmp_path / "folder").mkdir()
    (tmp_path / "mask.txt").write_text("1 2 3\n4 five 6\n")
    engine.save_image(np.zeros((2, 2), np.float32), tmp_path / "float.tif")
    return tmp_path


def test_that_a_bad_picture_or_mask_is_refused(refused, folder):
    for name, mask, says in [
        ("nowhere.png", "box-3", "there is no such file ... Check the name"),
        ("folder", "box-3", "it is a folder ... Choose a file in it"),
        ("words.png", "box-3", "words.png cannot be opened ... it looks like text ... Save it as PNG"),
        ("huge.png", "box-3", "200,000 × 200,000 pixels ... the limit is 4.0 GiB ... smaller picture"),
        # It is not rounded into a PNG unasked.
        (
            "float.tif",
            "box-3",
            f"PNG does not hold 32-bit float ... Save it as {FLOATS}, or ask for depth 8 or 16.",
        ),
        (GOOD, "1 two 3", "row 1, column 2 says 'two', which is not a number ... Write numbers"),
        (GOOD, "gauss:9:1.5", "Unknown mask 'gauss:9:1.5'. Did you mean gaussian:9:1.5?"),
        (GOOD, "sobelx", "Unknown mask 'sobelx'. Did you mean sobel-x? `masks` lists the presets."),
        (GOOD, folder / "mask.txt", "mask.txt ... row 2, column 2 says 'five'"),
        (GOOD, folder / "folder", "it is a folder"),
    ]:
        refused("filter", folder / name, folder / "out.png", "--mask", shlex.quote(str(mask)), says=says)


def test_that_a_bad_option_leaves_the_old_file(refused, tmp_path):
    for options, says in [
        ("--block 64x32", "2,048 threads ... 1,024 ... The nearest legal block is 64 × 16."),
        ("--block 16", "block '16' ... Write it as 16x16."),
        (
            "--block 128x8 --variant tiled --device simulator --mask gaussian:63:10",
            "of shared memory ... a block has 49,152 ... The nearest legal block is",
        ),
        ("--variant tield", "variant 'tield' ... Did you mean tiled?"),
        ("--variant matmul-tiled", "it multiplies matrices ... main.py matmul --variants matmul-tiled,"),
        ("--variant tiled --device cpu", "written for CUDA devices ... Choose another variant"),
        ("--border sideways", "border 'sideways' ... Choose one of zero, constant"),
        ("--border constant --cval 1e39", "constant border ... not a finite number of float32"),
        ("--cval 5", "--cval 5 with the border zero ... Leave it out"),
        ("--border mirror --cval 5", "--cval 5 with the border mirror ... Leave it out"),
        ("--cval nan", "--cval nan ... it is not a finite number"),
        ("--anchor 3,0", "3 × 3 cells ... Take a row from 0 to 2"),
        ("--anchor -1,0", "anchor (-1, 0)"),
        ("--anchor middle", "--anchor middle ... Write it as 1,1."),
        ("--divisor 0", "cannot be divided by 0"),
        ("--divisor 2 --normalize", "--divisor with --normalize ... Give one of the two."),
        ("--mask sobel-x --normalize", "add up to 0 ... Use it as it is"),
        ("--offset much", "--offset much ... it is not a finite number"),
        ("--range wrap", "--range wrap ... Choose one of clip, absolute, offset, rescale."),
        ("--depth 12", "--depth 12 ... Choose one of keep, 8, 16, float32."),
        ("--depth float32", "out.png cannot be saved ... PNG does not hold 32-bit float ... TIFF"),
        ("--depth float32 --range offset", "--range offset ... Leave --range out"),
        ("--alpha drop", "--alpha drop ... keep, filter"),
        ("--layout dense", "layout 'dense' ... Choose one of pitched, packed."),
        ("--max-bytes lots", "--max-bytes lots ... it is not a number of bytes ... 8GiB"),
        ("--max-bytes 0", "--max-bytes 0 ... it is not a number of bytes"),
        ("--max-bytes 80", "the file has 90 bytes, the limit is 80 bytes ... --max-bytes"),
        ("--quality 101", "--quality 101 ... from 1 to 100"),
        ("--mask", "argument --mask: expected one argument ... --help"),
    ]:
        (tmp_path / "out.png").write_bytes(b"old")
        refused("filter", GOOD, tmp_path / "out.png", "--mask box-3", options, says=says)


def test_that_a_bad_output_is_refused_before_the_work(refused, monkeypatch, folder):
    monkeypatch.setattr("engine.commands.filtered_picture.save", None)  # any work would fail
    for out, says in [
        ("nowhere/out.png", "its folder does not exist ... Create the folder first"),
        ("folder", "it is a folder ... Add a file name."),
        ("out.xyz", "'.xyz' is not a picture format ... End the name in one of: .png"),
        ("out", "its name has no extension ... End the name in one of: .png"),
    ]:
        refused("filter", GOOD, folder / out, BOX, says=says)
    engine.save_image(np.zeros((1, 20_000), np.uint8), folder / "wide.png")
    others = titles(formats_for(np.uint8, 20_000))
    says = f"WebP holds 16,383 pixels on a side, this picture has 20,000 × 1. Save it as {others}."
    refused("filter", folder / "wide.png", folder / "out.webp", BOX, says=says)
    for error, says in [
        (PermissionError(13, "no"), "you may not write in that folder ... change its permissions"),
        (OSError(30, "no"), "the disk can only be read ... Choose another folder"),
    ]:
        monkeypatch.setattr(tempfile, "TemporaryFile", raising(error))
        refused("filter", GOOD, folder / "out.png", BOX, says=says)


def test_that_a_picture_too_large_for_the_simulator_is_refused(refused, tmp_path):
    engine.save_image(np.zeros((1449, 1449), np.uint8), tmp_path / "large.png")
    says = "1449 × 1449: too large for the simulator (limit 2,097,152 pixels) ... smaller size"
    options = "--mask box-3 --device simulator"
    refused("filter", tmp_path / "large.png", tmp_path / "out.png", options, says=says)


def test_that_a_device_that_cannot_be_used_has_status_3(refused, no_gpu, tmp_path):
    for options, says in [
        ("--device gpu", "device 'gpu' ... there is no such device here ... Choose one of auto, cpu"),
        ("--device gpu --variant cpu-serial", "device 'gpu' ... there is no such device here"),
        ("--device cuda:0", "device 'cuda:0' ... There is no driver ... Use the CPU"),
        ("--variant naive", "'naive' needs a CUDA device ... There is no driver ... Choose a CPU variant"),
    ]:
        refused("filter", GOOD, tmp_path / "out.png", BOX, options, status=3, says=says)


@pytest.fixture
def odd_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(sample_path("impulse"), "-a.png")
    return tmp_path


def test_that_names_after_two_dashes_may_begin_with_one(command, odd_folder):
    answer = command("filter", BOX, "-- -a.png -o.png")
    assert answer.status == 0, answer.err
    assert Path("-o.png").exists()
    assert command("filter -a.png o.png", BOX).status == 2


def test_that_no_name_drives_the_terminal(command, odd_folder):
    name = "x\x1b[31m\n\x07\x7f\x9b2J\u202egnp.png"
    answer = command("filter ./-a.png", Path(name), BOX)
    assert answer.status == 0
    assert answer.out.startswith(r"x\u001b[31m\u000a\u0007\u007f\u009b2J\u202egnp.png: correlation")
    assert command("filter ./-a.png --json", Path(name), BOX).document["output"] == name
    refusal = command("filter", Path("no\x1b[31m.png"), "o.png", BOX)
    assert refusal.err.startswith(r"no\u001b[31m.png cannot be opened")


def test_that_a_link_to_a_file_stays_a_link_and_a_loop_is_refused(command, odd_folder):
    for link, target in [("link", "real"), ("first", "second"), ("second", "first")]:
        os.symlink(f"{target}.png", f"{link}.png")
    assert command("filter ./-a.png link.png", BOX).status == 0
    assert os.readlink("link.png") == "real.png"
    assert Path("real.png").is_file()
    answer = command("filter ./-a.png first.png", BOX)
    assert answer.status == 2
    assert answer.err.startswith("first.png cannot be written: it is a loop of symbolic links.")
    assert os.readlink("first.png") == "second.png"


def test_that_a_folder_for_temporary_files_is_not_needed(command, odd_folder, monkeypatch):
    """A full one was reported as a full disk of the result's."""
    monkeypatch.setattr(tempfile, "tempdir", str(odd_folder / "nowhere"))
    assert command("filter ./-a.png o.png", BOX).status == 0


COLOURS = ["red"]


@dataclass(frozen=True, kw_only=True)
class Common:
    seed: int = option("--seed N  of {what} (default 0)", 0, whole("--seed", 0, 9))


@dataclass(frozen=True, kw_only=True)
class Toy(Settings):
    about = "In short."

    files: tuple[str, ...] = operands("FILE  what is read")
    out: str = required("--out FILE  where it goes", str)
    sizes: tuple[int, ...] = option(
        "--size, --sizes 3,5  sides", (3,), several("--sizes", whole("--sizes", 1, 9))
    )
    gain: float | None = option("--gain G  factor", None, number("--gain"))
    set: tuple[str, ...] = option("--set NAME=VALUE  a parameter", ())
    check: bool = option("--no-check  leave it", True)
    colour: str = option(lambda: f"--colour C  of {', '.join(COLOURS)}", "red")
    common: Common = group(Common, what="the noise")


@pytest.fixture(autouse=True)
def toy(monkeypatch):
    monkeypatch.setitem(commands.COMMANDS, "toy", commands.Command("be a toy", __name__))


def test_that_each_kind_of_field_is_read_and_has_its_default():
    assert read("toy", Toy, ["a", "--out", "b"]) == Toy(files=("a",), out="b")
    words = "a --size 5,4,5 b --out c --gain -1.5 --set x=1 --set y=2 --no-check --seed 4 --json -- -d"
    settings = read("toy", Toy, words.split())
    assert settings.files == ("a", "b", "-d")
    assert (settings.sizes, settings.gain, settings.set) == ((5, 4), -1.5, ("x=1", "y=2"))
    assert (settings.check, settings.common.seed, settings.json) == (False, 4, True)


def test_that_what_is_missing_or_cannot_be_read_is_refused():
    for words, says in [
        ("a", "required: --out"),
        ("--out b", "required: FILE"),
        ("a --out b --sizes 3,,4", "a part of the list is empty"),
        ("a --out b --seed 10", "--seed 10: it is not a whole number from 0 to 9"),
    ]:
        with pytest.raises(BadValue) as refused:
            read("toy", Toy, words.split())
        assert says in str(refused.value)


def test_that_an_option_is_refused_only_where_it_changes_something():
    default = read("toy", Toy, ["a", "--out", "b", "--sizes", "3"])
    refuse_used(default, ("sizes", "gain"), "here", "it is for there", "Leave it out.")
    given = read("toy", Toy, ["a", "--out", "b", "--sizes", "4"])
    with pytest.raises(BadValue, match="--size here: it is for there"):
        refuse_used(given, ("sizes",), "here", "it is for there", "Leave it out.")


@pytest.mark.parametrize("word", ["--host", "--host=ana@server", "--host-python"])
def test_that_an_option_that_has_gone_is_refused_with_what_does_it_now(word):
    with pytest.raises(BadValue, match="ssh user@server haloscope toy") as refused:
        read("toy", Toy, ["a", word, "ana@server", "--out", "b"])
    assert refused.value.what == word.partition("=")[0]
    assert read("toy", Toy, ["--out", "b", "--", word]).files == (word,)


def test_that_bench_says_what_measures_on_other_machines():
    with pytest.raises(BadValue, match="ssh user@server haloscope bench"):
        read("bench", BenchSettings, ["--scheduler", "tcp://h:1"])


def test_that_the_help_follows_from_the_settings(monkeypatch):
    assert "--seed N of the noise (default 0)" in " ".join(Parser("toy", Toy).format_help().split())
    monkeypatch.setattr(f"{__name__}.COLOURS", ["red", "blue"])
    assert "--colour C of red, blue" in " ".join(Parser("toy", Toy).format_help().split())
