"""The CPU variants that walk over bands, and a picture filtered by one of them, verified: for their tests."""

from dataclasses import replace

import numpy as np
import pytest

from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.run.resolve import describe_problem
from engine.tasks.filtering.agreement import verify
from engine.variants.cpu import parallel, separable, streamed_bands, two_passes

KEYS = ("cpu-parallel", "cpu-separable")
BLOCK = Block(1, 1)
COMPILED = ((streamed_bands, "stream_bands"), (two_passes, "two_passes_of_bands"))
NARROW_TILE_FLOATS = 1 << 13
every_banded_variant = pytest.mark.parametrize("module", [parallel, separable], ids=KEYS)


def filtered(module, image, mask, border=Border.MIRROR, **more):
    """Return a picture filtered by a variant's module, verified."""
    problem = replace(describe_problem(image, mask, border, 0.0), **more)
    out = np.zeros(image.shape, problem.result_dtype)
    module.prepare(problem, mask, BLOCK).launch(image, out)
    verification = verify(out, image, mask, problem)
    assert verification.passed, verification.reason
    return out
