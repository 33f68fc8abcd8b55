"""`cpu-parallel`: all cores, sums in registers, vectors of the machine's own width.

Idea
    A core walks down a band of the picture row by row. An input row is added at once to all results that it takes part
    in, one for each mask row, and what they still wait for stays in totals: a row of them for each mask row.
Who loads what
    Each input row is read once a band, straight from the picture in its own type; its neighbours along the row come
    from the core's first cache. The weights are operands of the multiply-adds.
What it saves
    Against `cpu-serial`: the border's rule leaves the inner loop (the few columns beside the edges are put together in a
    buffer), sixteen samples are computed at once, and all cores work. Interleaved channels need nothing special: a mask
    column is `channels` samples further on.
Limit
    From 5 x 5 on the multiply-adds (95 % of the machine's rate), below that memory and, for integers, the conversion.

Sums are formed as in `cpu-serial` (a partial sum per mask row), but each multiply-add rounds once (fused). Where the samples
of an integer picture cannot hold the ghost value, the picture is made float32 first.
"""

from dataclasses import replace

import numpy as np

from engine.device.launches import DeviceKind, Launch
from engine.geometry.block import Block, Limits
from engine.geometry.block_rules import Refusal
from engine.mask.mask import Mask
from engine.tasks.filtering.problem import Problem
from engine.tasks.filtering.work import filter_work
from engine.tasks.work import Work
from engine.variants.contract import Variant
from engine.variants.cpu.band_walk import BandWalk

# What a band costs beside its own rows, measured: 1 (15 x 15) to 2.5 (3 x 3), as partly taken rows make fewer multiply-adds.
COST_ROWS = 2


def plan(problem: Problem, block: Block) -> tuple[Launch, ...]:
    """Return no launches: the bands are tasks of CPU threads."""
    return ()


def work(problem: Problem, block: Block) -> Work:
    """Return the work: each sample once; a mask's further reads of it, and of the weights, are the cache's business.

    The mask rows - 1 input rows that two bands share are not counted: how many bands there are depends on the cores.
    """
    return filter_work(problem, picture_loads=problem.samples)


def unsupported(problem: Problem, mask: Mask, block: Block, limits: Limits) -> Refusal | None:
    """Return None: every problem can be done."""
    return None


def prepare(problem: Problem, mask: Mask, block: Block) -> BandWalk:
    """Return the bands for one problem and mask, compiled."""
    tiny = np.zeros((1, 1, problem.channels), problem.dtype)
    _walk(replace(problem, height=1, width=1), mask).launch(tiny, np.empty(tiny.shape, problem.result_dtype))
    return _walk(problem, mask)


def _walk(problem: Problem, mask: Mask) -> BandWalk:
    weights = np.array(mask.weights32.T, order="C").reshape(-1)
    return BandWalk(problem, weights, None, mask.offset, problem.multiply_adds, COST_ROWS)


VARIANT = Variant(
    key="cpu-parallel",
    title="CPU, all cores",
    device=DeviceKind.CPU,
    idea="Each input row is added at once to all results that wait for it; sums in vector registers, every core at work.",
    default_block=Block(1, 1),
    plan=plan,
    work=work,
    prepare=prepare,
    unsupported=unsupported,
    uses_block=False,
    integer_output=True,
)
