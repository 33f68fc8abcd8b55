"""Variants that filter, in teaching order, and their model of work: each a file and a line. No Numba here."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

import numpy as np

from engine.device.launches import DeviceKind, Launch
from engine.geometry.block import FLOAT_BYTES, Block, Limits, Refusal
from engine.mask.mask import MAX_LINE, Mask
from engine.results.problem import Work
from engine.run.variant import Registered, VariantOf, named
from engine.work.filtering.sum_order import SumOrder
from engine.work.problem import DTYPES, Problem


class MaskClass(StrEnum):
    """Which masks a variant takes."""

    ANY = "any mask"
    ONE_ROW = "masks of one row"
    PRODUCTS = "masks that are a sum of columns times rows"
    EQUAL_WEIGHTS = "masks of equal weights"


class Growth(StrEnum):
    """What the time of a variant grows with, as the mask becomes larger."""

    CELLS = "rows × columns"
    SIDES = "rows + columns"
    NOTHING = "hardly at all"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Variant(VariantOf[Problem, Mask]):
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
    # What a result may be off beyond the bound of a direct sum (`engine.work.filtering.oracle`), as a
    # part of the largest magnitude among the picture's samples and its ghost value. 0: the bound holds
    # whatever the picture.
    added_error: Callable[[Problem, Mask], float] = lambda problem, mask: 0.0
    # The largest magnitude among the picture's samples that `added_error` is a part of.
    largest_mixed: Callable[[np.ndarray], float] = lambda samples: max(
        abs(float(samples.max())), abs(float(samples.min()))
    )
    # In which order it adds up a result on the device that it is written for.
    sum_order: Callable[[Problem, Mask], SumOrder] = lambda problem, mask: SumOrder(
        "The kernel does not say in which order it adds."
    )
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
    # Whether it is one of the plain kernels of the course papers, to be read; the others are made for speed.
    is_course_kernel: bool = False
    masks: MaskClass = MaskClass.ANY  # the masks it takes
    rank: int = 0  # columns times rows that such a mask is a sum of; 0 where the rank does not matter
    grows_with: Growth = Growth.CELLS  # what its time grows with
    least_side: int = 1  # rows and columns that a mask must have, each
    # The largest mask that it takes. Shared memory or registers may set the limit lower, which `unsupported`
    # says.
    most_rows: int = MAX_LINE
    most_columns: int = MAX_LINE
    most_cells: int = MAX_LINE * MAX_LINE
    # Whether a block covers its input tile, so that a mask needs a block larger than itself; the others'
    # covers the output tile.
    block_covers_input: bool = False

    @property
    def group(self) -> str:
        """The CPU's, those of the papers, those for speed, and those for masks of one row."""
        if self.device is DeviceKind.CPU:
            return "CPU"
        if self.masks is MaskClass.ONE_ROW:
            return "1-D kernels"
        return "Course kernels" if self.is_course_kernel else "Fast kernels"

    def __reduce__(self) -> tuple[object, ...]:
        """Send a variant, which has functions, as its name."""
        return variant, (self.key,)

    @property
    def facts(self) -> dict[str, object]:
        """Whether it writes 8 and 16 bit, and the masks that it takes."""
        return {"quantises": self.integer_output, "masks": self.masks.value}

    @property
    def picture_types(self) -> tuple[str, ...]:
        """Types of samples that it takes."""
        return ("uint8",) if self.uint8_only else DTYPES

    def added_to(self, problem: Problem, mask: Mask, samples: np.ndarray) -> float:
        """Return what a result of these samples may be off beyond the bound of a direct sum."""
        added = self.added_error(problem, mask)
        if added:
            # Looking for the largest sample takes 10 ms for 12 megapixels.
            added *= max(self.largest_mixed(samples), abs(float(np.float32(problem.ghost_value))))
        if not self.rank:
            return added
        # Loaded by the first proof.
        from engine.work.filtering.oracle import added_by_products

        return added + added_by_products(mask, self.rank)

    def halos(self, problem: Problem, launches: Sequence[Launch]) -> tuple[float | None, ...]:
        """Return, for each launch, the cells under the mask of a block's results over these."""
        rows, columns = problem.mask_shape
        # Of two passes the first goes along the rows, the second along the columns.
        masks = ((rows, columns),) if len(launches) == 1 else ((1, columns), (rows, 1))
        cells: list[float | None] = []
        for launch, (rows, columns) in zip(launches, masks, strict=False):
            # Channels are samples side by side where no block has one of them alone.
            apart, tile = problem.channels if launch.grid[2] == 1 else 1, launch.tile
            if tile is None:
                cells.append(None)
            else:
                cells.append((tile.y + rows - 1) * (tile.x + (columns - 1) * apart) / tile.threads)
        return tuple(cells)

    def repeats_of(self, mask: Mask) -> int:
        """Return how often a mask has the inner work done."""
        return 1 if self.repeats is None else self.repeats(mask)

    def why_not(
        self, problem: Problem, constant: Mask, block: Block, limits: Limits, known: Iterable["Variant"] = ()
    ) -> Refusal | None:
        """Return why the variant cannot do that, or None: the rules for all variants, then its own."""
        if problem.is_quantised and not self.integer_output:
            able = (one for one in known if one.integer_output and one.device is self.device)
            keys = ", ".join(one.key for one in able if one._takes_types_of(problem))
            short = "Writes float32 results only"
            remedy = f"Choose float32 results, or for {problem.result_dtype} one of: {keys}."
            return Refusal("float32-results-only", short, "It writes float32 results only.", remedy)
        if not self._takes_types_of(problem):
            types = f"{problem.dtype} with {problem.result_dtype} results"
            detail = f"It takes 8-bit pictures and gives 8-bit results only, not {types}."
            remedy = "Choose results of the picture's own type for an 8-bit picture, or use register-blocked."
            return Refusal("uint8-only", "Takes 8-bit pictures with 8-bit results only", detail, remedy)
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
                short = f"The picture's samples are at most {largest:.3g}"
                loses = "loses digits, because its library takes subnormal numbers for 0"
                detail = f"{short}; below {self.least_sample:.3g} {self.key} {loses}."
                remedy = "Use register-blocked, tiled or cpu-fft, or multiply the picture."
                return Refusal("samples-too-small", short, detail, remedy)
            if largest <= self.most_sample:
                return None
            short = f"The picture has samples up to {largest:.3g}"
            sums = f"sums within {self.key} could be infinite where the result is not"
            detail = f"{short}; past {self.most_sample:.3g} {sums}."
            return Refusal("samples-too-large", short, detail, "Use register-blocked, tiled or naive.")
        row, column, channel = np.argwhere(~np.isfinite(samples))[0].tolist()
        sample = samples[row, column, channel]
        short = f"The picture has {sample} in row {row}, column {column}"
        mixed = (
            f"Row {row}, column {column}, channel {channel} of the picture is {sample}; {self.key} mixes it"
        )
        detail = f"{mixed} with samples and weights that a direct sum keeps apart, so that it would spread."
        remedy = "Use cpu-parallel, tiled or naive, which keep it where it is."
        return Refusal("not-finite", short, detail, remedy)


VARIANTS = Registered[Variant](
    cpu=(
        "cpu.serial",
        "cpu.serial:SEPARABLE",
        "cpu.parallel",
        "cpu.parallel:SEPARABLE",
        "cpu.box",
        "fast.fft:CPU_FFT",
    ),
    cuda=(
        "ladder.naive",
        "ladder.naive:UNCOALESCED",
        "ladder.naive:CONSTANT",
        "ladder.tiled:INPUT",
        "ladder.tiled",
        "ladder.cached",
        "ladder.cached:CONSTANT",
        "ladder.separable:L0",
        "ladder.separable:L1",
        "ladder.separable:L2",
        "ladder.implicit_gemm",
        "fast.register_blocked",
        "fast.digit_sums",
        "fast.fused:SEPARABLE",
        "fast.fused:LOW_RANK_2",
        "fast.fused:LOW_RANK_3",
        "fast.fused:BOX",
        "fast.fft:FFT",
        "ladder.naive:ROW",
        "ladder.naive:ROW_CONSTANT",
        "ladder.tiled:ROW",
        "ladder.cached:ROW",
        "ladder.tiled:ROW_CONSTANT",
        "ladder.cached:ROW_CONSTANT",
    ),
    gone={"split-float16": "register-blocked"},
)
"""The variants that filter."""


def variant(key: str, *, takes_auto: bool = True) -> Variant:
    """Return the variant of a filter of that key; UnknownName names all, "auto" too where `takes_auto`."""
    return named(key, VARIANTS, ("auto",) if takes_auto else (), "no variant is called that")


def filter_work(
    problem: Problem,
    *,
    picture_loads: int,
    weight_loads: int = 0,
    scratch_loads: int = 0,
    scratch_stores: int = 0,
    shared_loads: int = 0,
    shared_stores: int = 0,
    constant_loads: int = 0,
    multiply_adds: int | None = None,
    masks: int = 1,
) -> Work:
    """Return the work of filtering a picture once, with one mask or with several.

    `picture_loads` are cells of the picture that are read, where ghost cells cost no load, `weight_loads`
    weights that are read from global memory, `scratch_loads` and `scratch_stores` float32 values between two
    passes there. By default there is a multiply-add for each mask cell of each result. Of the `masks` that
    are applied at once each makes a result of the picture's shape.
    """
    results = problem.samples * masks
    return Work(
        flops=2 * (problem.multiply_adds * masks if multiply_adds is None else multiply_adds),
        global_loads=picture_loads + weight_loads + scratch_loads,
        global_stores=results + scratch_stores,
        global_load_bytes=picture_loads * problem.itemsize + (weight_loads + scratch_loads) * FLOAT_BYTES,
        global_store_bytes=results * problem.result_itemsize + scratch_stores * FLOAT_BYTES,
        minimum_bytes=problem.samples * problem.itemsize + results * problem.result_itemsize,
        picture_loads=picture_loads,
        shared_loads=shared_loads,
        shared_stores=shared_stores,
        constant_loads=constant_loads,
    )


def cells_inside(first: int, last: int, length: int) -> int:
    """Return how many of the indices first .. last - 1 lie in 0 .. length - 1."""
    return max(0, min(last, length) - max(first, 0))


def taps_inside(length: int, mask_side: int, anchor: int) -> int:
    """Return how many (result, tap) pairs along one axis read a cell of the picture, not a ghost cell."""
    return sum(cells_inside(tap - anchor, tap - anchor + length, length) for tap in range(mask_side))


def loads_by_taps(problem: Problem) -> int:
    """Return the input cells that are read when each tap of each result reads its own."""
    if not problem.border.has_ghost_cells:
        return problem.multiply_adds
    sides = zip((problem.height, problem.width), problem.mask_shape, problem.anchor, strict=True)
    return problem.channels * math.prod(taps_inside(*along) for along in sides)


def tile_cells_inside(length: int, side: int, mask_side: int, anchor: int, ghost_cells: bool) -> int:
    """Return the cells along one axis that all blocks load for input tiles of side + mask_side - 1 cells.

    Ghost cells are not loaded; borders without ghost cells load every cell of the tile from somewhere.
    """
    tile = side + mask_side - 1
    starts = range(0, length, side)
    if not ghost_cells:
        return len(starts) * tile
    return sum(cells_inside(start - anchor, start - anchor + tile, length) for start in starts)


def taps_in_own_tile(length: int, side: int, mask_side: int, anchor: int) -> int:
    """Return how many (result, tap) pairs along one axis find their cell in the block's own tile."""
    whole_tiles, rest = divmod(length, side)
    return whole_tiles * taps_inside(side, mask_side, anchor) + taps_inside(rest, mask_side, anchor)
