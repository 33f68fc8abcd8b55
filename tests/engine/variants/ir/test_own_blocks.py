"""Variants whose blocks are their own: the one of a request does not matter, shared memory is asked for."""

import numpy as np
import pytest

from engine.geometry.block import Block, Limits
from engine.mask.generators import gaussian
from engine.mask.mask import Mask
from engine.tasks.filtering.problem import Problem
from engine.variants.registry import VARIANTS, variant
from tests.engine.variants.ir.emitted import RANDOM, refused
from tests.engine.variants.suited import mask_for, typed


@pytest.mark.parametrize(
    "known", [v for v in VARIANTS if v.has_kernels and not v.uses_block], ids=lambda known: known.key
)
def test_that_the_block_of_the_request_does_not_matter(known):
    mask = mask_for(known, 9, 9)
    problem = typed(known, Problem(40, 300, 1, "float32", mask.shape, mask.anchor))
    assert known.plan(problem, Block(7, 3)) == known.plan(problem, known.default_block)
    assert not refused(known, problem, mask, block=Block(0, 0))


@pytest.mark.parametrize(
    ("key", "mask", "words"),
    [
        ("register-blocked", Mask(np.ones((31, 31))), "for its tile; a block has 4,096"),
        ("separable-fused", gaussian(31), "for its rows; a block has 4,096"),
        (
            "low-rank-2",
            Mask(gaussian(31).weights - gaussian(31, sigma=2.0).weights),
            "memory; a block has 4,096",
        ),
        ("split-float16", Mask(RANDOM.standard_normal((9, 9))), "shared memory; a block has 4,096"),
    ],
)
def test_that_a_device_with_little_shared_memory_is_refused_in_words(key, mask, words):
    problem = Problem(99, 99, 1, "float32", mask.shape, mask.anchor)
    reason = refused(variant(key), problem, mask, Limits(shared_bytes=4096))
    assert "bytes of shared memory" in reason
    assert words in reason
