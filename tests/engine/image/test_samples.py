from pathlib import Path

import numpy as np
import pytest

from assets.make_samples import DRAWINGS
from engine.errors import UnknownName
from engine.image.samples import SAMPLES, open_sample, sample_path

ASSETS = Path(__file__).resolve().parents[3] / "assets"


def test_that_assets_stay_under_three_megabytes_and_every_sample_opens_without_a_note_and_has_a_licence():
    assert sum(path.stat().st_size for path in ASSETS.rglob("*") if path.is_file()) < 3_000_000
    licences = (ASSETS / "LICENSES.md").read_text(encoding="utf-8")
    for sample in SAMPLES:
        assert open_sample(sample.key).notes == ()
        assert sample.path.name in licences
        assert sample.sentence.endswith(".")
    assert {path.name for path in sample_path("camera").parent.iterdir()} == {
        sample.path.name for sample in SAMPLES
    }


@pytest.mark.parametrize("key", DRAWINGS)
def test_that_a_drawing_is_what_its_script_draws(key):
    # One step: cos and sin differ in the last bit between processors.
    difference = open_sample(key).pixels.astype(np.int64) - DRAWINGS[key]()
    assert np.abs(difference).max() <= 1


def test_that_there_is_a_photograph_in_colour_a_16_bit_picture_and_a_refusal_with_the_known_ones():
    assert open_sample("astronaut").title() == "astronaut.png  512 x 512  RGB  8 bit"
    assert open_sample("gradient-16").dtype == np.uint16
    with pytest.raises(UnknownName, match=r"'lena'.*astronaut, camera"):
        sample_path("lena")
