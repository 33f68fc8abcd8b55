"""The variant that a sentence names, among others that cannot take the block of the run."""

from dataclasses import replace

import numpy as np
import pytest

from engine.explain.bounds.explained import explained_subject
from engine.explain.gpus import ABSENT_GPUS, DEFAULT
from engine.explain.limits.device_limits import DeviceLimits, Limit
from engine.explain.subject import Subject
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.mask.resolve import resolve_mask
from engine.work.filter_task import describe_problem
from engine.work.filtering.variants import variant
from tests.engine.variants.emitted import NEEDS_NVVM

pytestmark = [pytest.mark.slow, *NEEDS_NVVM]

# Near those of an H200; instructions are issued so fast that L1 bounds.
LIMITS = DeviceLimits(
    "a GPU",
    copy_bytes_per_s=Limit(4.1e12),
    l2_bytes_per_s=Limit(9.6e12),
    multiply_adds_per_s=Limit(3e13),
    shared_bytes_per_s=Limit(3e13),
    instructions_per_s=Limit(1e13),
)


def test_that_rows_read_across_are_explained_with_a_block_that_no_tile_fits_into():
    mask, samples = resolve_mask("gaussian:9"), np.zeros((256, 256, 1), np.float32)
    problem = describe_problem(samples, mask, Border.ZERO, 0.0, "float32")
    subject = Subject(variant("naive-uncoalesced"), problem, mask, Block(32, 8), ABSENT_GPUS[DEFAULT])
    found = explained_subject(subject, LIMITS, None)
    assert (found.tallest.key, found.remedy) == ("l1", "naive")


def test_that_a_remedy_is_the_nearest_kernel_in_teaching_order():
    mask, samples = resolve_mask("gaussian:5"), np.zeros((256, 256, 3), np.uint8)
    problem = describe_problem(samples, mask, Border.ZERO, 0.0, "float32")
    limits = replace(LIMITS, instructions_per_s=Limit(1e12))
    subject = Subject(variant("cached"), problem, mask, Block(32, 8), ABSENT_GPUS[DEFAULT])
    found = explained_subject(subject, limits, None)
    assert (found.tallest.key, found.remedy) == ("instructions", "tiled")
