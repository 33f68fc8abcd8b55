"""The contract of a variant: frozen data and small functions. No Numba in here.

`plan`, `work` and `unsupported` are pure: they can be tested and shown without a device. `prepare` compiles
and uploads the weights; what it returns launches as often as wanted.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np

from engine.device.launches import DeviceKind, Launch, Pass, Prepared
from engine.geometry.block import Block, Limits
from engine.geometry.refusal import Refusal
from engine.mask.mask import MAX_LINE, Mask
from engine.tasks.filtering.problem import DTYPES, MAX_CHANNELS, Problem
from engine.tasks.work import Work

if TYPE_CHECKING:
    from engine.geometry.tile_plan import TilePlan

P = TypeVar("P")
C = TypeVar("C")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AnyVariant(Generic[P, C]):
    """One way to compute a problem P, compiled with a constant C: the mask of a filter, None for a product.

    Code that depends on what a variant is like reads its traits, never its key.
    """

    task: ClassVar[str]

    key: str  # stable name; goes into files, scripts and results
    title: str  # name for people
    device: DeviceKind
    idea: str  # one or two sentences: who loads what, and what that saves against the variant before
    default_block: Block  # used where no block is chosen
    work: Callable[[P, Block], Work | None]  # the model of work; None where it is not known
    prepare: Callable[[P, C, Block], Prepared]  # compiles for the problem and uploads what is constant
    # The launches, one per pass; empty for CPU variants.
    plan: Callable[[P, Block], tuple[Launch, ...]] = lambda problem, block: ()
    # Why this variant cannot do that, or None. Never another algorithm instead.
    unsupported: Callable[[P, C, Block, Limits], Refusal | None] = lambda problem, constant, block, limits: (
        None
    )
    # The kernels with their arguments, one per launch; empty for CPU variants.
    passes: Callable[[P, C, Block], tuple[Pass, ...]] = lambda problem, constant, block: ()
    uses_block: bool = True  # whether the block changes how the variant runs
    remark: str = ""  # a warning or limit for users; empty where the idea says it all
    # The Python package that does the work; empty where our own code does. Such a variant has no passes.
    library: str = ""
    # Makes the variant in another process, to which it is sent; None where the registry has it.
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Variant(AnyVariant[Problem, Mask]):
    """One way to compute a filtering."""

    task: ClassVar[str] = Problem.task

    work: Callable[[Problem, Block], Work]
    # NaN or infinity in a picture would spread, or become the other: such pictures have to be refused
    # (`refuse_samples`) before anything is computed.
    finite_only: bool = False
    # The largest magnitude of a sample with which nothing within overflows; larger ones are refused as NaN
    # is.
    most_sample: float = float("inf")
    # A picture whose largest magnitude is smaller, and not 0, would lose digits that a direct sum keeps.
    least_sample: float = 0.0
    # What a result may be off beyond the bound of a direct sum (`engine.tasks.filtering.agreement`), as a
    # part of the largest magnitude among the picture's samples and its ghost value. 0: the bound holds
    # whatever the picture.
    added_error: Callable[[Problem, Mask], float] = lambda problem, mask: 0.0
    # Who loads what: the tile of the block at (across, down) of the grid, one per pass; empty where the
    # variant does not say. Called only for what `unsupported` accepts, as `plan` is.
    tiles: "Callable[[Problem, Block, tuple[int, int]], tuple[TilePlan, ...]]" = lambda problem, block, at: ()
    # How often a mask has the inner work done, where its weights decide that and not its size: what `auto`
    # counts with.
    repeats: Callable[[Mask], int] | None = None
    # Whether it also writes results of 8 and 16 bit (`Problem.is_quantised`); `why_not` refuses them for all
    # others, whose `unsupported` need not check it.
    integer_output: bool = False
    # Whether its sums are float64, as a paper's kernel has them; all others sum in float32.
    float64_sums: bool = False
    # Whether it takes 8-bit pictures with 8-bit results and no others, which `why_not` refuses.
    uint8_only: bool = False
    # Whether a result depends on the cells under its mask alone, formed in an order that does not depend on
    # where it lies: then a picture may be filtered in bands, with the very same results. Running sums and
    # transforms are not.
    band_invariant: bool = True
    masks: MaskClass = MaskClass.ANY  # the masks it takes
    rank: int = 0  # columns times rows that such a mask is a sum of; 0 where the rank does not matter
    grows_with: Growth = Growth.CELLS  # what its time grows with
    least_side: int = 1  # rows and columns that a mask must have, each
    # Of the largest mask that it takes. Shared memory or registers may set the limit lower, which
    # `unsupported` says.
    most_rows: int = MAX_LINE
    most_columns: int = MAX_LINE
    most_cells: int = MAX_LINE * MAX_LINE
    picture_types: tuple[str, ...] = DTYPES  # types of samples that it takes
    most_channels: int = MAX_CHANNELS  # channels that a picture may have
    # Whether it computes with rounded parts of the weights: it refuses weights of so few digits that direct
    # sums are exact.
    rounds_weights: bool = False
    # Whether a block covers its input tile, so that a mask needs a block larger than itself; the others'
    # covers the output tile.
    block_covers_input: bool = False

    def added_steps(self, mask: Mask) -> float:
        """Return what a result may be off beyond `added_error`, in steps of 2^-149, for subnormal samples."""
        if not self.rank:
            return 0.0
        # Loaded by the first proof.
        from engine.mask.factors import factor
        from engine.mask.low_rank import low_rank
        from engine.tasks.filtering.agreement import added_steps

        if self.rank == 1:
            factors = factor(mask)
            return added_steps(factors.column[:, np.newaxis], factors.row[np.newaxis])
        products = low_rank(mask, self.rank)
        return added_steps(products.columns, products.rows)

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
                "float32-results-only",
                "Writes float32 results only",
                "It writes float32 results only.",
                f"Choose float32 results, or for {problem.result_dtype} one of: {', '.join(keys)}.",
            )
        if not self._takes_types_of(problem):
            return Refusal(
                "uint8-only",
                "Takes 8-bit pictures with 8-bit results only",
                "It takes 8-bit pictures and gives 8-bit results only, not "
                f"{problem.dtype} with {problem.result_dtype} results.",
                "Choose results of the picture's own type for an 8-bit picture, or use register-blocked.",
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
            if 0.0 < largest < self.least_sample:
                return Refusal(
                    "samples-too-small",
                    f"The picture's samples are at most {largest:.3g}",
                    f"The picture's samples are at most {largest:.3g}; below {self.least_sample:.3g} "
                    f"{self.key} loses digits, because its library takes subnormal numbers for 0.",
                    "Use register-blocked, tiled or cpu-fft, or multiply the picture.",
                )
            if largest <= self.most_sample:
                return None
            return Refusal(
                "samples-too-large",
                f"The picture has samples up to {largest:.3g}",
                f"The picture has samples up to {largest:.3g}; past {self.most_sample:.3g} sums within "
                f"{self.key} could be infinite where the result is not.",
                "Use register-blocked, tiled or naive.",
            )
        row, column, channel = np.argwhere(~np.isfinite(samples))[0].tolist()
        return Refusal(
            "not-finite",
            f"The picture has {samples[row, column, channel]} in row {row}, column {column}",
            f"Row {row}, column {column}, channel {channel} of the picture is "
            f"{samples[row, column, channel]}; {self.key} mixes it with samples and weights that a direct "
            "sum keeps apart, so that it would spread.",
            "Use cpu-parallel, tiled or naive, which keep it where it is.",
        )
