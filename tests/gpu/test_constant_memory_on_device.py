"""Weights that the host copies to constant memory, on a real device: edits, and launches that overlap."""

import numpy as np
import pytest

from engine.device.numba_cuda import cuda
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.work.filter_task import describe_problem
from engine.work.filtering.variants import MaskClass, variant
from tests.engine.variants.cases import verified

every_kernel = pytest.mark.parametrize(
    "key",
    [
        "constant", "row-constant", "cached-constant", "row-tiled-constant", "row-cached-constant",
        "register-blocked",
    ],
)  # fmt: skip
SIDE = 1024


def masks_for(known, count):
    """Return masks so large that a launch is under way while the next one is enqueued."""
    random = np.random.default_rng(8)
    shape = (1, 127) if known.masks is MaskClass.ONE_ROW else (31, 31)
    return [Mask(random.standard_normal(shape)) for _ in range(count)]


@pytest.fixture
def picture():
    """Return a picture of noise."""
    return np.random.default_rng(9).random((SIDE, SIDE, 1), np.float32)


@every_kernel
def test_that_launches_with_other_masks_that_overlap_on_streams_have_their_own_weights(key, picture, gpu):
    known = variant(key)
    gpu.activate()
    masks = masks_for(known, 6)
    problem = describe_problem(picture, masks[0], Border.MIRROR, 0.0)
    prepared = [known.prepare(problem, mask, known.default_block) for mask in masks]
    buffers, streams = [gpu.allocate(picture) for _ in masks], [cuda.stream() for _ in masks]
    for own in buffers:
        gpu.upload(picture, own)
    for _ in range(10):
        for launched, own, stream in zip(prepared, buffers, streams, strict=True):
            launched.launch(own.image, own.out, stream)
    for mask, own, stream in zip(masks, buffers, streams, strict=True):
        stream.synchronize()
        verified(gpu.download(own), picture, mask, problem)


@every_kernel
def test_that_an_edit_does_not_change_the_weights_of_launches_under_way(key, picture, gpu):
    known = variant(key)
    gpu.activate()
    masks = masks_for(known, 40)
    problem = describe_problem(picture, masks[0], Border.MIRROR, 0.0)
    first, second = gpu.allocate(picture), gpu.allocate(picture)
    gpu.upload(picture, first)
    gpu.upload(picture, second)
    stream = cuda.stream()
    for before, after in zip(masks[::2], masks[1::2], strict=True):
        prepared = known.prepare(problem, before, known.default_block)
        for _ in range(5):
            prepared.launch(first.image, first.out, stream)
        # Dropped while it is launched: its copy of the code is the next one's.
        prepared = known.prepare(problem, after, known.default_block)
        prepared.launch(second.image, second.out, stream)
        stream.synchronize()
        if before in (masks[0], masks[-2]):
            verified(gpu.download(first), picture, before, problem)
            verified(gpu.download(second), picture, after, problem)


@every_kernel
def test_that_an_edit_of_a_mask_compiles_nothing(key, picture, gpu, monkeypatch):
    from engine.device import kernel_code

    compiled = []
    known = variant(key)
    gpu.activate()
    first, *others = masks_for(known, 5)
    problem = describe_problem(picture, first, Border.MIRROR, 0.0)
    known.prepare(problem, first, known.default_block)
    monkeypatch.setattr(kernel_code, "compiled", lambda *kernel: compiled.append(kernel))
    for mask in others:
        known.prepare(problem, mask, known.default_block)
    assert compiled == []
