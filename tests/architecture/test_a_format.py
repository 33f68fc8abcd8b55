"""A new picture format is one entry: opening, saving, `batch`, dialogs, help and refusals find it."""

import json
import re
import struct
from dataclasses import replace
from unittest.mock import MagicMock

import numpy as np
import pytest

import engine
from engine.errors import ImageReadError, ImageWriteError
from engine.image import formats
from engine.image.faults import Unsupported
from engine.image.format import Decoded, Form, Format
from engine.image.formats import in_words, titles
from engine.image.picture import Picture
from tests.gui.conftest import (  # noqa: F401 - fixtures
    haloscope,
    light_again,
    open_window,
    rest_is_kept,
    window_of_file,
)

HEADER = struct.Struct("<4sII")


def decode(file, budget):
    """Decode what `encode` wrote; a header of no rows stands for a kind that is not read."""
    _, height, width = HEADER.unpack(file.read(HEADER.size))
    if not height:
        raise Unsupported("it has no rows")
    form = Form(height, width, 1, False, np.dtype(np.float32))
    budget.check(form)
    canvas = budget.canvas(form)
    canvas.decode_into(lambda out: file.readinto(out))
    return Decoded(canvas)


def encode(picture, quality):
    """Write a grey float picture as it lies in memory."""
    return HEADER.pack(b"TOY!", picture.height, picture.width) + picture.pixels.tobytes()


TOY = Format(
    "Toy",
    suffixes=(".toy", ".toybox"),
    signatures=(b"TOY!",),
    decode=decode,
    unsupported=(("odd toy", "it is odd"),),
    encode=encode,
    saved_suffixes=(".toy",),
    dtypes=(np.float32,),
    has_quality=True,
    keeps_alpha=False,
    max_side=100,
    encoder_bytes=2**20,
)
VALUES = np.linspace(-3, 300, 35, dtype=np.float32).reshape(5, 7)
# The formats without the toy, those of them that can be written, and that hold float32.
KNOWN, SAVED, FLOATS = formats.FORMATS, formats.saved_formats(), formats.formats_for(np.float32)


@pytest.fixture(autouse=True)
def _with_toy(monkeypatch):
    monkeypatch.setattr(formats, "FORMATS", (*formats.FORMATS, TOY))


@pytest.fixture
def toy_file(tmp_path):
    path = tmp_path / "a.toy"
    engine.save_image(VALUES, path)
    return path


def test_that_what_is_saved_so_is_opened_by_its_first_bytes(toy_file):
    opened = engine.open_image(toy_file)
    assert (opened.format, opened.notes) == ("Toy", ())
    assert np.array_equal(opened.pixels, VALUES)
    misnamed = toy_file.rename(toy_file.with_suffix(".png"))
    assert engine.open_image(misnamed).notes == ("It is named .png but is a Toy file.",)


def test_that_what_it_cannot_keep_is_left_out_with_a_sentence(tmp_path):
    keep = titles((known for known in SAVED if known.keeps_alpha), "and")
    (note,) = engine.save_image(Picture(VALUES, np.ones_like(VALUES)), tmp_path / "a.toy")
    assert note == f"Toy has no alpha: it was left out. {keep} keep it."


def test_that_its_files_are_refused_in_its_words(tmp_path):
    for content, why in [
        (b"TO", "ends after 2 bytes"),
        (HEADER.pack(b"TOY!", 0, 1), "this kind of Toy is not supported: it has no rows"),
        (b"TOY!", "its Toy data is damaged or cut short"),
        (HEADER.pack(b"TOY!", 10**5, 10**5), "its 100,000 × 100,000 pixels take"),
    ]:
        (tmp_path / "a.toy").write_bytes(content)
        with pytest.raises(ImageReadError) as caught:
            engine.open_image(tmp_path / "a.toy")
        assert why in caught.value.why


def test_that_what_its_library_says_is_explained(tmp_path, monkeypatch):
    odd = replace(TOY, decode=MagicMock(side_effect=ValueError("this is an odd toy")))
    monkeypatch.setattr(formats, "FORMATS", (*formats.FORMATS[:-1], odd))
    (tmp_path / "a.toy").write_bytes(b"TOY!")
    with pytest.raises(ImageReadError, match="this kind of Toy is not supported: it is odd"):
        engine.open_image(tmp_path / "a.toy")


def test_that_refusals_of_others_name_it(tmp_path):
    (tmp_path / "a.png").write_bytes(b"some words")
    with pytest.raises(ImageReadError, match=f"Save it as {titles((*KNOWN, TOY))}"):
        engine.open_image(tmp_path / "a.png")
    with pytest.raises(ImageWriteError, match=rf"{re.escape(SAVED[-1].saved_suffixes[-1])}, \.toy\.$"):
        engine.save_image(VALUES, tmp_path / "a.xyz")
    with pytest.raises(
        ImageWriteError, match=f"Save it as {titles((*FLOATS, TOY))}, or ask for depth 8 or 16"
    ):
        engine.save_image(VALUES, tmp_path / "a.png")
    with pytest.raises(ImageWriteError, match="Toy does not hold 8 bit values"):
        engine.save_image(VALUES.astype(np.uint8), tmp_path / "a.toy")
    with pytest.raises(ImageWriteError, match=r"Toy holds 100 pixels on a side.* Save it as TIFF"):
        engine.save_image(np.zeros((1, 101), np.float32), tmp_path / "a.toy")


@pytest.mark.slow
def test_that_filter_treats_it_as_any_other_format(toy_file, command):
    out = toy_file.with_name("b.toy")
    assert command("filter", toy_file, out, "--mask", "identity", "--quality", "50").err == ""
    assert np.array_equal(engine.open_image(out).pixels, VALUES)
    help_text = " ".join(command("filter", "--help").out.split())
    written = (*(known.saved_suffixes[0] for known in SAVED), ".toy")
    assert f"picture: {titles((*KNOWN, TOY))}" in help_text
    assert f"file to write: {in_words(written)}" in help_text
    assert f"float32 ({titles((*FLOATS, TOY))} only" in help_text
    lossy = titles((*(known for known in SAVED if known.has_quality), TOY), "and")
    assert f"for {lossy}; " in help_text
    limit = ("--max-bytes", "1MiB")
    refused = command("filter", toy_file, out, "--mask", "identity", *limit)
    assert "filtering and saving its 7 × 5 pixels takes 35.0 MiB" in refused.err
    assert command("filter", toy_file, out.with_suffix(".tif"), "--mask", "identity", *limit).status == 0


@pytest.mark.slow
def test_that_batch_takes_its_files(toy_file, tmp_path, command):
    options = ("--out", tmp_path / "out", "--mask", "identity", "--depth", "float32", "--json")
    answer = command("batch", tmp_path, *options, "--format", "toy")
    assert answer.status == 0, answer.err
    assert np.array_equal(engine.open_image(tmp_path / "out" / "a.toy").pixels, VALUES)
    assert json.loads(answer.out)["pictures"] == 1
    names = [known.saved_suffixes[0].removeprefix(".") for known in SAVED]
    assert f"{names[-1]}, toy" in command("batch", "--help").out
    toy_file.rename(tmp_path / "a.bmp")
    answer = command("batch", tmp_path, *options)
    assert f"Choose what to write: --format {in_words((*names, 'toy'))}." in answer.err


def test_that_the_window_offers_it_wherever_it_names_formats(haloscope):  # noqa: F811
    actions, files = haloscope.actions, haloscope.files
    assert f"{titles((*KNOWN, TOY))}." in actions["open"].toolTip()
    assert f"{titles((*SAVED, TOY))}." in actions["save"].toolTip()
    actions["open"].trigger()
    assert f"*{KNOWN[-1].suffixes[-1]} *.toy *.toybox" in files.dialog.nameFilters()[0]
    actions["save"].trigger()
    filters = files.dialog.nameFilters()
    # It holds float32 alone.
    assert [one for one in filters if "Toy" in one] == ["Toy, 32-bit float (*.toy)"]
