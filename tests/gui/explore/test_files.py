import os

import numpy as np
import pytest

from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.mask.mask import Mask
from gui.engine_link.engine_start import FirstPicture
from gui.explore.files import is_mask_file
from gui.page.intents import Begin
from gui.page.messages import Severity


def test_that_a_session_brings_picture_mask_and_settings_back(bench, tmp_path):
    mask = Mask([[1, 0.1], [-3, 2], [0, 5]], anchor=(0, 1), offset=4.5, name="Mine")
    bench.workspace.set_mask(mask)
    bench.workspace.change(border=Border.CONSTANT, cval=7.5, flip=True, block=Block(32, 8), variant="tiled")
    settings = bench.workspace.settings
    bench.files.save_session(tmp_path / "work.json")
    bench.open("other.png")
    bench.workspace.set_mask(Mask([[1]]))
    bench.workspace.change(border=Border.WRAP, flip=False, block=None, variant="auto")
    bench.files.open_session(tmp_path / "work.json")
    bench.settle()
    assert bench.workspace.picture.title == "photo.png"
    assert (bench.workspace.mask, bench.workspace.mask.name) == (mask, "Mine")
    assert bench.workspace.settings == settings


def test_that_a_session_whose_picture_is_gone_brings_the_rest(bench, tmp_path):
    bench.files.save_session(tmp_path / "work.json")
    text = (tmp_path / "work.json").read_text()
    (tmp_path / "work.json").write_text(text.replace('"sample": "photo.png"', '"sample": "missing"'))
    mask = bench.workspace.mask
    bench.workspace.set_mask(Mask([[1]]))
    bench.files.open_session(tmp_path / "work.json")
    bench.settle()
    assert bench.workspace.mask == mask
    assert bench.messages.newest.what == "missing cannot be opened"


def test_that_a_picture_given_beside_a_session_stays(bench, tmp_path):
    bench.workspace.change(border=Border.WRAP)
    bench.files.save_session(tmp_path / "work.json")
    bench.workspace.change(border=Border.ZERO)
    bench.open("other.png")
    bench.files.begin(Begin(FirstPicture(None, None), str(tmp_path / "work.json")))
    bench.settle()
    assert bench.workspace.picture.title == "other.png"
    assert bench.workspace.settings.border is Border.WRAP


@pytest.mark.parametrize("suffix", [".json", ".csv", ".txt"])
def test_that_a_saved_mask_is_loaded_again_as_one_step(bench, tmp_path, suffix):
    path, mask = tmp_path / f"mine{suffix}", bench.workspace.mask
    bench.files.save_mask(path)
    assert str(path) in bench.messages.newest.what
    bench.workspace.set_mask(Mask(np.eye(5)))
    bench.files.open_dropped([str(path)])
    np.testing.assert_array_equal(bench.workspace.mask.weights, mask.weights)
    bench.workspace.undo_stack.undo()
    assert bench.workspace.mask.shape == (5, 5)


@pytest.mark.parametrize("name", ["missing.txt", "folder", "empty.txt", "words.txt"])
def test_that_what_is_no_mask_is_reported_and_the_mask_stays(bench, tmp_path, name):
    before = bench.workspace.mask
    (tmp_path / "folder").mkdir()
    (tmp_path / "empty.txt").write_bytes(b"")
    (tmp_path / "words.txt").write_text("hello there")
    bench.files.load_mask(tmp_path / name)
    error = bench.messages.newest
    assert error.severity is Severity.ERROR
    assert name in error.what
    assert error.why
    assert error.remedy
    assert bench.workspace.mask is before


@pytest.mark.parametrize(
    ("save", "name"),
    [("save_mask", "gone/mask.json"), ("save_mask", "mask.xls"), ("save_session", "gone/folder/work.json")],
)
def test_that_what_cannot_be_saved_is_reported(bench, tmp_path, save, name):
    getattr(bench.files, save)(tmp_path / name)
    assert bench.messages.newest.severity is Severity.ERROR
    assert bench.messages.newest.remedy
    assert not (tmp_path / name).exists()


def test_that_a_mask_says_so_in_its_file_and_a_dropped_pipe_is_not_waited_for(bench, tmp_path):
    bench.files.save_mask(tmp_path / "mask.json")
    bench.files.save_session(tmp_path / "session.json")
    os.mkfifo(tmp_path / "pipe.json")
    assert is_mask_file(tmp_path / "mask.json")
    assert not any(is_mask_file(tmp_path / f"{name}.json") for name in ("session", "missing", "pipe"))
