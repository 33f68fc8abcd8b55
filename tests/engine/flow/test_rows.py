"""A large picture through a stream: steps end where segments do, rows are read once, errors end threads."""

import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tifffile

import engine
from engine.device.device_list import cpu_info
from engine.errors import ImageReadError
from engine.flow import rows
from engine.flow.rows import MemoryPlan, plan_memory
from engine.geometry.border import Border
from engine.image.formats.tiff import TiffPicture
from engine.image.large.opening import open_large
from engine.image.large.source import LargePicture, Storage
from engine.mask.mask import Mask
from engine.work.resolve import Resolved
from tests.engine.flow.fake_gpus import install
from tests.picture_jobs import mask_request

SEGMENT = 16
HEIGHT, WIDTH = 150, 20
MASK = np.arange(15.0).reshape(5, 3) - 6


class Recorded(LargePicture):
    """A picture in memory that remembers which rows were read."""

    def __init__(self, pixels, broken_row=None):
        self.path, self.format, self.storage = Path("memory"), "memory", Storage("npy", (SEGMENT, WIDTH))
        self.pixels, self.dtype = pixels, pixels.dtype
        self.levels, self.channels, self.chunk = (pixels.shape[:2],), pixels.shape[2], (SEGMENT, WIDTH)
        self.rows, self.broken_row = [], broken_row

    def fill(self, level, rows, columns, out):
        self.rows.append((rows.start, rows.stop))
        if self.broken_row is not None and rows.start <= self.broken_row < rows.stop:
            raise ImageReadError("memory cannot be read", "it is broken", "Mend it.")
        out[...] = self.pixels[rows, columns]

    def close(self):
        pass


def plan_for(border, device="cpu"):
    image = np.zeros((HEIGHT, WIDTH, 1), np.float32)
    return Resolved(mask_request(mask=Mask(MASK), border=border, variant="cpu-serial", device=device), image)


def pixels():
    return np.random.default_rng(2).random((HEIGHT, WIDTH, 1), np.float32)


def streamed(picture, border=Border.MIRROR, first_row=0, bands=3, take=None, band_rows=10, device="cpu"):
    found = np.zeros((HEIGHT, WIDTH, 1), np.float32)

    def keep(part):
        found[part.band.first : part.band.first + len(part.values)] = part.values

    memory = MemoryPlan(band_rows, bands, 0, 0)
    rows.filter_rows(picture, plan_for(border, device), memory, take or keep, first_row)
    return found


# On a GPU results are as late as they may be.
@pytest.mark.parametrize("border", list(Border))
def test_that_the_results_are_those_of_the_whole_however_few_bands_may_be_in_memory(border, monkeypatch):
    picture = Recorded(pixels())
    whole = engine.correlate(picture.pixels, MASK, border=border, variant="cpu-serial", device="cpu")
    install(monkeypatch, 1, cpu_info())
    for device, bands in [("cpu", 1), ("cpu", 3), ("cuda:0", 1), ("cuda:0", 3), ("cuda:0", 9)]:
        assert np.array_equal(streamed(picture, border, bands=bands, device=device), whole)


def test_that_results_may_begin_anywhere_and_no_band_is_higher_than_planned():
    picture, heights = Recorded(pixels()), []
    assert np.array_equal(streamed(picture, first_row=77)[77:], streamed(picture)[77:])
    streamed(picture, take=lambda part: heights.append(len(part.values)), band_rows=17)
    assert (sum(heights), max(heights) <= 17) == (HEIGHT, True)


@pytest.mark.parametrize("kind", ["strips", "tiles"])
def test_that_every_strip_and_tile_is_decoded_once(kind, tmp_path, monkeypatch):
    how = {"rowsperstrip": 16} if kind == "strips" else {"tile": (32, 16)}
    tifffile.imwrite(tmp_path / "in.tif", pixels()[..., 0], compression="zlib", **how)
    decoded, decode = [], TiffPicture._decode
    monkeypatch.setattr(TiffPicture, "_decode", lambda one, *key: decoded.append(key) or decode(one, *key))
    with open_large(tmp_path / "in.tif") as picture:
        plan = plan_for(Border.MIRROR)
        storage = picture.storage
        memory = replace(plan_memory(picture, plan, storage, picture.dtype, None, verify=False), band_rows=11)
        rows.filter_rows(picture, plan, memory, lambda part: None)
    assert len(decoded) == len(set(decoded)) == (10 if kind == "strips" else 5 * 2)


def test_that_bands_read_ahead_are_bounded_where_the_whole_picture_is_one_strip():
    picture = Recorded(np.broadcast_to(np.zeros(1, np.uint8), (1 << 20, 4096, 1)))
    picture.chunk = picture.levels[0]
    like = Resolved(mask_request(mask=Mask(MASK), device="cpu"), picture.pixels[:99])
    plan = plan_memory(picture, like, Storage("npy", (1, 4096)), picture.dtype, None, verify=False)
    # Each takes 8 bit, and float32 for its results.
    assert (plan.most_bands - 3) * plan.band_rows * 5 * 4096 <= 64 << 20 < plan.cache_bytes


@pytest.mark.parametrize("row", [3, 70, HEIGHT - 1])
def test_that_an_error_of_reading_or_taking_is_raised_and_leaves_no_thread(row, monkeypatch):
    def take(part):
        if part.band.first <= row < part.band.first + len(part.values):
            raise OSError("no room")

    before = threading.active_count()
    install(monkeypatch, 1, cpu_info())
    for device, bands in [("cpu", 1), ("cpu", 3), ("cuda:0", 1), ("cuda:0", 9)]:
        with pytest.raises(ImageReadError, match="it is broken"):
            streamed(Recorded(pixels(), row), bands=bands, device=device)
        with pytest.raises(OSError, match="no room"):
            streamed(Recorded(pixels()), take=take, bands=bands, device=device)
    assert threading.active_count() == before
