import os

import pytest

from engine.errors import FileWriteError, MaskError
from engine.mask.files import MAX_BYTES, load_mask, save_mask
from engine.mask.mask import Mask
from engine.mask.text import format_mask


@pytest.mark.parametrize("name", ["m.json", "m.csv", "m.txt", "M.JSON"])
def test_that_a_saved_mask_is_loaded_again_and_json_keeps_everything(tmp_path, name):
    weights = [[1, 1 / 3, -2e-7], [0, 5, 6]]
    mask = Mask(weights, (0, 0), 0.5, "mine") if name.lower().endswith("json") else Mask(weights, name="m")
    save_mask(mask, tmp_path / name)
    loaded = load_mask(str(tmp_path / name))
    assert (loaded, loaded.name) == (mask, mask.name)
    assert os.listdir(tmp_path) == [name]


def test_that_a_byte_order_mark_is_skipped_and_the_file_names_a_mask_without_a_name(tmp_path):
    (tmp_path / "ramp.txt").write_bytes(b"\xef\xbb\xbf1 2 3\r\n/ 6\r\n")
    (tmp_path / "m.json").write_text(format_mask(Mask([[1, 2]]), "json"), encoding="utf-8-sig")
    masks = [load_mask(tmp_path / name) for name in ("ramp.txt", "m.json")]
    assert masks == [Mask([[1 / 6, 2 / 6, 3 / 6]]), Mask([[1, 2]])]
    assert [mask.name for mask in masks] == ["ramp", "m"]


@pytest.mark.parametrize(
    ("mask", "name", "error", "words"),
    [
        (Mask([[1, 2]], (0, 0)), "m.csv", MaskError, "anchor"),
        (Mask([[1, 2]], offset=1.0), "m.csv", MaskError, "offset"),
        (Mask([[1]]), "m.png", MaskError, r"\.json, \.csv or \.txt"),
        (Mask([[1]]), "none/m.json", FileWriteError, "folder"),
    ],
)
def test_that_a_form_that_cannot_hold_the_mask_or_a_wrong_name_is_refused(tmp_path, mask, name, error, words):
    with pytest.raises(error, match=words):
        save_mask(mask, tmp_path / name)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("data", "why"),
    [
        pytest.param(b"", "empty", id="zero-bytes"),
        pytest.param(b"\x89PNG\r\n\x1a\n\xff\xfe", "UTF-8", id="a-picture"),
        pytest.param(b"1 " * MAX_BYTES, "at most", id="too-large"),
        pytest.param(b"1 2; 3", "row 2 has 1 cell", id="ragged"),
        pytest.param(b'{"format": 1}', '"format"', id="other-json"),
        pytest.param(b"1 " * 128, "1 to 127", id="too-wide"),
    ],
)
def test_that_a_file_that_is_no_mask_is_refused_with_its_name(tmp_path, data, why):
    path = tmp_path / "bad.json"
    path.write_bytes(data)
    with pytest.raises(MaskError) as refusal:
        load_mask(path)
    assert "bad.json" in refusal.value.what
    assert why in refusal.value.why
    assert refusal.value.remedy


def test_that_a_missing_file_a_folder_no_name_at_all_and_a_pipe_are_refused(tmp_path):
    refusals = {"none.json": "no such file", ".": "it is a folder", "a\0b": "null"}
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        refusals["pipe"] = "not a regular file"
    for name, why in refusals.items():
        with pytest.raises(MaskError, match=why):
            load_mask(tmp_path / name)
