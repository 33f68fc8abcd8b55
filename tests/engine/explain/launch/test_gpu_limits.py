"""The limits of GPUs that are not here, against answers of NVIDIA's occupancy calculator."""

import pytest

from engine.device_info import DeviceInfo
from engine.explain.gpus import ABSENT_GPUS, ARCHITECTURES, Architecture, gpu_for
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


def test_that_every_architecture_has_limits():
    assert tuple(ABSENT_GPUS) == ARCHITECTURES
    assert list(HELD) == [str(known) for known in ARCHITECTURES]


@pytest.mark.parametrize("known", ARCHITECTURES, ids=str)
def test_that_a_multiprocessor_holds_as_many_blocks_as_nvidias_calculator_says(known):
    gpu = ABSENT_GPUS[known].attributes
    assert tuple(occupancy(*block[:3], gpu, block[3]).blocks for block in BLOCKS) == HELD[str(known)]


def test_that_a_product_is_named_where_the_multiprocessors_are_counted():
    assert all(
        gpu.title.endswith(")") == bool(gpu.attributes.multiprocessors) for gpu in ABSENT_GPUS.values()
    )


HERE = DeviceInfo(
    "cuda:1",
    "cuda",
    "NVIDIA A10",
    limits=Limits(compute_capability=(8, 6)),
    attributes=ABSENT_GPUS[Architecture(8, 6)].attributes,
)
CPU = DeviceInfo("cpu", "cpu", "CPU")


def test_that_the_gpu_here_is_explained_unless_another_architecture_is_asked_for():
    assert gpu_for([CPU, HERE]).title == "NVIDIA A10 (cuda:1, sm_86)"
    assert gpu_for([CPU, HERE], Architecture(12, 0)) is ABSENT_GPUS[12, 0]


def test_that_without_a_gpu_it_is_the_one_whose_figures_the_documents_show():
    assert gpu_for([CPU]) is ABSENT_GPUS[9, 0]
