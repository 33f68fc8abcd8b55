"""`split-float16` on samples of every size: what float16 cannot hold is scaled, or computed in float32."""

import numpy as np

from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.tasks.filtering.resolve import describe_problem
from engine.tasks.filtering.variants import variant
from tests.engine.variants.cases import verified

RANDOM = np.random.default_rng(77)
SIDE = 700
VARIANT = variant("split-float16")
MASK = Mask(RANDOM.standard_normal((9, 9)), offset=0.5)


def filtered(picture, gpu, mask=MASK):
    problem = describe_problem(picture, mask, Border.MIRROR, 0.0)
    gpu.activate()
    buffers = gpu.allocate(picture)
    gpu.upload(picture, buffers)
    gpu.run(VARIANT.prepare(problem, mask, VARIANT.default_block), buffers)
    result = gpu.download(buffers)
    verified(result, picture, mask, problem)
    return result


def test_that_samples_of_any_size_are_within_the_bound(gpu):
    for scale in (1e-44, 1e-38, 1e-20, 1e-14, 1e-4, 1.0, 255.0, 65535.0, 1e12, 1e22, 1e35):
        filtered((RANDOM.standard_normal((SIDE, SIDE, 1)) * scale).astype(np.float32), gpu)
    filtered(np.exp2(RANDOM.uniform(-60, 60, (SIDE, SIDE, 1))).astype(np.float32), gpu)
    assert np.all(filtered(np.zeros((SIDE, SIDE, 1), np.float32), gpu) == 0.5)


def test_that_what_lies_far_from_a_bright_spot_is_as_exact_as_without_it(gpu):
    dark = RANDOM.random((SIDE, SIDE, 1)).astype(np.float32)
    bright = dark.copy()
    bright[300, 300] = 1e25
    bright[450:453] = 0.0
    clear = dark.copy()
    clear[450:453] = 0.0
    with_it, without = filtered(bright, gpu), filtered(clear, gpu)
    # The rows of its groups share its scale; those further down do not.
    assert np.array_equal(with_it[340:], without[340:])
    assert np.array_equal(with_it[:260], without[:260])


def test_that_nan_and_infinity_stay_in_their_place(gpu):
    clean = RANDOM.standard_normal((SIDE, SIDE, 1)).astype(np.float32)
    strange = clean.copy()
    strange[100, 5], strange[101, 640], strange[400, 350] = np.nan, np.inf, -np.inf
    with_them, without = filtered(strange, gpu), filtered(clean, gpu)
    assert np.isnan(with_them[96:105, 1:10]).all()
    assert np.isfinite(with_them).sum() == SIDE * SIDE - 3 * 81
    assert np.array_equal(with_them[200:300], without[200:300])
