"""The contract of a variant: frozen data and small functions. No Numba in here.

`plan`, `work` and `unsupported` are pure: they can be tested and shown without a device. `prepare` compiles and
uploads the mask; what it returns launches as often as wanted.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

import numpy as np

from engine.device.launches import DeviceKind, Launch, Pass, Prepared
from engine.geometry.block import Block, Limits
from engine.geometry.block_rules import Refusal
from engine.mask.mask import MAX_LINE, Mask
from engine.tasks.filtering.problem import DTYPES, MAX_CHANNELS, Problem
from engine.tasks.work import Work


def refuse_samples(variant: "Variant", samples: np.ndarray) -> Refusal | None:
    """Return why a variant cannot filter these very samples, which `unsupported` has not seen; None if it can."""
    if not variant.finite_only or samples.dtype.kind != "f":
        return None
    if np.isfinite(samples).all():
        largest = float(np.abs(samples).max(initial=0.0))
        if largest <= variant.most_sample:
            return None
        return Refusal(
            f"The picture has samples up to {largest:.3g}; past {variant.most_sample:.3g} sums within {variant.key} could be "
            "infinite where the result is not. Use register-blocked, tiled or naive."
        )
    row, column, channel = (int(place) for place in np.argwhere(~np.isfinite(samples))[0])
    return Refusal(
        f"Row {row}, column {column}, channel {channel} of the picture is {samples[row, column, channel]}; {variant.key} "
        "mixes it with samples and weights that a direct sum keeps apart, so that it would spread. Use cpu-parallel, tiled or "
        "naive, which keep it in its place."
    )


class MaskClass(StrEnum):
    """Which masks a variant takes."""

    ANY = "any mask"
    ONE_ROW = "masks of one row"
    PRODUCTS = "masks that are a sum of columns times rows"
    EQUAL_WEIGHTS = "masks of equal weights"


class Growth(StrEnum):
    """What the time of a variant grows with, as the mask becomes larger."""

    CELLS = "rows x columns"
    SIDES = "rows + columns"
    NOTHING = "hardly at all"


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to compute a filtering.

    Whoever has to know what a variant is like asks its traits, never its key.

    Parameters
    ----------
    key : str
        Stable name; goes into files, scripts and results.
    title : str
        Name for people.
    device : DeviceKind
    idea : str
        One or two sentences: who loads what, and what that saves against the variant before.
    default_block : Block
        What is used where nobody chose.
    plan : callable of (Problem, Block) -> tuple of Launch
        The launches, one a pass; empty for CPU variants.
    work : callable of (Problem, Block) -> Work
    prepare : callable of (Problem, Mask, Block) -> Prepared
        Compiles for the problem and uploads the mask.
    unsupported : callable of (Problem, Mask, Block, Limits) -> Refusal or None
        Why this variant cannot do that, or None. Never another algorithm instead.
    passes : callable of (Problem, Mask, Block) -> tuple of Pass
        The kernels with their arguments, one a launch; empty for CPU variants.
    uses_block : bool
        Whether the block changes how the variant runs.
    remark : str
        What a person should know before using it; empty where the idea says it all.
    integer_output : bool
        Whether it also writes results of 8 and 16 bit (`Problem.is_quantised`). `engine.variants.auto.suitability` refuses
        such a problem for all others, whose `unsupported` is not asked about it.
    uint8_only : bool
        Whether it takes pictures of 8 bit with results of 8 bit and no others, which `engine.variants.auto.suitability` refuses.
    band_invariant : bool
        Whether a result depends on the cells under its mask alone, formed in an order that does not depend on where it
        lies: then a picture may be filtered in bands, with the very same results. Running sums and transforms are not.
    library : str
        The Python package that does the work; empty where our own code does. Such a variant has no passes.
    finite_only : bool
        NaN or infinity in a picture would spread, or become the other: whoever runs the variant has to refuse such pictures
        (`refuse_samples`) before anything is computed.
    most_sample : float
        The largest magnitude of a sample with which nothing within overflows; larger ones are refused as NaN is.
    added_error : callable of (Problem, Mask) -> float
        What a result may be off beyond the bound of a direct sum (`engine.tasks.filtering.agreement`), as a part of the largest
        magnitude among the picture's samples and its ghost value. 0: the bound holds whatever the picture.
    repeats : callable of Mask -> int, optional
        How often a mask has the inner work done, where its weights decide that and not its size: what `auto`
        counts with.
    masks : MaskClass
        The masks it takes.
    rank : int
        Columns times rows that such a mask is a sum of; 0 where the rank does not matter.
    grows_with : Growth
        What its time grows with.
    least_side : int
        Rows and columns that a mask must have, each.
    most_rows, most_columns, most_cells : int
        Of the largest mask that it takes. Shared memory or registers may set the limit lower, which
        `unsupported` says.
    picture_types : tuple of str
        Types of samples that it takes.
    most_channels : int
        Channels that a picture may have.
    rounds_weights : bool
        Whether it computes with rounded parts of the weights: it refuses weights of so few digits that direct
        sums are exact.
    block_covers_input : bool
        Whether a block covers its input tile, so that a mask needs a block larger than itself; the others'
        covers the output tile.
    """

    task: ClassVar[str] = Problem.task

    key: str
    title: str
    device: DeviceKind
    idea: str
    default_block: Block
    plan: Callable[[Problem, Block], tuple[Launch, ...]]
    work: Callable[[Problem, Block], Work]
    prepare: Callable[[Problem, Mask, Block], Prepared]
    unsupported: Callable[[Problem, Mask, Block, Limits], Refusal | None]
    passes: Callable[[Problem, Mask, Block], tuple[Pass, ...]] = lambda problem, mask, block: ()
    uses_block: bool = True
    remark: str = ""
    library: str = ""
    finite_only: bool = False
    most_sample: float = float("inf")
    added_error: Callable[[Problem, Mask], float] = lambda problem, mask: 0.0
    repeats: Callable[[Mask], int] | None = None
    integer_output: bool = False
    uint8_only: bool = False
    band_invariant: bool = True
    masks: MaskClass = MaskClass.ANY
    rank: int = 0
    grows_with: Growth = Growth.CELLS
    least_side: int = 1
    most_rows: int = MAX_LINE
    most_columns: int = MAX_LINE
    most_cells: int = MAX_LINE * MAX_LINE
    picture_types: tuple[str, ...] = DTYPES
    most_channels: int = MAX_CHANNELS
    rounds_weights: bool = False
    block_covers_input: bool = False

    @property
    def has_kernels(self) -> bool:
        """Whether it runs CUDA kernels of ours: they are simulated, counted and compiled without a device."""
        return self.device is DeviceKind.CUDA and not self.library

    def repeats_of(self, mask: Mask) -> int:
        """Return how often a mask has the inner work done."""
        return 1 if self.repeats is None else self.repeats(mask)
