"""A large picture through a stream: steps end where segments do, rows are read once, errors end threads."""

import threading
from collections import deque
from pathlib import Path

import numpy as np
import pytest

import engine
from engine.errors import ImageReadError
from engine.flow.memory import MemoryPlan
from engine.flow.plan import Plan
from engine.flow.rows import RowStream, steps
from engine.geometry.border import Border
from engine.geometry.cut import Reach
from engine.image.large.source import LargePicture
from engine.image.large.storage import Storage
from engine.mask.mask import Mask
from engine.work.resolve import Resolved
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

    def read(self, level, rows, columns):
        self.rows.append((rows.start, rows.stop))
        if self.broken_row is not None and rows.start <= self.broken_row < rows.stop:
            raise ImageReadError("memory cannot be read", "it is broken", "Mend it.")
        return self.pixels[rows, columns]

    def close(self):
        pass


def plan_for(border):
    image = np.zeros((HEIGHT, WIDTH, 1), np.float32)
    asked = mask_request(mask=Mask(MASK), border=border, variant="cpu-serial", device="cpu")
    return Plan.of(Resolved(asked, image))


def late(ahead, border=Border.MIRROR):
    """Return what filters images, and hands a result over when so many others are under way, as on a GPU."""

    def run(images, outputs, receive):
        under_way, number = deque(), 0
        for image in images:
            out = next(outputs)
            out[...] = engine.correlate(image, MASK, border=border, variant="cpu-serial", device="cpu")
            under_way.append(out)
            if len(under_way) > ahead:
                receive(number, under_way.popleft())
                number += 1
        while under_way:
            receive(number, under_way.popleft())
            number += 1

    return run


def pixels():
    return np.random.default_rng(2).random((HEIGHT, WIDTH, 1), np.float32)


def streamed(picture, ahead=0, border=Border.MIRROR, first_row=0, buffers=None, take=None, band_rows=10):
    found = np.zeros((HEIGHT, WIDTH, 1), np.float32)

    def keep(part):
        found[part.top : part.top + len(part.values)] = part.values

    memory = MemoryPlan(SEGMENT * 2, band_rows, buffers or 3 + ahead, 3, 0)
    RowStream(picture, plan_for(border), late(ahead, border), memory, take or keep).run(first_row)
    return found


@pytest.mark.parametrize("border", list(Border))
@pytest.mark.parametrize("ahead", [0, 1, 5])
def test_that_the_results_are_those_of_the_whole(border, ahead):
    picture = Recorded(pixels())
    whole = engine.correlate(picture.pixels, MASK, border=border, variant="cpu-serial", device="cpu")
    assert np.array_equal(streamed(picture, ahead, border), whole)


@pytest.mark.parametrize("buffers", [2, 3])
def test_that_two_buffers_are_enough_where_results_come_at_once(buffers):
    picture = Recorded(pixels())
    whole = engine.correlate(picture.pixels, MASK, border="mirror", variant="cpu-serial", device="cpu")
    assert np.array_equal(streamed(picture, buffers=buffers), whole)


def test_that_no_band_is_higher_than_planned():
    heights = []
    streamed(Recorded(pixels()), take=lambda part: heights.append(len(part.values)), band_rows=17)
    assert sum(heights) == HEIGHT
    assert max(heights) <= 17


def test_that_every_row_is_read_once():
    picture = Recorded(pixels())
    streamed(picture)
    assert sorted(row for first, last in picture.rows for row in range(first, last)) == list(range(HEIGHT))


def test_that_what_is_read_ends_where_segments_end():
    picture = Recorded(pixels())
    streamed(picture)
    assert {last % SEGMENT for _, last in picture.rows[:-1]} == {0}


def test_that_results_may_begin_anywhere():
    picture = Recorded(pixels())
    assert np.array_equal(streamed(picture, first_row=77)[77:], streamed(picture)[77:])


@pytest.mark.parametrize("height", range(1, 60, 3))
def test_that_steps_have_every_row_of_the_result_once(height):
    found = steps(Reach((2, 2), (1, 1)), height, SEGMENT, SEGMENT)
    assert [row for band in found for row in range(band.first, band.last)] == list(range(height))


@pytest.mark.parametrize("row", [3, 70, HEIGHT - 1])
@pytest.mark.parametrize("ahead", [0, 3])
def test_that_an_error_of_reading_is_raised(row, ahead):
    with pytest.raises(ImageReadError, match="it is broken"):
        streamed(Recorded(pixels(), row), ahead)


@pytest.mark.parametrize("row", [3, 70, HEIGHT - 1])
def test_that_an_error_of_what_takes_the_results_is_raised(row):
    def take(part):
        if part.top <= row < part.top + len(part.values):
            raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        streamed(Recorded(pixels()), take=take)


def test_that_no_thread_is_left_after_an_error():
    before = threading.active_count()
    with pytest.raises(ImageReadError):
        streamed(Recorded(pixels(), 70))
    assert threading.active_count() == before
