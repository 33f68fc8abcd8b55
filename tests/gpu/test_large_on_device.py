"""Pictures larger than memory on a CUDA device: the bits of the whole, at every border."""

import numpy as np
import pytest

import engine
from engine.commands.arguments import read
from engine.commands.filtering import FilterSettings
from engine.commands.in_bands import work_of
from engine.commands.picture_work import work_for
from engine.flow import rows as memory_plan
from engine.flow.file import filter_file
from engine.geometry.border import Border

MASK = "1 2 0 -1; 3 5 1 0; -2 0 4 1"


@pytest.mark.parametrize("border", list(Border))
@pytest.mark.parametrize("key", ["naive", "tiled"])
@pytest.mark.parametrize("size", [2048, 1 << 18])
def test_that_bands_on_the_device_have_the_bits_of_the_whole(
    device, border, key, size, tmp_path, monkeypatch
):
    monkeypatch.setattr(memory_plan, "_BAND_BYTES", size)
    pixels = np.random.default_rng(1).integers(0, 255, (1500, 700, 3), np.uint8)
    np.save(tmp_path / "in.npy", pixels)
    source, output = str(tmp_path / "in.npy"), str(tmp_path / "out.npy")
    words = [
        source,
        output,
        "--mask",
        MASK,
        "--border",
        str(border),
        "--cval",
        str(9 * (border == "constant")),
        "--depth",
        "float32",
    ]
    settings = read("filter", FilterSettings, [*words, "--variant", key, "--device", device])
    how = work_for(settings.steps, settings.saving)
    filter_file(work_of(how), source, output, memory=None)
    whole = engine.correlate(
        pixels, MASK, border=border, cval=9 * (border == "constant"), variant=key, device=device
    )
    assert np.array_equal(np.load(output), whole)
