"""What tests of emitters share: both backends at once, cells by the border's rule, counted kernels, PTX."""

import re

import numpy as np
import pytest

from engine.device.numba_cuda import cuda, missing
from engine.geometry.block import Limits
from engine.tasks.filtering.agreement import verify
from tests.engine.variants.counting import count
from tests.engine.variants.on_processor import on_the_processor

RANDOM = np.random.default_rng(11)
GHOST = 7


def needs_nvvm(test):
    """Mark a test that compiles kernels: it needs NVVM, no device."""
    return pytest.mark.nvvm(pytest.mark.skipif(bool(missing), reason=missing or "numba-cuda is there")(test))


def whole(shape, most):
    """Return whole numbers up to `most`, as float32: sums of their products are exact."""
    return RANDOM.integers(-most, most + 1, shape).astype(np.float32)


def on_both(function):
    """Return what runs an emitter on this machine's processor and on plain numbers; both have to agree."""
    compiled = on_the_processor(function)

    def run(*arguments):
        emitted, plain = compiled(*arguments), function.py_func(*arguments)
        assert [float(value) for value in emitted] == [float(value) for value in plain]
        return [float(value) for value in emitted]

    return run


def cells_by_rule(image, border, top, rows, left, samples):
    """Return the cells of a tile as the border's rule has them; GHOST where it has none."""
    height, width, channels = image.shape
    ys = np.array([border.rule(top + row, height) for row in range(rows)])
    columns = [divmod(left + sample, channels) for sample in range(samples)]
    xs = np.array([border.rule(column, width) for column, _ in columns])
    found = image[ys[:, None], xs[None, :], np.array([channel for _, channel in columns])[None, :]]
    return np.where((ys[:, None] >= 0) & (xs[None, :] >= 0), found, GHOST)


def check_counted(variant, problem, mask, image, uncounted=""):
    """Run a variant's own source on plain numbers: its results agree, and its model counts what it does."""
    counts = count(variant, problem, mask, variant.default_block, image)
    verification = verify(np.ascontiguousarray(counts.out), image, mask, problem)
    assert verification.passed, verification.reason
    model = variant.work(problem, variant.default_block)
    for name in {"picture_loads", "shared_loads", "shared_stores", "constant_loads"} - {uncounted}:
        assert getattr(model, name) == getattr(counts, name), name
    assert model.flops == 2 * counts.multiplications


def refused(variant, problem, mask, limits=None, block=None):
    """Return the reason of a refusal, which offers no block; empty where there is none."""
    refusal = variant.unsupported(problem, mask, block or variant.default_block, limits or Limits())
    assert refusal is None or refusal.nearest_block is None
    return refusal.reason if refusal else ""


def ptx_of(variant, problem, mask, capability=(9, 0), **options):
    """Return what the compiler makes of a variant's one pass; it keeps nothing in local memory."""
    (step,) = variant.passes(problem, mask, variant.default_block)
    ptx, _ = cuda.compile_ptx(step.kernel.py_func, step.signature, cc=capability, **options)
    assert re.findall(r"__local_depot|\b(?:ld|st)\.local|\.ftz", ptx) == []
    return ptx


def multiply_adds(ptx):
    """Return the multiply-adds in the code, with those that begin a sum and add nothing."""
    return ptx.count("fma.rn.f32") + ptx.count("mul.f32")
