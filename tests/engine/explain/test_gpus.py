"""The GPUs that code is shown for: how they are named, and their limits by NVIDIA's occupancy calculator."""

import pytest

from engine.device_info import DeviceInfo
from engine.errors import BadValue
from engine.explain.launches import ABSENT_GPUS, ARCHITECTURES, Architecture, gpu_for, gpu_text
from engine.geometry.block import Limits
from engine.results.launch_facts import occupancy

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


def test_that_a_product_is_named_where_the_multiprocessors_are_counted():
    assert all(
        one.title.endswith(")") == bool(one.attributes.multiprocessors) for one in ABSENT_GPUS.values()
    )


def test_that_the_gpu_here_is_explained_unless_there_is_none_or_another_is_asked_for():
    assert gpu_for([CPU, HERE]) is HERE
    assert gpu_text(HERE) == "NVIDIA A10 (cuda:1, sm_86)"
    assert gpu_for([CPU, HERE], Architecture(12, 0)) is ABSENT_GPUS[12, 0]
    # That whose figures the documents show.
    assert gpu_for([CPU]) is ABSENT_GPUS[9, 0]
