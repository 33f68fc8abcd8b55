"""`cpu-parallel`: all cores, sums in registers, vectors of the machine's own width.

Idea
    A core streams down a band of the picture. Each input row is added at once to all results that it takes
    part in, one per mask row; their totals so far are kept in a row per mask row.
Who loads what
    Each input row is read once per band, straight from the picture in its own type; its neighbours along the
    row come from the core's first cache. The weights are operands of the multiply-adds.
What it saves
    Against `cpu-serial`: the border's rule leaves the inner loop (the few columns beside the edges are copied
    to a buffer), sixteen samples are computed at once, and all cores work. Interleaved channels need nothing
    special: a mask column is `channels` samples further on.
Limit
    From 5 x 5 on the multiply-adds (95 % of the machine's rate), below that memory and, for integers, the
    conversion.

Sums are formed as in `cpu-serial`, but each multiply-add rounds once (fused). Where the samples of an integer
picture cannot hold the ghost value, the picture is made float32 first.
"""

import numpy as np

from engine.geometry.block import Block
from engine.mask.mask import Mask
from engine.run.variant import ON_CPU
from engine.variants.cpu.register_tiles import PARTIAL_SUMS
from engine.variants.cpu.streamed_bands import StreamedBands
from engine.work.filtering.sum_order import by_rows, one_chain
from engine.work.filtering.variants import Variant, filter_work
from engine.work.problem import Problem

# What a band costs beside its own rows, measured: 1 (15 x 15) to 2.5 (3 x 3), as partly taken rows make fewer
# multiply-adds.
COST_ROWS = 2


def prepare(problem: Problem, mask: Mask, block: Block) -> StreamedBands:
    """Return the bands for one problem and mask, compiled."""
    weights = np.array(mask.weights32.T, order="C").reshape(-1)
    return StreamedBands(problem, mask, weights, None, problem.multiply_adds, COST_ROWS).compiled()


VARIANT = Variant(
    **ON_CPU,
    key="cpu-parallel",
    title="CPU, all cores",
    idea="Each input row is added at once to all results that it takes part in; sums in vector registers, "
    "all cores.",
    # Each sample is loaded once; its further reads, and those of weights, hit the cache. Input rows that two
    # bands share are not counted: the number of bands depends on the cores.
    work=lambda problem, block: filter_work(problem, picture_loads=problem.samples),
    prepare=prepare,
    # It depends on how many registers this processor has.
    sum_order=lambda problem, mask: (
        by_rows(mask.columns, is_fused=True) if PARTIAL_SUMS else one_chain(mask.taps)
    ),
    integer_output=True,
)
