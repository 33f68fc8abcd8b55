import numpy as np
import pytest

import engine
from engine.device import devices as device_module
from engine.device_info import DeviceInfo
from engine.errors import BadValue, DeviceUnavailable, MaskError, UnsupportedVariant
from engine.host.executor import SimulatorExecutor
from engine.tasks.filtering import oracle
from engine.tasks.filtering.agreement import rounding_bound

RANDOM = np.random.default_rng(6)
IMAGE = RANDOM.integers(0, 256, (6, 7, 2), np.uint8)


@pytest.mark.slow
def test_that_a_bank_gives_what_each_mask_gives_alone_in_the_simulator():
    masks = [engine.Mask(RANDOM.standard_normal((5, 6)), (0, 4), 10.0 * number) for number in range(5)]
    applied = engine.apply_bank(
        IMAGE, masks, border="constant", cval=9, device="simulator", block=(8, 3), flip=True, layout="packed"
    )
    assert applied.values.shape == (5, 6, 7, 2)
    for mask, values in zip(masks, applied.values, strict=True):
        flipped = mask.flipped()
        wanted = oracle.correlate(IMAGE, flipped, engine.Border.CONSTANT, 9)
        bound = rounding_bound(oracle.magnitudes(IMAGE, flipped, engine.Border.CONSTANT, 9), 30)
        assert np.all(np.abs(values - wanted) <= bound)
    result = applied.result
    assert (result.variant, result.mask_name, result.block, result.layout, result.device) == (
        "implicit-gemm",
        "bank of 5, 5 x 6",
        engine.Block(8, 3),
        "packed",
        "simulator",
    )
    assert (result.verification.passed, result.verification.checked_pixels) == (True, 5 * 6 * 7)
    assert result.kernel_ms is None
    assert result.work.flops == 2 * 5 * 30 * IMAGE.size


@pytest.mark.slow
def test_that_nan_and_infinity_go_where_the_oracle_says_and_one_channel_stays_two_axes():
    image = RANDOM.standard_normal((5, 9)).astype(np.float32)
    image[1, 2], image[4, 8] = np.nan, np.inf
    masks = [[[0, 1, 0]], [[1, 0, 1]]]
    applied = engine.apply_bank(image, masks, border="wrap", device="simulator")
    assert applied.values.shape == (2, 5, 9)
    wanted = oracle.correlate(image[:, :, None], engine.Mask(masks[0]), engine.Border.WRAP, 0.0)[..., 0]
    assert np.isnan(applied.values[0])[1, 1:4].all()
    assert np.array_equal(np.isnan(applied.values[0]), np.isnan(wanted))


@pytest.mark.parametrize(
    ("masks", "options", "error", "says"),
    [
        ([], {}, MaskError, "Give at least one mask"),
        (["sobel-x", "box:5x5"], {}, MaskError, "mask 1 has 3 x 3 cells and mask 2 has 5 x 5"),
        ("sobel-x", {}, BadValue, "Pass a list of masks, or call engine.apply with one"),
        (engine.Mask([[1]]), {}, BadValue, "Pass a list of masks"),
        (3, {}, BadValue, "Pass a list of masks"),
        (["sobel-x"], {"block": (64, 32)}, UnsupportedVariant, "2,048 threads"),
        ([np.ones((5, 5))] * 2, {"block": (1024, 1)}, UnsupportedVariant, "102,500 bytes .* is 490 x 1"),
        (["sobel-x"], {"device": "cpu"}, DeviceUnavailable, "need a CUDA device: .* or choose the simulator"),
        (["sobel-x"], {"device": "cuda:9"}, DeviceUnavailable, "device 'cuda:9': there is no such device"),
    ],
    ids=["none", "shapes", "a text", "one mask", "a number", "threads", "shared", "cpu", "no such device"],
)  # fmt: skip
def test_that_what_cannot_be_done_is_refused_without_starting_a_process(
    monkeypatch, masks, options, error, says
):
    monkeypatch.setattr(SimulatorExecutor, "submit", None)
    with pytest.raises(error, match=says):
        engine.apply_bank(IMAGE, masks, **{"device": "simulator"} | options)


@pytest.mark.parametrize("device", [None, "auto"])
def test_that_without_a_cuda_device_it_is_refused_and_not_computed_elsewhere(monkeypatch, device):
    cpu = device_module.device_named("cpu")
    missing = DeviceInfo("cuda:0", "cuda", "CUDA device", False, "There is no driver.", True)
    monkeypatch.setattr(device_module, "devices", lambda: (cpu, missing))
    with pytest.raises(DeviceUnavailable, match=r"There is no driver\. Apply one mask at a time, or choose"):
        engine.apply_bank(IMAGE, ["sobel-x", "sobel-y"], device=device)
