"""Limits of a real GPU: below what is possible, near it, kept, and those of `bench.peers`."""

import time

import numpy as np
import pytest

from engine.explain import gpu_limits_code, kept_limits
from engine.explain.device_limits import KeptLimits, MeasureLimits
from engine.host.request import answer
from engine.mask.mask import Mask
from engine.work.resolve import Resolved
from tests.picture_jobs import mask_request

# A driver states the highest clock, which a device that gets warm does not reach, and one that is cool and
# has room for more may pass: the lowest and the highest part of the theoretical value that was ever measured
# is 0.5 (tensor cores by `mma.sync` on an H100) and 1.00.
LEAST, MOST = 0.4, 1.03


@pytest.fixture(scope="module")
def limits(gpu):
    """Return the limits, measured once; code is compiled then."""
    return gpu_limits_code.gpu_limits(gpu)


def test_that_each_limit_is_near_the_theoretical_one_and_not_above_it(limits):
    shares = {name: limit.measured / limit.theoretical for name, limit in limits.rates() if limit.theoretical}
    assert {name: share for name, share in shares.items() if not LEAST < share <= MOST} == {}


def test_that_a_gpu_has_all_limits_but_those_of_a_cpu(limits, gpu):
    names = {name for name, _ in limits.rates()}
    tensor = {"int8_tensor_multiply_adds_per_s"}
    expected = {
        "copy_bytes_per_s", "l2_bytes_per_s", "multiply_adds_per_s", "shared_bytes_per_s",
        "instructions_per_s",
        "blocks_per_s", "launches_per_s",
    }  # fmt: skip
    has_tensor_cores = gpu.info.limits.compute_capability >= (8, 0)
    assert names == (expected | tensor if has_tensor_cores else expected)


def test_that_l2_is_faster_than_memory_outside_it(limits):
    assert limits.l2_bytes_per_s.measured > limits.copy_bytes_per_s.measured


def test_that_limits_measured_twice_differ_by_little(limits, gpu):
    again = dict(gpu_limits_code.gpu_limits(gpu).rates())
    shares = {name: again[name].measured / limit.measured for name, limit in limits.rates()}
    assert {name: share for name, share in shares.items() if not 0.95 < share < 1.05} == {}


@pytest.mark.alone
def test_that_measuring_takes_two_seconds_at_most(limits, gpu):
    begin = time.perf_counter()
    gpu_limits_code.gpu_limits(gpu)
    assert time.perf_counter() - begin < 2.0


def test_that_measured_limits_of_a_gpu_are_kept(gpu):
    found = answer(MeasureLimits(gpu.info.key), lambda progress: None)
    assert (
        answer(KeptLimits(gpu.info.key), lambda progress: None) == found == kept_limits.kept_limits(gpu.info)
    )


def test_that_no_variant_copies_faster_than_the_limit(limits, gpu, device):
    shares = {}
    for side in (1024, 2048, 4096, 8192):
        picture = np.ones((side, side, 1), np.float32)
        asked = mask_request(mask=Mask(np.ones((1, 1))), device=device, variant="register-blocked")
        prepared, out = Resolved(asked, picture).job().prepare(), np.empty_like(picture)
        buffers = gpu.allocate(picture, out)
        gpu.upload(picture, buffers)
        clock = gpu.clock(prepared, buffers)
        copied = picture.nbytes + out.nbytes
        least_s = min(clock.sample_ms() for _ in range(15)) / 1e3
        shares[side] = copied / least_s / limits.copy_rate(copied)
    assert {side: share for side, share in shares.items() if share > MOST} == {}


def test_that_the_limit_of_the_peers_is_this_one(limits, gpu):
    from bench.peers.libraries.device_limits import DeviceLimits

    notes = DeviceLimits(0, ()).about().notes
    measured = gpu_limits_code.copy_bytes_per_s(gpu)
    assert notes["copy_bytes_per_s"] == pytest.approx(measured, rel=0.05)
    assert notes["copy_bytes_per_s"] <= 1.05 * limits.copy_bytes_per_s.measured
    assert notes["multiply_adds_per_s"] == limits.multiply_adds_per_s.theoretical
