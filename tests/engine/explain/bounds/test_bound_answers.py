"""The reason for a run's time as the window asks for it, of a picture in shared memory."""

import pytest

from engine.device import devices as device_list
from engine.errors import Cancelled
from engine.explain.bounds import explained
from engine.explain.code import kernel_listing
from engine.explain.counts import counting
from engine.explain.limits.kept_limits import recorded_limits
from engine.explain.messages import TimeRequest
from engine.mask.generators import gaussian
from tests.engine.explain.bounds.test_cpu_bounds import LIMITS as CPU_LIMITS
from tests.engine.variants.emitted import needs_nvvm
from tests.picture_jobs import mask_job


@pytest.fixture(autouse=True)
def nothing_kept():
    """Count and list anew in each test."""
    counting._kept.clear()
    kernel_listing.listing_of.cache_clear()


def asked(picture, key, ms=None, report=lambda step: None, **fields):
    """Return the reply for a variant."""
    job = mask_job(picture=picture, variant=key, **{"mask": gaussian(5)} | fields)
    return explained.describe(TimeRequest(job, ms), report)


@pytest.mark.parametrize("key", ["cpu-serial", "naive"])
def test_that_a_device_without_limits_gives_no_bounds_but_says_what_measures_them(key, picture, monkeypatch):
    for name in ("kept_limits", "recorded_limits"):
        monkeypatch.setattr(explained, name, lambda *device: None)
    found = asked(picture, key)
    assert found.not_explained.code == "not-measured"
    assert "measure" in found.words


@pytest.mark.slow
def test_that_a_cpu_variant_has_the_bounds_of_this_processor(picture, monkeypatch):
    monkeypatch.setattr(explained, "kept_limits", lambda device: CPU_LIMITS)
    found = asked(picture, "cpu-serial")
    assert (found.device, found.share) == ("CPU", None)
    assert found.tallest.ms == found.bounds[0].ms > 0


@pytest.mark.slow
@needs_nvvm
def test_that_a_gpu_variant_has_the_bounds_of_the_recorded_gpu_where_none_is_here(picture, monkeypatch):
    monkeypatch.setattr(device_list.DeviceInfo, "is_usable_gpu", property(lambda device: False))
    found = asked(picture, "naive", ms=1.0)
    assert found.device == recorded_limits().device
    assert found.transactions_per_request >= 1
    assert found.share == found.least_ms / 1.0


def stopped_at(stage):
    """Return a checkpoint that ends the first step of a name."""

    def checkpoint(step):
        if stage in step.stage:
            raise Cancelled("The question")

    return checkpoint


@pytest.mark.slow
@needs_nvvm
def test_that_a_cancelled_question_leaves_nothing_half_kept(picture):
    whole = asked(picture, "tiled")
    counting._kept.clear()
    with pytest.raises(Cancelled):
        asked(picture, "tiled", report=stopped_at("counting"))
    assert asked(picture, "tiled") == whole
