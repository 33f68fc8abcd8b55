import json
import os
import re
from dataclasses import replace

import numpy as np
import pytest

from engine.geometry.block import Block
from engine.geometry.block_list import every_block
from engine.geometry.border import Border
from engine.geometry.layout import Layout
from engine.mask.mask import Mask
from gui.engine_link.engine_start import FirstPicture
from gui.explore.files import is_mask_file
from gui.explore.session_file import LARGEST_BYTES, Session, SessionError, load_session, save_session
from gui.explore.state import Settings
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


def test_that_a_session_brings_an_operation_with_its_settings_back(bench, tmp_path):
    workspace = bench.workspace
    workspace.change(variant="tiled", blocks=(Block(8, 8), Block(32, 8)))
    filtering = workspace.settings
    workspace.choose("median")
    workspace.set_parameter("size", 5)
    workspace.change(variant="median-tiled", block=Block(8, 8))
    job = workspace.job()
    bench.files.save_session(tmp_path / "work.json")
    workspace.set_parameter("size", 3)
    workspace.choose("")
    workspace.change(variant="naive")
    bench.files.open_session(tmp_path / "work.json")
    bench.settle()
    assert workspace.job() == replace(job, picture=workspace.picture)
    assert workspace.settings_of("") == filtering
    workspace.choose("find-patch")
    workspace.change(patch_path=str(tmp_path / "patch.png"))
    bench.files.save_session(tmp_path / "work.json")
    assert load_session(tmp_path / "work.json").choice["patch_path"] == str(tmp_path / "patch.png")


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ([], "not a table"),
        ({"key": "sharpest"}, "no such operation"),
        ({"key": "median", "parameters": {"size": 4}}, "size"),
        ({"key": "median", "parameters": {"radius": 4}}, "no such parameter"),
        ({"key": "median", "parameters": 3}, '"parameters" is not a table'),
        ({"key": "median", "block": [0, 1]}, '"block" is not two whole numbers'),
    ],
)
def test_that_a_wrong_operation_in_a_session_is_named(tmp_path, table, says):
    (tmp_path / "work.json").write_text(json.dumps(document() | {"operation": table}))
    with pytest.raises(SessionError, match=re.escape(says)):
        load_session(tmp_path / "work.json")


@pytest.mark.parametrize("pages", [[], {"network": 7}])
def test_that_what_is_no_table_of_pages_in_a_session_is_named(tmp_path, pages):
    (tmp_path / "work.json").write_text(json.dumps(document() | {"pages": pages}))
    with pytest.raises(SessionError, match='"pages" is not a table of tables'):
        load_session(tmp_path / "work.json")


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


def test_that_a_saved_mask_is_loaded_again_as_one_step(bench, tmp_path):
    mask = bench.workspace.mask
    for suffix in (".json", ".csv", ".txt"):
        path = tmp_path / f"mine{suffix}"
        bench.workspace.set_mask(mask)
        bench.files.save_mask(path)
        assert str(path) in bench.messages.newest.what
        bench.workspace.set_mask(Mask(np.eye(5)))
        bench.files.open_dropped([str(path)])
        np.testing.assert_array_equal(bench.workspace.mask.weights, mask.weights)
        bench.workspace.undo_stack.undo()
        assert bench.workspace.mask.shape == (5, 5)


def test_that_what_is_no_mask_or_cannot_be_saved_is_reported(bench, tmp_path):
    before = bench.workspace.mask
    (tmp_path / "folder").mkdir()
    (tmp_path / "empty.txt").write_bytes(b"")
    (tmp_path / "words.txt").write_text("hello there")
    for name in ("missing.txt", "folder", "empty.txt", "words.txt"):
        bench.files.load_mask(tmp_path / name)
        error = bench.messages.newest
        assert error.severity is Severity.ERROR
        assert name in error.what
        assert error.why
        assert error.remedy
        assert bench.workspace.mask is before
    save_mask, save_session = bench.files.save_mask, bench.files.save_session
    for save, name in ((save_mask, "gone/m.json"), (save_mask, "m.xls"), (save_session, "gone/on/w.json")):
        save(tmp_path / name)
        assert name in bench.messages.newest.what
        assert bench.messages.newest.severity is Severity.ERROR
        assert bench.messages.newest.remedy
        assert not (tmp_path / name).exists()


def test_that_only_a_file_of_a_mask_is_taken_for_one(bench, tmp_path):
    bench.files.save_mask(tmp_path / "mask.json")
    bench.files.save_session(tmp_path / "session.json")
    os.mkfifo(tmp_path / "pipe.json")
    assert is_mask_file(tmp_path / "mask.json")
    assert not any(is_mask_file(tmp_path / f"{name}.json") for name in ("session", "missing", "pipe"))


MASK = Mask([[0.1, -2.5], [1 / 3, 4e-9], [0, 7]], anchor=(2, 0), offset=-3.25, name="Größe ±")
SETTINGS = Settings(
    border=Border.CONSTANT,
    cval=12.5,
    flip=True,
    normalise=True,
    variant="tiled",
    device="cuda:0",
    block=Block(32, 4),
    range_mode="absolute",
    baseline="naive",
    layout=Layout.PACKED,
    result_type="same",
    blocks=(Block(8, 8), Block(32, 4)),
    kernels=("naive", "tiled"),
)


def document():
    return {
        "format": "haloscope-session",
        "version": 1,
        "picture": {"path": "", "sample": "camera"},
        "mask": {"name": "Box", "weights": [[1, 1], [1, 1]], "anchor": [1, 1], "offset": 0},
        "settings": {"border": "wrap", "block": [16, 16]},
    }


@pytest.mark.parametrize("name", [b"photo.png", b"\xff.png"], ids=["UTF-8", "not UTF-8"])
def test_that_a_session_comes_back_as_it_was_saved(tmp_path, name):
    session = Session(os.fsdecode(bytes(tmp_path) + b"/" + name), "", MASK, SETTINGS)
    save_session(tmp_path / "work.json", session)
    back = load_session(tmp_path / "work.json")
    assert back == session
    assert back.mask.name == MASK.name


def test_that_all_blocks_are_a_word_in_the_file(tmp_path):
    session = Session("", "camera", MASK, replace(SETTINGS, blocks=every_block()))
    save_session(tmp_path / "work.json", session)
    assert json.loads((tmp_path / "work.json").read_text())["settings"]["blocks"] == "all"
    assert load_session(tmp_path / "work.json") == session


def test_that_what_a_session_leaves_out_has_its_default(tmp_path):
    (tmp_path / "work.json").write_text(json.dumps(document()))
    session = load_session(tmp_path / "work.json")
    assert session.settings == Settings(border=Border.WRAP, block=Block(16, 16))
    assert session.sample == "camera"
    (tmp_path / "work.json").write_text(json.dumps(document() | {"picture": {"path": "photo.png"}}))
    assert load_session(tmp_path / "work.json").picture_path == str(tmp_path / "photo.png")


def changed(part, **fields):
    values = document()
    values[part] = values[part] | fields
    return values


@pytest.mark.parametrize(
    ("values", "word"),
    [
        (document() | {"format": "other"}, "format"), (document() | {"version": 2}, "version"),
        (document() | {"version": True}, "version"), (document() | {"picture": []}, "picture"),
        (document() | {"mask": None}, "mask"), (changed("picture", path=3), "path"),
        (changed("picture", path="a\0b"), "path"), (changed("picture", path="\ud800.png"), "not a character"),
        (changed("mask", name="\ud800"), "not a character"),
        (changed("mask", name="n" * 300), "more than 200 characters"),
        (changed("mask", weights=[["1"]]), "row 1, column 1"),
        (changed("mask", weights=[[10**400]]), "too large a number"),
        (changed("mask", anchor=[0.5, 0]), "anchor"), (changed("mask", offset="1"), "offset"),
        (changed("settings", border="torus"), "torus"), (changed("settings", layout="dense"), "layout"),
        (changed("settings", result_type="uint8"), "result_type"), (changed("settings", flip=1), "flip"),
        (changed("settings", cval=10**400), "too large a number"),
        (changed("settings", block=[0, 16]), "block"),
        (changed("settings", block=[16]), "block"), (changed("settings", block=[16, 2048]), "block"),
        (changed("settings", blocks=[[8, 8], None]), "blocks"),
        (changed("settings", blocks=[[8]]), "blocks"), (changed("settings", blocks="most"), "blocks"),
        (changed("settings", blocks=[[8, 8]] * 300), "blocks"), (changed("settings", kernels=[3]), "kernels"),
        (changed("settings", block="16x16"), "block"), (changed("settings", range_mode="wrap"), "range_mode"),
        (changed("settings", variant=None), "variant"), (changed("settings", variant="x" * 5000), "variant"),
    ],
)  # fmt: skip
def test_that_a_bad_value_is_refused_by_name(tmp_path, values, word):
    (tmp_path / "bad.json").write_text(json.dumps(values))
    with pytest.raises(SessionError) as refused:
        load_session(tmp_path / "bad.json")
    assert "bad.json" in refused.value.what
    assert word in refused.value.why


DAMAGED = {
    "empty": "", "cut": "{", "list": "[1]", "deep": "[" * 100_000, "digits": "1" * 5000,
    "bytes": "\ufeff\udcff".encode("utf-8", "surrogatepass").decode("latin1"),
    "NaN": '{"format": "haloscope-session", "version": NaN}',
    "infinite": '{"format": "haloscope-session", "version": 1e999}',
    "whole": '{"format": "haloscope-session", "version": 1%s}' % ("0" * 400),
    "twice": '{"format": "haloscope-session", "format": "haloscope-session", "version": 1}',
}  # fmt: skip


@pytest.mark.parametrize("text", DAMAGED.values(), ids=DAMAGED)
def test_that_a_damaged_file_is_refused_in_words(tmp_path, text):
    (tmp_path / "bad.json").write_text(text)
    with pytest.raises(SessionError) as refused:
        load_session(tmp_path / "bad.json")
    assert refused.value.why
    assert refused.value.remedy


def test_that_what_is_no_file_or_too_large_is_refused_before_it_is_read(tmp_path):
    (tmp_path / "huge.json").write_text("[" * (LARGEST_BYTES + 1))
    os.mkfifo(tmp_path / "pipe.json")
    for name, why in (
        ("huge.json", "bytes"),
        ("pipe.json", "it is a device or a pipe, not a file"),
        ("none.json", "no such file"),
        (".", "it is a folder"),
    ):
        with pytest.raises(SessionError, match=why):
            load_session(tmp_path / name)


def test_that_the_menu_of_samples_says_how_large_each_is(haloscope):
    titles = [action.text() for action in haloscope.commands.samples]
    assert titles[0] == "Astronaut, 512 × 512"
    assert "Impulse, 63 × 63" in titles
    assert all(action.icon().isNull() for action in haloscope.commands.samples)
