"""What a whole call with arrays of the host takes on the CPU and on a GPU: what `auto` compares for a caller.

The table of costs (`engine.work.filtering.auto.costs`) has large square pictures and square masks on two
cores, which says little of a call on a strip of a few rows, or of 16 cores. So the time of `cpu-parallel`
follows from what it does: multiply-adds, totals that are read and written for each mask row, edges that are
copied, threads that are woken. The numbers were fitted to 171 random calls (16 cores with AVX-512 beside an
H100): 80 % of the times lie within 0.75 to 1.31 times the estimate.
"""

from engine.device.thread_pool import workers_for
from engine.device_info import AUTO, DeviceInfo
from engine.errors import Reason
from engine.mask.mask import Mask
from engine.work.filtering.auto.costs import cost_table
from engine.work.filtering.auto.planner import choose, kernel_us, milliseconds
from engine.work.filtering.problem import Problem
from engine.work.filtering.variants import Variant, variant

CPU_CALL_US = 8.0
# All threads but the caller's are woken.
OTHER_THREADS_US = 55.0
SAMPLE_NS = 0.26
# Per sample and mask row: what is read and written of totals.
MASK_ROW_NS = 0.070
MULTIPLY_ADD_NS = 0.0227
# Per picture row and tile of TILE_SAMPLES, of which a band has at least BAND_ROWS rows.
ROW_NS, EDGE_ROW_NS, EDGE_CELL_NS = 16.0, 1.6, 0.038
TILE_SAMPLES, BAND_ROWS = 2048, 16
# A kernel's launch beside the copies.
LAUNCH_US = 10.0
# On no machine did a call of a GPU take less (H100: 45): where the CPU does, no GPU is looked for.
LEAST_GPU_CALL_US = 40.0


def gpu_call_us(problem: Problem, mask: Mask, gpu: DeviceInfo, copies_us: float) -> float:
    """Return about how long a call takes on a GPU where all but the kernel takes `copies_us`, us."""
    return copies_us + LAUNCH_US + kernel_us(problem, mask, gpu)


def why_faster(cpu_us: float, gpu_us: float, copies_us: float) -> Reason:
    """Return why a device was chosen for its whole call; copies are a part of the GPU's."""
    cpu, gpu, copies = map(milliseconds, (cpu_us, gpu_us, copies_us))
    copies = copies.removesuffix(" ms")
    if cpu_us <= gpu_us:
        return Reason("whole-call", f"CPU: {cpu}; the GPU would need {gpu}, {copies} of them for copies")
    return Reason("whole-call", f"GPU: {gpu}, {copies} of them for copies; the CPU would need {cpu}")


def cpu_call_us(problem: Problem, mask: Mask, cpu: DeviceInfo, slowness: float = 1.0) -> float:
    """Return about how long a call takes on a CPU whose cores need `slowness` times as long as ours, us."""
    chosen, direct = choose(AUTO, problem, mask, None, cpu).variant, variant("cpu-parallel")
    tiles = -(-problem.width * problem.channels // TILE_SAMPLES)
    bands = max(1, problem.height * tiles // BAND_ROWS)
    workers = min(workers_for(problem.multiply_adds, int(cpu.facts["cores"])), bands)
    rows, columns = problem.mask_shape
    per_sample = SAMPLE_NS + rows * (columns * MULTIPLY_ADD_NS + MASK_ROW_NS)
    per_row = ROW_NS + EDGE_ROW_NS * rows + EDGE_CELL_NS * rows * columns * problem.channels
    one_core_us = (problem.samples * per_sample + problem.height * tiles * per_row) / 1e3
    if chosen is not direct:
        # Two passes or running sums take a part of it, by the table.
        one_core_us *= _table_us(chosen, problem, mask) / _table_us(direct, problem, mask)
    return CPU_CALL_US + OTHER_THREADS_US * (1 - 1 / workers) + slowness * one_core_us / workers


def _table_us(chosen: Variant, problem: Problem, mask: Mask) -> float:
    table = cost_table("cpu")
    return table.time_us(chosen, problem, table.rates, chosen.repeats_of(mask))
