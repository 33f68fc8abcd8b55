"""The contract of a variant: frozen data and small functions. No Numba in here.

`plan`, `work` and `unsupported` are pure: they can be tested and shown without a device. `prepare` compiles
and uploads the weights; what it returns launches as often as wanted.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from engine.device.launches import DeviceKind, Launch, Pass, Prepared
from engine.geometry.block import Block, Limits
from engine.geometry.block_rules import Refusal
from engine.mask.mask import MAX_LINE, Mask
from engine.tasks.filtering.problem import DTYPES, MAX_CHANNELS, Problem
from engine.tasks.work import Work

P = TypeVar("P")
C = TypeVar("C")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyVariant(Generic[P, C]):
    """One way to compute a problem P, compiled with a constant C: the mask of a filter, None for a product.

    Code that has to know what a variant is like asks its traits, never its key.

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
        The block where nobody chose one.
    plan : callable of (P, Block) -> tuple of Launch
        The launches, one per pass; empty for CPU variants.
    work : callable of (P, Block) -> Work or None
        The model of work; None where it is not known.
    prepare : callable of (P, C, Block) -> Prepared
        Compiles for the problem and uploads what is constant.
    unsupported : callable of (P, C, Block, Limits) -> Refusal or None
        Why this variant cannot do that, or None. Never another algorithm instead.
    passes : callable of (P, C, Block) -> tuple of Pass
        The kernels with their arguments, one per launch; empty for CPU variants.
    uses_block : bool
        Whether the block changes how the variant runs.
    remark : str
        What a person should know before using it; empty where the idea says it all.
    library : str
        The Python package that does the work; empty where our own code does. Such a variant has no passes.
    made_by : callable of () -> AnyVariant, optional
        Makes the variant in another process, to which it is sent; None where the registry has it.
    """

    task: ClassVar[str]

    key: str
    title: str
    device: DeviceKind
    idea: str
    default_block: Block
    work: Callable[[P, Block], Work | None]
    prepare: Callable[[P, C, Block], Prepared]
    plan: Callable[[P, Block], tuple[Launch, ...]] = lambda problem, block: ()
    unsupported: Callable[[P, C, Block, Limits], Refusal | None] = lambda problem, constant, block, limits: (
        None
    )
    passes: Callable[[P, C, Block], tuple[Pass, ...]] = lambda problem, constant, block: ()
    uses_block: bool = True
    remark: str = ""
    library: str = ""
    made_by: Callable[[], Any] | None = None

    @property
    def has_kernels(self) -> bool:
        """Whether it runs CUDA kernels of ours: they are simulated, counted and compiled without a device."""
        return self.device is DeviceKind.CUDA and not self.library

    def why_not(
        self, problem: P, constant: C, block: Block, limits: Limits, known: Iterable[Any] = ()
    ) -> Refusal | None:
        """Return why the variant cannot do that, or None; of the `known` ones the reason may name others."""
        return self.unsupported(problem, constant, block, limits)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant(AnyVariant[Problem, Mask]):
    """One way to compute a filtering.

    Parameters
    ----------
    integer_output : bool
        Whether it also writes results of 8 and 16 bit (`Problem.is_quantised`); `why_not` refuses them for
        all others, whose `unsupported` is not asked about it.
    uint8_only : bool
        Whether it takes 8-bit pictures with 8-bit results and no others, which `why_not` refuses.
    band_invariant : bool
        Whether a result depends on the cells under its mask alone, formed in an order that does not depend on
        where it lies: then a picture may be filtered in bands, with the very same results. Running sums and
        transforms are not.
    finite_only : bool
        NaN or infinity in a picture would spread, or become the other: such pictures have to be refused
        (`refuse_samples`) before anything is computed.
    most_sample : float
        The largest magnitude of a sample with which nothing within overflows; larger ones are refused as NaN
        is.
    added_error : callable of (Problem, Mask) -> float
        What a result may be off beyond the bound of a direct sum (`engine.tasks.filtering.agreement`), as a
        part of the largest magnitude among the picture's samples and its ghost value. 0: the bound holds
        whatever the picture.
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

    work: Callable[[Problem, Block], Work]
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

    def repeats_of(self, mask: Mask) -> int:
        """Return how often a mask has the inner work done."""
        return 1 if self.repeats is None else self.repeats(mask)

    def why_not(
        self, problem: Problem, constant: Mask, block: Block, limits: Limits, known: Iterable["Variant"] = ()
    ) -> Refusal | None:
        """Return why the variant cannot do that, or None: the rules for all variants, then its own."""
        if problem.is_quantised and not self.integer_output:
            keys = [
                other.key
                for other in known
                if other.integer_output and other.device is self.device and other._takes_types_of(problem)
            ]
            return Refusal(
                "It writes float32 results only. Choose float32 results, or for "
                f"{problem.result_dtype} one of: {', '.join(keys)}."
            )
        if not self._takes_types_of(problem):
            return Refusal(
                "It takes 8-bit pictures and gives 8-bit results only, not "
                f"{problem.dtype} with {problem.result_dtype} results. "
                "Choose results of the picture's own type for an 8-bit picture, or use register-blocked."
            )
        return self.unsupported(problem, constant, block, limits)

    def _takes_types_of(self, problem: Problem) -> bool:
        return not self.uint8_only or problem.dtype == problem.result_dtype == "uint8"

    def refuse_samples(self, samples: np.ndarray) -> Refusal | None:
        """Return why it cannot filter these very samples, which `unsupported` has not seen, or None."""
        if not self.finite_only or samples.dtype.kind != "f":
            return None
        if np.isfinite(samples).all():
            largest = float(np.abs(samples).max(initial=0.0))
            if largest <= self.most_sample:
                return None
            return Refusal(
                f"The picture has samples up to {largest:.3g}; past {self.most_sample:.3g} sums within "
                f"{self.key} could be infinite where the result is not. Use register-blocked, tiled or naive."
            )
        row, column, channel = np.argwhere(~np.isfinite(samples))[0].tolist()
        return Refusal(
            f"Row {row}, column {column}, channel {channel} of the picture is "
            f"{samples[row, column, channel]}; {self.key} mixes it with samples and weights that a direct "
            "sum keeps apart, so that it would spread. Use cpu-parallel, tiled or naive, which keep it in "
            "its place."
        )
