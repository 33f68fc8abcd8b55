"""The cases that every variant must get right.

The same list serves the CPU variants, the CUDA variants in the simulator (a part of the list) and on a real
device. A case becomes what a variant can take, by the traits that it declares. What remains impossible (a
tile that fits no shared memory) is left out by name of its refusal, never by trying.
"""

from dataclasses import replace
from functools import cache, partial
from itertools import cycle, product

import numpy as np
from msgspec import structs

from engine.geometry.block import Block, Layout, Limits
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.work.filter_task import describe_problem
from engine.work.filtering.variants import VARIANTS, MaskClass
from tests.engine.variants.cases import Case
from tests.pairwise import pairwise

BORDERS = tuple(Border)


def _sizes(text):
    """Return the pairs of numbers in a text such as "3x5 1x17"."""
    return [(int(first), int(second)) for first, second in (size.split("x") for size in text.split())]


def _cases():
    """Yield every case, group by group; names begin with the group's."""
    for dtype, channels in (("uint8", 3), ("uint16", 1), ("float32", 1), ("float32", 3)):
        yield Case(f"packed rows, {dtype} × {channels}", 5, 7, channels, dtype, rows=Layout.PACKED)
    # One pixel, one row, one column, primes, and one less and one more than whole blocks of 8 x 4.
    sizes = _sizes("1x1 1x17 19x1 3x7 4x8 5x9 7x16 8x15 9x17 13x11 31x29 2x33")
    for (rows, columns), border in zip(sizes, cycle(BORDERS), strict=False):
        yield Case(f"shape {rows}x{columns}", rows, columns, border=border, cval=3.5, mask_shape=(3, 5))
    masks = [(side, side) for side in range(1, 16)]
    masks += _sizes("1x15 15x1 2x5 4x3 6x2 3x7 63x1 1x63 63x63 127x1 1x127")
    for shape, border in zip(masks, cycle(BORDERS), strict=False):
        yield Case(f"mask {shape[0]}x{shape[1]}", border=border, cval=-2.25, mask_shape=shape)
    # Every border: a mask that fits, and one that is much larger than the picture.
    rgb = partial(Case, height=6, width=5, channels=3, dtype="uint8", mask_shape=(3, 6), anchor=(2, 5))
    for border in BORDERS:
        yield Case(f"border {border}, 5x5", border=border, cval=7.5, mask_shape=(5, 5))
        yield Case(f"border {border}, mask over picture", 3, 2, border=border, cval=7.5, mask_shape=(9, 7))
        yield Case(f"border {border}, one pixel", 1, 1, border=border, cval=7.5, mask_shape=(4, 5))
        yield rgb(f"border {border}, RGB", border=border, cval=200, weights="whole")
    for rows, columns in ((2, 2), (3, 4)):
        for row, column in product(range(rows), range(columns)):
            name, border = f"anchor {row},{column} of {rows}x{columns}", BORDERS[(row + column) % 6]
            yield Case(name, 6, 7, mask_shape=(rows, columns), anchor=(row, column), border=border, cval=50.0)
    for dtype, channels in product(("uint8", "uint16", "float32"), (1, 2, 3, 4)):
        weights = "whole" if dtype == "uint8" else "even"
        yield Case(f"{dtype} × {channels}", 7, 10, channels, dtype, weights=weights)
    yield Case("exact sixteenths", dtype="uint8", weights="sixteenths", offset=0.5, mask_shape=(5, 5))
    yield Case("exact, whole offset", dtype="uint16", weights="whole", offset=-17.0)
    yield Case("offset on bright 16 bits", dtype="uint16", offset=-1234.56, mask_shape=(7, 7))
    yield Case("offset alone", channels=3, offset=0.1, weights="holes", mask_shape=(1, 1))
    yield Case("whole numbers in float32", pixels="whole", weights="whole", mask_shape=(5, 3))
    yield from _SUBNORMAL
    yield from _QUANTISED
    strange = partial(Case, height=8, width=9, pixels="strange", weights="holes")
    for border in BORDERS:
        yield strange(f"NaN and infinity, {border}", mask_shape=(3, 4), border=border)
    yield strange("NaN and infinity, colour", channels=3, mask_shape=(5, 5))
    for layout in ("Fortran", "mirrored", "every second", "big-endian", "read-only"):
        for dtype in ("float32", "uint16"):
            yield Case(f"layout {layout}, {dtype}", 6, 9, 2, dtype, layout=layout)
    blocks = _sizes("1x1 4x8 7x3 16x16 32x8 33x3 64x2 32x32 1024x1 1x1024 5x1 1x7")
    of = partial(Case, height=20, width=30, channels=2, mask_shape=(5, 4), cval=9.0)
    for (x, y), border in zip(blocks, cycle(BORDERS), strict=False):
        yield of(f"block {x}x{y}", border=border, block=Block(x, y))


# Two passes round at the spacing of subnormal numbers between them, and then multiply by the column.
subnormal = partial(Case, height=14, width=15, pixels="subnormal", weights="ones")
_SUBNORMAL = (
    *(subnormal(f"subnormal, ones {side}x{side}", mask_shape=(side, side)) for side in (3, 5, 7, 9, 13)),
    subnormal("subnormal, ones 11x4", mask_shape=(11, 4), border=Border.CONSTANT, cval=3e-44, offset=1e-41),
    subnormal("subnormal, whole 5x7", mask_shape=(5, 7), weights="whole", border=Border.WRAP),
    subnormal("subnormal, even 6x5", mask_shape=(6, 5), weights="even", border=Border.ZERO),
)

# Ties (halves) and both ends in 8 and 16 bit, sums that round, odd and padded rows.
whole = partial(Case, is_quantised=True, weights="halves")
_QUANTISED = (
    whole("8 bit, ties", dtype="uint8", offset=100.0),
    whole("8 bit RGB, ties", 6, 7, 3, "uint8", (3, 5), border=Border.ZERO, offset=128.5),
    whole("16 bit, ties, 2 channels", 5, 9, 2, "uint16", (4, 3), border=Border.REFLECT),
    whole("16 bit RGBA, packed", 4, 7, 4, "uint16", (2, 2), border=Border.WRAP, rows=Layout.PACKED),
    whole("8 bit, rounded sums", 13, 37, dtype="uint8", mask_shape=(5, 5), weights="even", offset=99.9),
    whole("8 bit, constant", 3, 5, 3, "uint8", (7, 7), border=Border.CONSTANT, cval=300.5),
    whole("16 bit, replicate", 9, 8, 1, "uint16", (1, 9), border=Border.REPLICATE, weights="even"),
    whole("8 bit, one pixel", 1, 1, dtype="uint8", mask_shape=(3, 3), border=Border.MIRROR),
    # So large that some tiles of a kernel touch no edge.
    whole("8 bit, many tiles", 80, 800, dtype="uint8", mask_shape=(5, 5), border=Border.CONSTANT, cval=9.0),
    whole("8 bit RGB, many tiles", 99, 400, 3, "uint8", (5, 5), border=Border.WRAP, rows=Layout.PACKED),
    whole("8 bit RGBA, many tiles", 50, 403, 4, "uint8", (3, 3), border=Border.ZERO, weights="even"),
)


@cache
def full_cases():
    """Return every case."""
    return tuple(_cases())


# What a kernel in the simulator is tried with: small pictures of a few blocks.
SAMPLES = {
    "float32": {},
    "NaN and infinity": {"pixels": "strange", "weights": "holes"},
    "subnormal": {"pixels": "subnormal", "weights": "ones"},
    "uint8": {"dtype": "uint8", "weights": "whole"},
    "8 bit": {"dtype": "uint8", "weights": "halves", "offset": 64.0, "is_quantised": True},
    "uint16": {"dtype": "uint16", "offset": 12.75},
    "16 bit": {"dtype": "uint16", "weights": "halves", "is_quantised": True},
}
STRANGE = ("NaN and infinity", "subnormal")
# A compilation takes as long as 20 small pictures: no axis has more than 6 values, so that the kernels of a
# module have 6 or 7 rows together.
AXES = {
    "border": BORDERS,
    "samples": tuple(name for name in SAMPLES if name not in STRANGE),
    # One pixel, one row, one column, less than, as much as and more than whole blocks.
    "size": _sizes("1x1 1x9 9x1 3x7 4x8 7x11"),
    "channels": (1, 2, 3, 4),
    "mask": _sizes("1x4 2x2 3x3 5x3 7x9 15x14"),
    "anchor": ("in the middle", "first", "last"),
    "block": tuple(Block(x, y) for x, y in _sizes("8x4 16x16 16x1 1x16 5x3")),
    "rows": tuple(Layout),
}
# One border of each sort: a value, a cell of the picture nearby, one at the other end. With these a kernel
# with blocks of its own also computes pictures so large that some tiles touch no edge, and rows take several
# steps.
SORTS = (Border.CONSTANT, Border.MIRROR, Border.WRAP)
LARGE_SIZES = _sizes("70x403 99x400")
MOST_TAPS_OF_LARGE = 15


def simulator_case(border, samples, size, channels, mask, anchor, block, rows):
    """Return the case of one value of each axis."""
    rows_of_mask, columns = mask
    at = {"in the middle": None, "first": (0, 0), "last": (rows_of_mask - 1, columns - 1)}[anchor]
    name = f"{border}, {samples}, {size} x {channels}, mask {mask}, anchor {anchor}, block {block}, {rows}"
    how = {"border": border, "cval": 4.5, "anchor": at, "block": block, "rows": rows, "mask_shape": mask}
    return Case(name, *size, channels, **how, **SAMPLES[samples])


LIMITS = Limits()


def typed(variant, problem):
    """Return the problem with samples and results of types, and channels, that the variant takes."""
    dtype = problem.dtype if problem.dtype in variant.picture_types else variant.picture_types[0]
    result = "uint8" if variant.uint8_only else problem.result_dtype
    return structs.replace(problem, dtype=dtype, result_dtype=result)


def suited(variant, case):
    """Return the case as the variant can take it; None where it takes no such mask."""
    if variant.uint8_only:
        # Ghost cells are bytes too.
        cval = float(round(abs(case.cval)) % 256)
        case = replace(case, dtype="uint8", pixels="even", cval=cval, is_quantised=True)
    if case.dtype not in variant.picture_types:
        case = replace(case, dtype=variant.picture_types[0])
    if case.mask_shape[0] * case.mask_shape[1] > variant.most_cells:
        return None
    case = replace(case, mask_shape=_at_least(variant, *case.mask_shape))
    if variant.rank > 1:
        case = replace(case, weights="even")
    if variant.masks is MaskClass.PRODUCTS:
        case = replace(case, weights=f"rank {variant.rank} {case.weights}")
    if variant.masks is MaskClass.EQUAL_WEIGHTS:
        case = replace(case, weights=f"equal {case.weights}")
    if variant.finite_only and case.pixels == "strange":
        return None
    if variant.least_sample and case.pixels == "subnormal":
        return None
    if case.is_quantised and not variant.integer_output:
        return None
    if variant.masks is MaskClass.ONE_ROW:
        rows, columns = case.mask_shape
        taps = max(rows, columns) if min(rows, columns) == 1 else columns
        anchor = None if case.anchor is None else (0, case.anchor[1])
        case = replace(case, mask_shape=(1, taps), anchor=anchor)
    if variant.block_covers_input:
        # Made so much larger, its output tile is what the case calls the block.
        rows, columns = case.mask_shape
        case = replace(case, block=Block(case.block.x + columns - 1, case.block.y + rows - 1))
    if case.mask_shape[0] > variant.most_rows or case.mask_shape[1] > variant.most_columns:
        return None
    refusal = variant.unsupported(case.problem(), case.mask(), case.block, LIMITS)
    if refusal is None:
        return case
    assert any(word in str(refusal) for word in ("block", "shared memory", "registers")), str(refusal)
    return None if refusal.nearest_block is None else replace(case, block=refusal.nearest_block)


def suited_cases(variant, cases):
    """Return the cases as the variant can take them: fewer where most of them become the same sort.

    Sums of three products have the code of those of two, and one more product.
    """
    cases = cases[:: 4 if variant.rank > 2 else 1]
    return tuple(found for case in cases if (found := suited(variant, case)) is not None)


@cache
def families():
    """Return the variants of each module, which share most of their source; none of CuPy."""
    modules = [name.partition(":")[0] for names in VARIANTS.modules.values() for name in names]
    found = {}
    for module, known in zip(modules, VARIANTS, strict=True):
        if known.library != "cupy":
            found.setdefault(module, []).append(known)
    return tuple(found.values())


def one_case(known, **changed):
    """Return the case of a kernel whose code tests of several packages look at.

    Code depends on the mask's shape, the border, the block and the types; what is `changed` may be the rest.
    Each kernel has one block and one border, the next one of its module the others.
    """
    (family,) = (family for family in families() if known in family)
    is_odd = family.index(known) % 2
    block, border = (Block(2, 5), Border.WRAP) if is_odd else (Block(4, 3), Border.CONSTANT)
    case = Case("one", 7, 10, mask_shape=(3, 4), anchor=(0, 3), block=block, border=border, cval=4.5)
    return suited(known, replace(case, **changed))


def has_value(border):
    """Return whether ghost cells have a value that no cell of the picture has."""
    return border in (Border.ZERO, Border.CONSTANT)


def _is_large(known, border):
    """Return whether a kernel also computes a large picture for a row of that border."""
    return not known.uses_block and border in SORTS


@cache
def _rows():
    """Return the rows of each kernel: in those of a module each two values of the axes meet."""

    def takers(row):
        rows, columns = row["mask"]
        if _is_large(row["family"][0], row["border"]) and rows * columns > MOST_TAPS_OF_LARGE:
            return []
        return [known for known in row["family"] if suited(known, _case_of(row)) is not None]

    def need(known, border):
        return len(found[known]), has_value(one_case(known).border) == has_value(border)

    kernels = [family for family in families() if family[0].has_kernels]
    found = {known: [] for family in kernels for known in family}
    for row in pairwise({"family": kernels, **AXES}, takers, few_rows_of="family"):
        # Who has the fewest, and a border of the other sort in `one_case`.
        found[min(takers(row), key=lambda known: need(known, row["border"]))].append(row)
    return found


def _case_of(row, **others):
    return simulator_case(**{name: value for name, value in row.items() if name != "family"} | others)


def cases_in_simulator(known):
    """Return the cases of a kernel; all of a module have together each two values of what cases differ in.

    Further ones, of other data, have the code of one of these.
    """
    rows = _rows()[known]
    cases = [_case_of(row) for row in rows]
    large = enumerate(row for row in rows if _is_large(known, row["border"]))
    cases += [_case_of(row, size=LARGE_SIZES[number % 2]) for number, row in large]
    # Of bytes alone none is strange.
    strange = () if known.uint8_only else STRANGE
    one = (one_case(known, height=5, width=9, **SAMPLES[samples]) for samples in strange)
    found = (one_case(known), *one, *(suited(known, case) for case in cases))
    return tuple(case for case in found if case is not None)


def compiled_anyhow(known):
    """Return small cases, each with the type of results, whose code `test_variants` runs too."""
    cases = (one for one in cases_in_simulator(known) if one.pixels == "even" and one.height < 20)
    return [(case, case.dtype if case.is_quantised else "float32") for case in cases]


def matrix_in_simulator(variant):
    """Return the cases of each border, type and mask that a kernel takes."""
    fixed = {"size": (7, 11), "channels": 3, "anchor": "last", "block": Block(5, 3), "rows": Layout.PITCHED}
    rows = product(BORDERS, SAMPLES, AXES["mask"])
    cases = (simulator_case(border, samples, mask=mask, **fixed) for border, samples, mask in rows)
    return tuple(found for case in cases if (found := suited(variant, case)) is not None)


def mask_for(variant, rows, columns):
    """Return a mask of that shape that the variant takes, or a larger one where that is too small for it."""
    if variant.masks is MaskClass.ONE_ROW:
        return Mask(np.ones((1, columns)))
    if variant.rank > 1:
        weights = f"rank {variant.rank} even" if variant.rank else "even"
        return Case("mask", mask_shape=_at_least(variant, rows, columns), weights=weights).mask()
    return Mask(np.ones((rows, columns)))


def _at_least(variant, rows, columns):
    return max(rows, variant.least_side), max(columns, variant.least_side)


def block_for(variant, mask, block):
    """Return the block, or the nearest one that the variant can use with the mask."""
    problem = typed(variant, describe_problem(np.zeros((9, 9, 1), np.float32), mask, "zero", 0.0))
    refusal = variant.unsupported(problem, mask, block, LIMITS)
    if refusal is None:
        return block
    assert refusal.nearest_block is not None, str(refusal)
    return refusal.nearest_block
