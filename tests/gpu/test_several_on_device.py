"""One stream over several GPUs: one GPU taken for two and three, and all where there are several."""

import numpy as np
import pytest

import engine
from engine.commands.command_line import main
from engine.device.devices import all_gpus, device_named
from engine.errors import DeviceFault
from engine.flow.cuda_queues import CudaQueues
from engine.geometry.border import Border
from engine.run import task
from engine.work.filtering.variants import variant
from tests.gpu.test_streams_on_device import BAND_INVARIANT, bits
from tests.gpu.test_variants_on_device import binomial_for

MASK = np.outer([1.0, 2.0, 3.0, 2.0, 1.0], [1.0, 4.0, 1.0])


@pytest.fixture(params=[2, 3])
def one_as_several(request, device, monkeypatch):
    """Take the first GPU for several ones; return the numbers of the queues that are made."""
    monkeypatch.setattr(task, "all_gpus", lambda: (device_named(device),) * request.param)
    made, begin = [], CudaQueues.__init__

    def noted(queues, layout, number=0):
        made.append(number)
        begin(queues, layout, number)

    monkeypatch.setattr(CudaQueues, "__init__", noted)
    yield made
    assert set(made) == set(range(request.param))


@pytest.fixture
def several(device):
    """Return the keys of all GPUs, where there are several."""
    keys = [gpu.key for gpu in all_gpus()]
    if len(keys) < 2:
        pytest.skip("needs several CUDA devices: there is one")
    return keys


@pytest.mark.parametrize("key", [key for key in BAND_INVARIANT if not variant(key).uint8_only])
def test_that_one_gpu_as_several_gives_its_own_bits(device, one_as_several, key):
    mask, random = binomial_for(variant(key)).weights, np.random.default_rng(1)
    for border, pinned in ((Border.WRAP, False), (Border.MIRROR, True)):
        picture = random.random((1031, 517), np.float32)
        if pinned:
            memory = engine.pinned_array(picture.shape)
            memory[...] = picture
            picture = memory
        how = {"border": border, "variant": key}
        whole = engine.correlate(picture, mask, device=device, **how)
        streamed = engine.filter_stream(
            picture, mask, device="cuda:all", chunk_bytes=50 * picture[0].nbytes, **how
        )
        np.testing.assert_array_equal(bits(streamed.values), bits(whole))


def test_that_a_batch_over_one_gpu_as_several_is_received_in_order(device, one_as_several):
    random = np.random.default_rng(3)
    pictures = [random.random((50 + 37 * n % 400, 30 + 101 * n % 500), np.float32) for n in range(60)]
    wanted = [engine.correlate(picture, MASK, device=device) for picture in pictures]
    received = []

    def receive(number, values):
        received.append(number)
        np.testing.assert_array_equal(bits(values), bits(wanted[number]))

    engine.filter_stream(iter(pictures), MASK, device="cuda:all", chunk_bytes=1 << 18, receive=receive)
    assert received == list(range(60))


def test_that_what_others_did_is_received_before_a_fault(device, one_as_several, monkeypatch):
    launch = CudaQueues.launch

    def failing(queues, prepared, image, out):
        if queues is failed[0]:
            raise DeviceFault("GPU 1", "made to")
        launch(queues, prepared, image, out)

    failed, begin = [None], CudaQueues.__init__

    def noted(queues, layout, number=0):
        begin(queues, layout, number)
        if number == 1:
            failed[0] = queues

    monkeypatch.setattr(CudaQueues, "__init__", noted)
    monkeypatch.setattr(CudaQueues, "launch", failing)
    pictures, received = [np.full((90, 70), n, np.float32) for n in range(60)], []
    with pytest.raises(DeviceFault, match="made to"):
        engine.filter_stream(
            pictures, [[2]], device="cuda:all", receive=lambda number, values: received.append(number)
        )
    assert received == sorted(set(received))
    assert received


@pytest.mark.parametrize("border", list(Border))
def test_that_all_gpus_give_the_bits_of_the_first(several, border):
    picture = np.random.default_rng(4).random((4001, 3000), np.float32)
    how = {"border": border, "cval": 0.3 * (border == "constant")}
    for key in ("naive", "tiled", "separable-l1", "register-blocked"):
        whole = engine.correlate(picture, MASK, device=several[0], variant=key, **how)
        streamed = engine.filter_stream(
            picture, MASK, device="cuda:all", variant=key, chunk_bytes=1 << 20, **how
        )
        np.testing.assert_array_equal(bits(streamed.values), bits(whole))
        assert {chunk.device for chunk in streamed.timeline.chunks} == set(several)


@pytest.mark.parametrize("kind", ["auto", "float32"])
def test_that_a_folder_over_all_gpus_has_the_bytes_of_the_first(several, tmp_path, kind):
    random, photos = np.random.default_rng(5), tmp_path / "photos"
    photos.mkdir()
    for number in range(40):
        shape = [(400, 301), (123, 457, 3)][number % 2]
        engine.save_image(random.integers(0, 255, shape, np.uint8), photos / f"{number:02}.png")
    for device in (several[0], "cuda:all"):
        asked = ["--mask", "gaussian:5:1", "--device", device, "--result-type", kind]
        assert main(["batch", str(photos), "--out", str(tmp_path / device[-1]), *asked]) == 0
    for path in (tmp_path / several[0][-1]).iterdir():
        assert path.read_bytes() == (tmp_path / "l" / path.name).read_bytes()


def test_that_filter_over_all_gpus_has_the_bytes_of_the_first(several, tmp_path):
    picture = np.random.default_rng(6).integers(0, 255, (6000, 5000), np.uint8)
    engine.save_image(picture, tmp_path / "in.tif")
    for device in (several[0], "cuda:all"):
        asked = ["--mask", "gaussian:5:1", "--device", device]
        assert main(["filter", str(tmp_path / "in.tif"), str(tmp_path / f"{device[-1]}.tif"), *asked]) == 0
    first, every = tmp_path / f"{several[0][-1]}.tif", tmp_path / "l.tif"
    assert first.read_bytes() == every.read_bytes()
