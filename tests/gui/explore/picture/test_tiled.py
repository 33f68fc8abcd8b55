"""A picture that is requested by tile: which tiles, what is painted meanwhile, and what faults become."""

import numpy as np
import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QImage, QPainter

from engine.errors import HostLost, ImageReadError
from engine.host import shared
from engine.host.protocol import TILE, WHOLE, Tile, TiledScreen, Tiles, WantedTiles
from engine.mask.mask import Mask
from gui.explore.picture import levels
from gui.explore.picture.tiled import TiledLevels
from gui.explore.picture.view import ViewTransform
from tests.gui.made_results import handle_of
from tests.picture_jobs import mask_job

PANE = (400, 300)
SIDES = (1000, 1300)
LEVELS = (SIDES, (500, 650), (250, 325), (125, 163))


class Tiled:
    """A tiled picture in front of an engine that answers when a test says so, or at once."""

    def __init__(self, bench, pixels, job=None, before=None, **fields):
        self.fake = bench.fake
        self.screen = TiledScreen("made", LEVELS, **fields)
        self.levels = TiledLevels(self.screen, bench.link, job, before)
        self.pixels = pixels
        self.settle = bench.settle
        self.faults = []
        self.levels.faulted.connect(self.faults.append)

    @property
    def asked(self):
        """What waits for an answer."""
        return [asked.request for asked in self.fake.asked if isinstance(asked.request, WantedTiles)]

    def look(self, transform):
        """Paint what is seen, on green; return it as H x W x 3, red first."""
        image = QImage(*PANE, QImage.Format.Format_RGB32)
        image.fill(QColor("#00ff00"))
        painter = QPainter(image)
        self.levels.paint(painter, transform, QRectF(0, 0, *PANE))
        painter.end()
        self.settle()
        rows = np.frombuffer(image.constBits(), np.uint8).reshape(PANE[1], PANE[0], 4)
        return rows[..., 2::-1].copy()

    def answer(self, lost=(), fault=None, detail=WHOLE, colour=None):
        """Answer the request that waits with the picture's own pixels, each level every 2nd pixel."""
        (asked,) = [a for a in self.fake.asked if isinstance(a.request, WantedTiles)]
        request, tiles = asked.request, []
        for place in request.tiles:
            rows, columns = self.screen.extent(request.level, place)
            step = 2**request.level
            part = self.pixels[::step, ::step][rows, columns]
            if detail < WHOLE:
                part = part[:2, :2]
            bgra = np.full((*part.shape[:2], 4), 255, np.uint8)
            bgra[..., :3] = part[..., ::-1] if colour is None else colour
            (array,) = shared.create((bgra.shape, "uint8"))
            shared.attach(array)[...] = bgra
            self.fake.created.add(array.name)
            is_lost = (request.level, place) in lost
            tiles.append(Tile(place, None if is_lost else array, detail))
            if is_lost:
                self.fake.release(array.name)
        self.fake._take(asked).future.set_result(Tiles(request.level, tuple(tiles), fault))
        self.settle()

    def answer_all(self, **how):
        while self.asked:
            self.answer(**how)


@pytest.fixture
def pixels():
    return np.random.default_rng(4).integers(1, 256, (*SIDES, 3), np.uint8)


@pytest.fixture
def make(make_bench, pixels):
    return lambda **fields: Tiled(make_bench(automatic=False), pixels, **fields)


@pytest.fixture
def tiled(make):
    return make()


def test_that_only_the_tiles_that_are_seen_are_asked_for_those_of_the_newest_view_next(tiled):
    transform = ViewTransform(1.0, -300.0, -300.0)
    tiled.look(transform)
    # First the picture in one tile, which is shown for all.
    assert [(request.level, request.tiles) for request in tiled.asked] == [(3, ((0, 0),))]
    tiled.answer(colour=(7, 7, 7))
    (request,) = tiled.asked
    assert request.level == 0
    assert sorted(request.tiles) == [(1, 1), (1, 2), (2, 1), (2, 2)]
    assert (tiled.look(transform) == 7).all()
    tiled.answer(colour=(9, 9, 9))
    assert tiled.asked == []
    assert (tiled.look(transform) == 9).all()
    tiled.look(ViewTransform(1.0))
    tiled.look(ViewTransform(1.0, -900.0, -700.0))
    # One request is on its way; the view before is requested no more.
    assert len(tiled.asked) == 1
    tiled.answer()
    (request,) = tiled.asked
    assert sorted(request.tiles) == [(2, 3), (2, 4), (2, 5), (3, 3), (3, 4), (3, 5)]


def test_that_what_is_painted_are_the_pixels(tiled, pixels):
    for zoom in (1.0, 5.0):
        transform = ViewTransform(zoom, -250.0 * zoom, -240.0 * zoom)
        tiled.look(transform)
        tiled.answer_all()
        across, down = int(PANE[0] / zoom), int(PANE[1] / zoom)
        wanted = pixels[240 : 240 + down, 250 : 250 + across].repeat(int(zoom), 0).repeat(int(zoom), 1)
        np.testing.assert_array_equal(tiled.look(transform), wanted)


def test_that_no_seam_is_seen_between_tiles_and_samples_become_finer_until_all_is_read(make):
    tiled = make()
    tiled.pixels = np.full((*SIDES, 3), 90, np.uint8)
    for zoom in (0.401, 0.77, 1.0, 1.3, 7.7):
        transform = ViewTransform(zoom, -150.3 * zoom, -140.7 * zoom)
        tiled.look(transform)
        tiled.answer_all()
        assert (tiled.look(transform) == 90).all()
    tiled = make(sampled_from=0)
    tiled.look(ViewTransform(0.2))
    details = []
    while tiled.asked:
        (request,) = tiled.asked
        if request.level == 2:
            details.append(request.detail)
        tiled.answer(detail=request.detail)
    assert details == [0, 1, 2, WHOLE]


def test_that_it_is_complete_when_all_visible_tiles_are_there_and_keeps_a_bound_of_tiles(tiled, monkeypatch):
    tiled.look(ViewTransform(1.0))
    was_complete = []
    while tiled.asked:
        was_complete.append(tiled.levels.is_complete)
        tiled.answer()
    assert set(was_complete) == {False}
    assert tiled.levels.is_complete
    monkeypatch.setattr(levels, "CACHE_BYTES", 8 * TILE * TILE * 4)
    for left in range(0, 1200, 100):
        tiled.look(ViewTransform(1.0, -float(left), -float(left) / 2))
        tiled.answer_all()
    seen = len(tiled.levels._seen)
    assert tiled.levels._kept_bytes <= (8 + seen) * TILE * TILE * 4
    assert tiled.levels._kept_bytes == sum(kept.bytes for kept in tiled.levels._kept.values())


def test_that_a_damaged_tile_is_marked_and_said_once(tiled):
    fault = ImageReadError("big.tif cannot be read", "its TIFF data is damaged")
    tiled.look(ViewTransform(1.0, -300.0, -300.0))
    tiled.answer()
    tiled.answer(lost={(0, (1, 1))}, fault=fault)
    seen = tiled.look(ViewTransform(1.0, -300.0, -300.0))
    assert tiled.faults == [fault]
    # The tile in the upper left corner is hatched, the others are the picture.
    assert len(np.unique(seen[:200, :200].reshape(-1, 3), axis=0)) < 300
    np.testing.assert_array_equal(seen[250:, 250:], tiled.pixels[550:600, 550:700])
    assert tiled.asked == []


def test_that_after_an_error_no_more_is_asked_until_the_engine_is_up_again(tiled):
    tiled.look(ViewTransform(1.0))
    tiled.fake.fail(HostLost("The engine's process ended", "it was killed"), WantedTiles)
    tiled.settle()
    assert tiled.asked == []
    # The link reports the loss of a host.
    assert tiled.faults == []
    tiled.levels.again()
    tiled.settle()
    assert len(tiled.asked) == 1


def test_that_the_result_before_is_seen_until_the_new_one_is_there(make_bench, pixels, share):
    bench = make_bench(automatic=False)
    job = mask_job(picture=handle_of(np.zeros((4, 4, 1), np.uint8), share), mask=Mask([[1.0]]))
    transform = ViewTransform(1.0)
    before = Tiled(bench, pixels, job)
    before.look(transform)
    before.answer_all(colour=(7, 7, 7))
    after = Tiled(bench, pixels, job, before.levels)
    assert (after.look(transform) == 7).all()
    after.answer_all(colour=(9, 9, 9))
    assert (after.look(transform) == 9).all()


@pytest.fixture
def half_here(make, pixels, share):
    """A result whose levels from the second on are in shared memory."""
    coarse = []
    for step in (2, 4, 8):
        part = pixels[::step, ::step]
        coarse.append(np.full((*part.shape[:2], 4), 255, np.uint8))
        coarse[-1][..., :3] = part[..., ::-1]
    job = mask_job(picture=handle_of(np.zeros((*SIDES, 3), np.uint8), share), mask=Mask([[1.0]]))
    return make(job=job, coarse=tuple(map(share, coarse)))


def test_that_a_level_that_is_here_is_painted_at_once_and_stands_in_for_full_size(half_here, pixels):
    seen = half_here.look(ViewTransform(0.5, -100.0, -50.0))
    np.testing.assert_array_equal(seen, pixels[::2, ::2][50:350, 100:500])
    assert half_here.asked == []
    assert half_here.levels.is_complete
    assert half_here.levels.remark == ""
    place = ViewTransform(1.0, -300.0, -300.0)
    before = half_here.look(place)
    assert not (before == [0, 255, 0]).all(2).any()
    (request,) = half_here.asked
    assert request.level == 0
    assert not half_here.levels.is_complete
    half_here.answer_all()
    np.testing.assert_array_equal(half_here.look(place), pixels[300:600, 300:700])
    assert half_here.levels.is_complete
