"""The GPUs that code is shown for, and launches before any run: with and without registers, in sentences."""

import pytest

from engine.device_info import DeviceInfo
from engine.errors import BadValue
from engine.explain import answers
from engine.explain.launches import (
    ABSENT_GPUS,
    ARCHITECTURES,
    STATIC_BYTES,
    Architecture,
    explained_launch,
    gpu_for,
    gpu_text,
    limit_sentence,
)
from engine.geometry.block import Block, Limits
from engine.results.occupancy import KernelResources, launch_facts, occupancy, occupancy_of
from engine.run.task import Job
from engine.tasks.product.problem import MatrixProduct, matmul_variant
from engine.work.filtering.variants import variant
from engine.work.operations.contract import operation_variant
from engine.work.problem import OperationProblem, Problem

HD = Problem(1080, 1920, 1, "uint8", (5, 5), (2, 2))
H200, GA102 = ABSENT_GPUS[9, 0], ABSENT_GPUS[8, 6]


def launches_of(known, problem, block, gpu, resources=()):
    """Return the launches of a variant; they depend on no operands."""
    return answers.launch_advice(Job(None, known, block, problem, None), gpu, resources).launches


def test_that_a_launch_says_what_limits_it_and_how_often_it_fills_the_gpu():
    (launch,) = launches_of(variant("tiled"), HD, Block(16, 16), H200, [KernelResources(60, 1600, 0)])
    facts = launch.facts
    assert (facts.grid, facts.blocks, facts.threads) == ((120, 68, 1), 8160, 256)
    assert (facts.registers, facts.resident_blocks, facts.limited_by) == (60, 4, "registers")
    assert (facts.occupancy, launch.occupancy.warps, launch.occupancy.most_warps) == (0.5, 32, 64)
    assert facts.waves == 8160 / (4 * 132)
    assert facts.last_wave == pytest.approx(8160 / (4 * 132) - 15)
    assert facts.halo_redundancy == 400 / 256
    # Of 68 rows of blocks the last has 8 rows of results.
    assert facts.idle_threads == 1 - 1080 / 1088
    # Without registers it has the occupancy of its plan.
    (launch,) = launches_of(variant("tiled"), HD, Block(16, 16), H200)
    assert not launch.is_compiled
    assert (launch.facts.registers, launch.facts.local_bytes, launch.facts.shared_bytes) == (None, None, 1600)
    assert (launch.facts.occupancy, launch.facts.limited_by) == (1.0, "threads")


def test_that_a_product_and_an_operation_have_idle_threads_at_their_edges():
    product = MatrixProduct(100, 50, 70)
    (launch,) = launches_of(matmul_variant("matmul-tiled"), product, Block(16, 16), H200)
    assert launch.facts.idle_threads == 1 - 100 * 70 / (7 * 5 * 256)
    negative = OperationProblem("negative", 100, 70, 3, "uint8", (100, 70, 3), "uint8")
    chosen = operation_variant("cuda-negative", "negative")
    (launch,) = launches_of(chosen, negative, Block(32, 8), GA102)
    assert launch.facts.idle_threads == 1 - 3 * 100 * 70 / (3 * 3 * 13 * 256)


TAKEN = KernelResources(40, 1728, 0, barriers=1)


def drawn_of(taken):
    facts = launch_facts((1000, 1, 1), (256, 1, 1), taken, GA102.attributes)
    return explained_launch(facts, taken, GA102.attributes).curves


def test_that_curves_go_through_the_launch_itself_and_fall_with_registers_and_shared_memory():
    drawn, here = drawn_of(TAKEN), occupancy_of(256, TAKEN, GA102.attributes)
    by_threads = {point.at: point for point in drawn["threads"]}
    by_registers = {point.at: point for point in drawn["registers"]}
    assert by_threads[256].blocks == by_registers[40].blocks == here.blocks
    assert by_threads[256].share == here.share
    assert list(by_threads) == list(range(32, 1025, 32))
    assert drawn["registers"][-1].at == 255
    assert drawn["shared_bytes"][-1].at == STATIC_BYTES
    for curve in (drawn["registers"], drawn["shared_bytes"]):
        shares = [point.share for point in curve]
        assert shares == sorted(shares, reverse=True)
    # Unknown registers have no curve.
    drawn = drawn_of(KernelResources(0, 1728, 0))
    assert drawn["registers"] == ()
    assert drawn["threads"]


def made(threads, registers, shared_bytes=0):
    """Return a launch of 1,000 blocks on a H200."""
    taken = KernelResources(registers, shared_bytes, 0)
    facts = launch_facts((1000, 1, 1), (threads, 1, 1), taken, H200.attributes)
    return explained_launch(facts, taken, H200.attributes)


# It has room for 64 warps, 32 blocks, 65,536 registers, and 228 KiB, of which a block takes 1 KiB more.
SENTENCES = {
    (256, 32): "The occupancy is 100 %: no further warp has room.",
    (256, 0): "The occupancy is at most 100 %: no further warp has room.",
    (32, 32): "The most blocks that fit limit the occupancy to 50.0 %. "
    "It would be 100 % with 64 threads per block.",
    (256, 128): "Registers limit the occupancy to 25.0 %. It would be 37.5 % with 80 registers per thread.",
    (256, 32, 40 * 1024): "Shared memory limits the occupancy to 62.5 %. It would be 75.0 % with 37 KiB of "
    "shared memory, or 100 % with 512 threads per block.",
    (768, 24): "The room for threads limits the occupancy to 75.0 %. "
    "It would be 100 % with 512 threads per block.",
    (2048, 32): "No block can be launched: a block may have 1,024 threads.",
}


def test_that_the_sentence_names_the_limit_and_what_would_change_it():
    assert {launch: limit_sentence(made(*launch)) for launch in SENTENCES} == SENTENCES


# Threads, registers, bytes of shared memory and barriers of blocks.
BLOCKS = (
    (256, 40, 0, 1), (1024, 64, 0, 1), (100, 33, 9792, 1), (64, 24, 4097, 1), (192, 168, 49152, 4),
    (32, 16, 0, 4),
)  # fmt: skip
# How many of each a multiprocessor holds, as `cuda_occupancy.h` of the CUDA toolkit 13.5 computes it.
HELD = {
    "sm_75": (4, 1, 6, 15, 1, 16),
    "sm_80": (6, 1, 12, 32, 2, 32),
    "sm_86": (6, 1, 9, 16, 2, 16),
    "sm_87": (6, 1, 12, 16, 2, 16),
    "sm_89": (6, 1, 9, 19, 2, 24),
    "sm_90": (6, 1, 12, 32, 2, 16),
    "sm_100": (6, 1, 12, 32, 2, 16),
    "sm_103": (6, 1, 12, 32, 2, 8),
    "sm_120": (6, 1, 9, 19, 2, 6),
    "sm_121": (6, 1, 9, 19, 2, 6),
}
AMPERE = Architecture(8, 6)
HERE = DeviceInfo(
    "cuda:1", "cuda", "NVIDIA A10",
    limits=Limits(compute_capability=AMPERE), attributes=ABSENT_GPUS[AMPERE].attributes,
)  # fmt: skip
CPU = DeviceInfo("cpu", "cpu", "CPU")


def test_that_an_architecture_is_written_in_several_ways():
    assert {Architecture.named(text) for text in ("sm_86", "compute_86", "86", "8.6", "SM_86")} == {AMPERE}
    for text in ("sm_70", "hopper", "sm_", "9"):
        with pytest.raises(BadValue, match="Choose one of sm_75, "):
            Architecture.named(text)


def test_that_a_multiprocessor_holds_as_many_blocks_as_nvidias_calculator_says():
    gpus = {str(known): ABSENT_GPUS[known].attributes for known in ARCHITECTURES}
    assert {
        name: tuple(occupancy(*block[:3], gpu, block[3]).blocks for block in BLOCKS)
        for name, gpu in gpus.items()
    } == HELD


def test_that_the_gpu_here_is_explained_unless_there_is_none_or_another_is_asked_for():
    assert gpu_for([CPU, HERE]) is HERE
    assert gpu_text(HERE) == "NVIDIA A10 (cuda:1, sm_86)"
    assert gpu_for([CPU, HERE], Architecture(12, 0)) is ABSENT_GPUS[12, 0]
    # That whose figures the documents show.
    assert gpu_for([CPU]) is ABSENT_GPUS[9, 0]
