"""Occupancy and waves: known answers of NVIDIA's calculator, the lecture's G80, the edges of each rule."""

import dataclasses
import itertools
import math

from engine.device_info import GpuAttributes, allocation_units
from engine.geometry.block import Block
from engine.results.occupancy import occupancy, waves

G80 = GpuAttributes(16, 768, 8, 8192, 16384, 0, 512, 1350.0, 86.4)
H200 = GpuAttributes(132, 2048, 32, 65536, 233472, 1024, 1024, 1980.0, 4800.0, **allocation_units((9, 0), 32))
TURING = GpuAttributes(40, 1024, 16, 65536, 65536, 0, 1024, 1590.0, 320.0, **allocation_units((7, 5), 16))
GA102 = GpuAttributes(82, 1536, 16, 65536, 102400, 1024, 1024, 1695.0, 936.0, **allocation_units((8, 6), 16))


def test_that_the_lectures_gpu_hands_out_exactly_what_is_asked_for():
    for block, registers, shared, wanted in [
        (Block(5, 5), 0, 0, (8, "blocks")),  # 25 threads are a warp
        (Block(33, 1), 0, 0, (8, "blocks")),
        (Block(97, 1), 0, 0, (6, "threads")),  # 4 warps
        (Block(16, 16), 32, 0, (1, "registers")),
        (Block(16, 16), 0, 32, (2, "shared memory")),
        (Block(16, 16), 33, 0, (0, "registers")),
        (Block(32, 32), 0, 0, (0, "a block may have 512 threads")),
    ]:
        found = occupancy(block.threads, registers, block.threads * shared, G80)
        assert (found.blocks, found.limited_by) == wanted


def test_that_blocks_at_once_are_those_of_the_occupancy_calculator():
    for gpu, threads, registers, shared, blocks, percent, limited_by in [
        # A warp takes 32 x 40 = 1,280 registers, of which a partition has room for 12: 48 warps.
        (H200, 256, 40, 0, 6, 75, "registers"),
        (H200, 256, 32, 0, 8, 100, "threads, registers"),
        # 33 registers count as 40.
        (H200, 256, 33, 0, 6, 75, "registers"),
        # 65 registers count as 72: 32 warps of 2,304 are more than there are.
        (H200, 1024, 65, 0, 0, 0, "registers"),
        (H200, 64, 16, 0, 32, 100, "blocks, threads"),
        # 48 KiB and 1 KiB of CUDA's own: 4 of 49 KiB in 228.
        (H200, 128, 32, 49152, 4, 25, "shared memory"),
        # 9,792 + 1,024 are 10,816, and 85 x 128 = 10,880: 21 in 233,472.
        (H200, 64, 32, 9792, 21, 65.625, "shared memory"),
        # 1,024 threads are all that Turing has room for; shared memory in pieces of 256 bytes, none reserved.
        (TURING, 1024, 32, 0, 1, 100, "threads"),
        (TURING, 64, 32, 4097, 15, 93.75, "shared memory"),
        (TURING, 64, 32, 4096, 16, 100, "blocks, threads, shared memory"),
        (GA102, 256, 48, 0, 5, 5 * 8 / 48 * 100, "registers"),
        (GA102, 64, 40, 0, 16, 32 / 48 * 100, "blocks"),
    ]:
        found = occupancy(threads, registers, shared, gpu)
        assert (found.blocks, found.limited_by) == (blocks, limited_by)
        assert 100 * found.share == percent

    # Barriers limit kernels that have several from 9.0 on.
    assert occupancy(32, 16, 0, GA102, barriers=16).blocks == 16
    assert occupancy(32, 16, 0, H200, barriers=2).limited_by == "blocks, barriers"
    assert occupancy(32, 16, 0, H200, barriers=3).limited_by == "barriers"
    assert occupancy(32, 16, 0, H200, barriers=3).blocks == 21
    # Unknown registers limit nothing.
    assert occupancy(256, 0, 0, H200).limited_by == "threads"


def test_that_the_last_wave_is_what_the_others_leave():
    assert waves(132 * 8, 8, H200) == (1.0, 1.0)
    assert waves(132 * 8 + 1, 8, H200) == (1 + 1 / 1056, 1 / 1056)
    assert waves(1, 8, H200) == (1 / 1056, 1 / 1056)
    # There are none where no block fits or the size of the GPU is unknown.
    assert waves(100, 0, H200) is None
    assert waves(100, 8, dataclasses.replace(H200, multiprocessors=0)) is None


def test_that_no_gpu_holds_more_warps_than_it_has_room_for():
    for gpu in (G80, H200, TURING, GA102):
        every = range(1, gpu.most_block_threads + 1, 31)
        for threads, registers in itertools.product(every, (16, 33, 64, 128, 255)):
            found = occupancy(threads, registers, 100 * threads // 3, gpu)
            assert 0 <= found.share <= 1
            assert found.blocks * math.ceil(threads / 32) * 32 * registers <= gpu.registers
