"""Registers, memory and occupancy as they are computed without a device, against the driver's answers."""

import math

import numpy as np
import pytest

from engine.device.kernel_code import resources_of
from engine.explain.answers import kernel_resources
from engine.explain.launches import ABSENT_GPUS, Architecture
from engine.geometry.block import Block, every_block
from engine.mask.mask import Mask
from engine.results.occupancy import occupancy_of
from engine.run.measure import NO_SAMPLES, measure
from engine.run.task import Choice
from engine.tasks.network.operands import trained_weights
from engine.tasks.network.problem import ForwardPass
from engine.tasks.network.task import NETWORK_VARIANTS
from engine.tasks.product.problem import MATMUL_VARIANTS, MatrixProduct
from engine.work.filtering.variants import VARIANTS, variant
from engine.work.operations.contract import OPERATION_VARIANTS
from engine.work.problem import Problem
from tests.engine.variants.case_lists import mask_for, typed
from tests.picture_jobs import filter_job, operation_request, resolved_operation

# 30 blocks: powers of two of every size, and some whose threads do not fill their warps.
ODD = tuple(
    Block(*sides) for sides in ((3, 1), (5, 5), (33, 1), (10, 10), (97, 1), (7, 31), (24, 24), (31, 33))
)
BLOCKS = (*ODD, *every_block()[::3][:22])
PICTURE = 700, 1300
RANDOM = np.random.default_rng(4)


def filter_case(known):
    mask = mask_for(known, 5, 7)
    problem = typed(known, Problem(*PICTURE, 1, "float32", mask.shape, mask.anchor))
    return problem, mask


def product_case(known):
    return MatrixProduct(300, 200, 500), None


def network_case(known):
    return ForwardPass(100), trained_weights()


def operation_case(known):
    part = {"left": 10, "top": 20, "width": 64, "height": 48} if known.operation == "find-patch" else {}
    asked = operation_request(operation=known.operation, settings=part)
    picture = RANDOM.integers(0, 256, (*PICTURE, 3), np.uint8)
    return resolved_operation(asked, picture)[1:]


CASES = [
    (known, case)
    for listed, case in (
        (VARIANTS, filter_case),
        (MATMUL_VARIANTS, product_case),
        (NETWORK_VARIANTS, network_case),
        (OPERATION_VARIANTS, operation_case),
    )
    for known in listed
    if known.has_kernels
]


def driver_blocks(loaded, threads):
    """Return how many blocks of so many threads a multiprocessor holds, as the driver says it."""
    from cuda.bindings import driver

    function = driver.CUfunction(int(loaded._kernel.handle))
    status, blocks = driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(function, threads, 0)
    assert status == driver.CUresult.CUDA_SUCCESS
    return blocks


@pytest.mark.parametrize(("known", "case"), CASES, ids=lambda one: getattr(one, "key", ""))
def test_that_registers_memory_and_occupancy_are_the_drivers(gpu, known, case):
    from engine.device.loaded_kernel import loaded_kernel

    gpu.activate()
    limits, attributes = gpu.info.limits, gpu.info.attributes
    problem, constant = case(known)
    compared = 0
    for block in (known.default_block, *(BLOCKS if known.uses_block else ())):
        if known.why_not(problem, constant, block, limits) is not None:
            continue
        for step in known.passes(problem, constant, block):
            loaded = loaded_kernel(step.kernel, step.signature)
            stated, ours = loaded.attributes, resources_of(loaded.code)
            assert (ours.registers, ours.shared_bytes, ours.local_bytes) == (
                stated.num_regs, stated.shared_size_bytes, stated.local_size_bytes,
            ), (block, step.name)  # fmt: skip
            assert loaded.resources == ours._replace(constant_bytes=stated.const_size_bytes)
            # Blocks of 1024 threads of match-tiled spill, as its docstring says.
            if block == known.default_block:
                assert ours.shared_bytes == step.launch.shared_bytes
                assert (ours.local_bytes > 0) == getattr(known, "uses_local_memory", False)
            # The block itself, and blocks of other sizes.
            for threads in {math.prod(step.launch.block), *(other.threads for other in BLOCKS)}:
                if threads <= stated.max_threads_per_block:
                    held = occupancy_of(threads, ours, attributes).blocks
                    assert held == driver_blocks(loaded, threads), (block, step.name, threads)
            compared += 1
    assert compared


@pytest.mark.parametrize("key", ["tiled", "constant", "separable-l1", "register-blocked"])
def test_that_what_is_compiled_without_a_device_takes_what_is_loaded(gpu, key):
    from engine.device.loaded_kernel import loaded_kernel

    gpu.activate()
    known = variant(key)
    problem, mask = filter_case(known)
    choice = Choice(known, known.default_block)
    found = kernel_resources(filter_job(choice, problem, mask, np.zeros((*PICTURE, 1), np.float32)), gpu.info)
    steps = known.passes(problem, mask, known.default_block)
    assert [one._replace(constant_bytes=0) for one in found] == [
        loaded_kernel(step.kernel, step.signature).resources._replace(constant_bytes=0) for step in steps
    ]


def test_that_the_limits_of_the_architecture_are_those_that_the_driver_states(gpu):
    capability = Architecture(*gpu.info.limits.compute_capability)
    if capability not in ABSENT_GPUS:
        pytest.skip(f"{capability} is in no table")
    stated, ours = gpu.info.attributes, ABSENT_GPUS[capability].attributes
    for name in (
        "threads", "blocks", "registers", "shared_bytes", "reserved_shared_bytes", "most_block_threads",
        "register_unit", "shared_unit", "partitions", "barriers",
    ):  # fmt: skip
        assert getattr(ours, name) == getattr(stated, name), name


def test_that_a_run_says_what_its_launch_took(gpu):
    mask, chosen = Mask(np.ones((5, 5))), variant("tiled")
    problem = Problem(*PICTURE, 1, "float32", mask.shape, mask.anchor)
    job = filter_job(Choice(chosen, Block(16, 16)), problem, mask, np.zeros((*PICTURE, 1), np.float32))
    (facts,) = measure(job, gpu, NO_SAMPLES).result.launches
    assert facts.registers > 16
    assert facts.shared_bytes == chosen.plan(problem, Block(16, 16))[0].shared_bytes
    assert 0 < facts.occupancy <= 1
    assert facts.waves > 0
