"""Operations and chains in parts on a real device have the bits of the whole: streams, bands, batches."""

import numpy as np
import pytest

import engine
from engine.api.request import Call
from engine.commands.command_line import main
from engine.flow.stream import Asked, Stream
from engine.work.chain_files import ready_chains
from engine.work.operations.table import OPERATIONS
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
    timeline = stream.run([Asked(0, call, out)])
    assert len(timeline.chunks) > 2 or call.reach.whole
    np.testing.assert_array_equal(out, whole)


@pytest.mark.parametrize("key", WINDOWS)
def test_that_an_operation_in_a_stream_has_the_bits_of_the_whole(device, picture, key):
    assert_streamed(Call(picture, operation_request(operation=key, device=device)))


@pytest.mark.parametrize("chain", ready_chains(), ids=lambda chain: chain.key)
def test_that_a_chain_in_a_stream_has_the_bits_of_the_whole(device, picture, chain):
    assert_streamed(Call(picture, of_chain(chain, device=device)))


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
