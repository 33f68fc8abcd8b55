"""The lens on results of chains: what a step reads is read where the pixel is, with the bits of the whole.

Answered by the engine in this process.
"""

import numpy as np
import pytest
from msgspec.structs import replace
from PIL import Image

from engine.api.request import PictureCall
from engine.host import shared_picture
from engine.host.protocol import WantedValues
from engine.host.request import answer
from engine.work.chain_files import chain_from, ready_chains
from engine.work.steps import PICTURE, CombineStep, MaskStep, PictureRequest
from gui.explore.inspect.lens import CombineLens, FilterLens, OperationLens
from gui.explore.jobs import is_chain
from gui.explore.picture import tiled
from tests.gui.fake_engine import FakeEngineClient
from tests.gui.made_window import wait

ROWS, COLUMNS = 61, 83
CORNER, EDGE, INSIDE = (0, 0), (ROWS - 1, 40), (31, 33)


@pytest.fixture
def pixels():
    return np.random.default_rng(9).integers(0, 255, (ROWS, COLUMNS, 3), np.uint8)


@pytest.fixture
def page(haloscope, pixels, tmp_path, qtbot, monkeypatch):
    """The page with a picture of noise, the lens in front, and chains by the engine itself."""
    monkeypatch.setattr(FakeEngineClient, "_chained", lambda self, one: answer(one, lambda step: None))
    page = haloscope.window.page_of("explore")
    Image.fromarray(pixels).save(tmp_path / "noise.bmp")
    haloscope.pictures.open_path(tmp_path / "noise.bmp")
    wait(qtbot, lambda: haloscope.workspace.picture.title == "noise.bmp")
    haloscope.actions["lens"].trigger()
    wait(qtbot, lambda: page.lens.is_visible)
    return page


@pytest.fixture
def show(haloscope, page, qtbot):
    """Return a function that takes a ready chain and shows the result of a step; all steps are left alone."""

    def shown(key, at):
        haloscope.actions[f"chain:{key}"].trigger()
        page.workspace.select_step(at)
        wait(qtbot, lambda: page.display.job == page.workspace.job() is not None)
        return page.display.job

    return shown


@pytest.fixture
def look(page, qtbot):
    """Return a function that looks at a pixel of what is shown."""

    def looked(pixel):
        page.lens.pixel = None
        page.lens.ask_now()
        page.lens.point(pixel)
        wait(qtbot, lambda: page.lens.seen is not None or "step" in page.lens.words)
        return page.lens.seen

    return looked


def whole_of(job, pixels, id_, steps):
    """Return the whole result of a step by the variants that computed it, or the picture."""
    if id_ == PICTURE:
        return pixels
    keys = {one.id: one.variant for one in steps}
    chain = job.chain.needed(id_)
    ran = (one if isinstance(one, CombineStep) else replace(one, variant=keys[one.id]) for one in chain.steps)
    call = PictureCall(pixels, PictureRequest(chain=replace(chain, steps=tuple(ran)), device="cpu"))
    return call.filter().reshape(call.shape)


# Between them a mask, an operation and each way to combine read the results of one another.
PAIRS = ["scharr-magnitude", "difference-of-gaussians", "denoise-edges", "edge-map", "log-blobs", "soft-glow"]


@pytest.mark.parametrize("in_pairs", [True, pytest.param(False, marks=pytest.mark.matrix)])
def test_that_the_lens_ends_in_the_bits_of_every_step_of_a_ready_chain(page, show, look, pixels, in_pairs):
    chains = [chain for chain in ready_chains() if (chain.key in PAIRS) == in_pairs]
    for key, at in ((chain.key, at) for chain in chains for at in range(len(chain.steps))):
        job = show(key, at)
        if not is_chain(job):
            # It reads the picture itself.
            continue
        steps = page.display.shown_steps
        needed = job.chain.needed(job.shown)
        step = needed.steps[-1]
        wanted = [whole_of(job, pixels, id_, steps) for id_ in step.inputs]
        result = whole_of(job, pixels, step.id, steps)
        for pixel in (CORNER, EDGE, INSIDE):
            seen = look(pixel)
            np.testing.assert_array_equal(seen.shown, result[pixel])
            if isinstance(seen, CombineLens):
                assert seen.is_equal
                for one, whole in zip(seen.read, wanted, strict=True):
                    np.testing.assert_array_equal(one, whole[pixel])
            elif isinstance(seen, FilterLens):
                inside = ~seen.window.outside
                places = np.ix_(np.maximum(seen.window.source_rows, 0), seen.window.source_columns)
                np.testing.assert_array_equal(seen.window.cells[inside], wanted[0][places][inside])
                assert seen.is_equal or not seen.order.is_known
            else:
                assert isinstance(seen, OperationLens)
                np.testing.assert_array_equal(seen.own, wanted[0][pixel])


@pytest.fixture
def take(page, qtbot):
    """Return a function that takes a chain as its file has it, and shows the result of a step."""

    def taken(*steps, at=-1):
        page.chain.take(chain_from({"steps": list(steps)}), "Chain")
        page.workspace.select_step(at % len(steps))
        wait(qtbot, lambda: page.display.job == page.workspace.job() is not None)
        return page.display.job

    return taken


def test_that_what_cannot_be_computed_in_parts_is_read_from_the_whole(page, take, look, pixels):
    for first in (
        {"mask": "box:9", "variant": "cpu-box"},
        {"mask": "gaussian:15:3", "variant": "cpu-fft"},
        {"mask": "gaussian:5:1", "border": "wrap"},
        {"operation": "equalise"},
    ):
        job = take(first | {"id": "first"}, {"mask": "sobel-x"})
        whole = whole_of(job, pixels, "first", page.display.shown_steps)
        for pixel in (CORNER, EDGE, INSIDE):
            seen = look(pixel)
            assert seen.is_equal
            np.testing.assert_array_equal(seen.window.cells[1, 1], whole[pixel])


def test_that_steps_that_are_off_are_passed_by_and_reads_are_kept_by_an_edit(take, look, pixels, page):
    take({"mask": "gaussian:5:1"}, {"mask": "sharpen", "on": False}, {"operation": "median"})
    seen = look(INSIDE)
    assert seen.chain.step == "step 3"
    assert seen.chain.reads[0].startswith("step 1 ")
    take({"mask": "gaussian:5:1"}, {"mask": "sobel-x"})
    look(INSIDE)
    fake = page.lens._link._client
    asked = len([one for one in fake.seen if isinstance(one, WantedValues)])
    take({"mask": "gaussian:5:1"}, {"mask": "sobel-y"})
    assert look(INSIDE).is_equal
    assert len([one for one in fake.seen if isinstance(one, WantedValues)]) == asked
    take({"mask": "gaussian:5:1"}, {"mask": "sobel-x"})
    before = look(INSIDE).window.cells
    take({"mask": "gaussian:5:2"}, {"mask": "sobel-x"})
    seen = look(INSIDE)
    assert seen.is_equal
    assert not np.array_equal(seen.window.cells, before)
    page.lens.watch(False)
    assert page.lens._inputs == {}


def test_that_a_large_picture_is_explained_but_for_steps_that_look_at_all_of_it(
    page, take, look, haloscope, tmp_path, qtbot, monkeypatch
):
    monkeypatch.setattr(shared_picture, "FULL_SIZE_BYTES", 0)
    haloscope.pictures.open_path(tmp_path / "noise.bmp")
    wait(qtbot, lambda: not shared_picture.keeps_values(haloscope.workspace.picture))
    take({"mask": "gaussian:5:1"}, {"mask": "sobel-x"})
    for pixel in (CORNER, EDGE, INSIDE):
        assert look(pixel).is_equal
    take({"operation": "equalise"}, {"mask": "sobel-x"})
    assert look(INSIDE) is None
    assert "depends on the whole picture" in page.lens.words


def test_that_a_moving_mouse_asks_for_few_squares_and_keeps_the_last(page, take, look, qtbot, monkeypatch):
    monkeypatch.setattr(tiled, "_MOST_SQUARES", 2)
    take({"mask": "gaussian:5:1"}, {"mask": "sobel-x"})
    look(CORNER)
    fake = page.lens._link._client
    fake.automatic = False
    for pixel in ((ROWS - 1, column) for column in range(COLUMNS)):
        page.lens.point(pixel)
        page.lens.ask_now()
    assert page.lens.seen.pixel == CORNER
    assert len(fake.waiting((WantedValues, MaskStep))) == 2
    fake.automatic = True
    fake.answer_all((WantedValues, MaskStep))
    wait(qtbot, lambda: page.lens.seen.pixel == (ROWS - 1, COLUMNS - 1))
    assert page.lens.seen.is_equal
