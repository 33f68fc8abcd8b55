import pytest

from engine.errors import BadValue, MaskError
from engine.mask.generators import gaussian
from engine.mask.mask import Mask
from engine.mask.presets import preset
from engine.mask.resolve import resolve_mask

PATHS = "./my-mask.json", "../none", "/no/such/file", "none.csv"


def test_that_a_preset_a_spelling_a_file_and_weights_are_tried_in_this_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("mine.txt", "sobel-x"):
        (tmp_path / name).write_text("1 2 3")
    assert resolve_mask("sobel-x") == preset("sobel-x")
    assert resolve_mask("./sobel-x") == Mask([[1, 2, 3]])
    assert resolve_mask("gaussian:5:1") == gaussian(5, sigma=1.0)
    assert resolve_mask("mine.txt") == Mask([[1, 2, 3]])
    assert resolve_mask("1 0 -1; 2 0 -2") == Mask([[1, 0, -1], [2, 0, -2]])


@pytest.mark.parametrize("spec", ["sobell-x", "none", "a 1 0", "", "a\0b", "x" * 5000])
def test_that_what_fits_nothing_is_refused_with_all_readings(spec):
    with pytest.raises(MaskError) as refusal:
        resolve_mask(spec)
    for reading in ("no preset", "no such file", "read as weights"):
        assert reading in refusal.value.why
    assert "masks" in refusal.value.remedy


@pytest.mark.parametrize(
    ("spec", "words", "not_words"),
    [
        ("sobell-x", "the closest is sobel-x", "Did you mean"),
        ("gauss:9", "Did you mean 'gaussian:9'", "sobel-x is"),
        # What begins like weights can only be meant as weights, and a path only as a file.
        ("1 0 a", "row 1, column 3 says 'a'", "preset"),
        *((path, "there is no such file", "not a number") for path in PATHS),
    ],
)
def test_that_a_refusal_answers_what_was_probably_meant(spec, words, not_words):
    with pytest.raises(MaskError, match=words) as refusal:
        resolve_mask(spec)
    assert not_words not in str(refusal.value)


def test_that_a_file_that_is_no_mask_and_a_wrong_spelling_keep_their_own_error(tmp_path):
    (tmp_path / "bad.txt").write_text("1 2; 3")
    with pytest.raises(MaskError, match=r"bad\.txt.*row 2 has 1 cell"):
        resolve_mask(str(tmp_path / "bad.txt"))
    with pytest.raises(MaskError, match="folder"):
        resolve_mask(str(tmp_path))
    with pytest.raises(BadValue, match="1 to 63"):
        resolve_mask("box:64")
