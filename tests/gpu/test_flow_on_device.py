"""Operations, chains and large files in parts on a real device have the bits of the whole."""

import numpy as np
import pytest

import engine
from engine.api.request import PictureCall
from engine.commands.arguments import read
from engine.commands.command_line import main
from engine.commands.filtering import FilterSettings
from engine.commands.picture_work import work_for
from engine.flow import rows as memory_plan
from engine.flow.stream import Stream, StreamPicture
from engine.geometry.border import Border
from engine.work.chain_files import ready_chains
from engine.work.operations.contract import OPERATIONS
from engine.work.steps import of_chain
from tests.picture_jobs import operation_request

WINDOWS = [key for key, known in OPERATIONS.items() if known.window is not None]
WORK = ["--operation median --set size=5", "--operation histogram", "--chain unsharp"]


@pytest.fixture
def picture():
    return np.random.default_rng(3).integers(0, 256, (501, 303, 3), np.uint8)


def assert_streamed(call):
    call = call.in_parts()
    whole = call.filter()
    stream = Stream(chunk_bytes=100_000, ring=3, total=1)
    out = np.empty_like(whole)
    timeline = stream.run([StreamPicture(call, out)])
    assert len(timeline.chunks) > 2 or call.reach.whole
    np.testing.assert_array_equal(out, whole)


@pytest.mark.parametrize("key", WINDOWS)
def test_that_an_operation_in_a_stream_has_the_bits_of_the_whole(device, picture, key):
    assert_streamed(PictureCall(picture, operation_request(operation=key, device=device)))


@pytest.mark.parametrize("chain", ready_chains(), ids=lambda chain: chain.key)
def test_that_a_chain_in_a_stream_has_the_bits_of_the_whole(device, picture, chain):
    assert_streamed(PictureCall(picture, of_chain(chain, device=device)))


@pytest.mark.parametrize("work", WORK)
def test_that_a_batch_and_a_file_in_bands_have_the_bytes_of_filter(device, picture, tmp_path, work):
    engine.save_image(picture, tmp_path / "in.png")
    asked = [*work.split(), "--device", device]
    assert main(["filter", str(tmp_path / "in.png"), str(tmp_path / "one.png"), *asked]) == 0
    assert main(["batch", str(tmp_path / "in.png"), "--out", str(tmp_path / "out"), *asked]) == 0
    one = engine.open_image(tmp_path / "one.png").pixels
    np.testing.assert_array_equal(engine.open_image(tmp_path / "out" / "in.png").pixels, one)
    if "histogram" not in work:
        np.save(tmp_path / "in.npy", picture)
        assert main(["filter", str(tmp_path / "in.npy"), str(tmp_path / "bands.npy"), *asked]) == 0
        np.testing.assert_array_equal(np.load(tmp_path / "bands.npy"), one)


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
    work_for(settings.steps, settings.saving).filter_file(source, output)
    whole = engine.correlate(
        pixels, MASK, border=border, cval=9 * (border == "constant"), variant=key, device=device
    )
    assert np.array_equal(np.load(output), whole)
