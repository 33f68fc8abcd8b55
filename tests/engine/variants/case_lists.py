"""The cases that every variant must get right.

The same list serves the CPU variants, the CUDA variants in the simulator (a part of the list) and on a real
device.
"""

from dataclasses import replace
from functools import cache, partial
from itertools import cycle, product

from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.geometry.layout import Layout
from tests.engine.variants.cases import Case, by_group

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
            name, border = (
                f"anchor {row},{column} of {rows}x{columns}",
                BORDERS[(row + column) % len(BORDERS)],
            )
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


# Pairs of what may go wrong together, at most 6 blocks each; the real device takes the full list.
_BARRIER_CASES = (
    Case("sim 1x1, mask larger", 1, 1, mask_shape=(3, 5), border=Border.REFLECT),
    Case("sim one row", 1, 9, mask_shape=(3, 3), border=Border.WRAP),
    Case("sim one column", 9, 1, mask_shape=(2, 5), border=Border.REPLICATE, block=Block(2, 4)),
    Case("sim tile - 1", 3, 7, mask_shape=(3, 5), border=Border.ZERO),
    Case("sim tile", 4, 8, mask_shape=(5, 3), border=Border.CONSTANT, cval=4.5),
    Case("sim tile + 1", 5, 9, mask_shape=(3, 3), border=Border.MIRROR),
    Case("sim primes", 7, 11, mask_shape=(5, 5), border=Border.REFLECT),
    Case("sim 15x14 over the picture", 4, 2, mask_shape=(15, 14), border=Border.MIRROR),
    Case("sim ghosts all round", 3, 3, mask_shape=(7, 9), border=Border.CONSTANT, cval=-3.0),
    Case("sim uint8 RGB, exact", 4, 7, 3, "uint8", (3, 3), border=Border.REPLICATE, weights="whole"),
    Case("sim uint16, 2 channels, offset", 5, 6, 2, "uint16", (2, 2), offset=12.75, border=Border.REFLECT),
    Case("sim float32, 4 channels", 2, 5, 4, mask_shape=(1, 4), border=Border.WRAP),
    Case("sim strange, ghosts", 5, 9, pixels="strange", weights="holes", mask_shape=(3, 4),
         border=Border.ZERO),
    Case("sim strange, wrap", 5, 9, pixels="strange", weights="holes", mask_shape=(3, 3), border=Border.WRAP),
    Case("sim subnormal, ones", 5, 9, mask_shape=(5, 5), pixels="subnormal", weights="ones"),
    Case("sim subnormal, wide", 4, 5, mask_shape=(7, 9), pixels="subnormal", weights="ones"),
    Case("sim Fortran", 5, 6, 2, layout="Fortran"),
    Case("sim mirrored uint16", 4, 9, dtype="uint16", layout="mirrored"),
    Case("sim block over picture", 5, 6, mask_shape=(3, 3), block=Block(16, 16), border=Border.MIRROR),
    Case("sim flat block", 3, 9, mask_shape=(3, 2), block=Block(16, 1), border=Border.ZERO),
    Case("sim high block", 9, 3, mask_shape=(4, 3), block=Block(1, 16), border=Border.REFLECT),
    Case("sim packed rows", 5, 7, rows=Layout.PACKED),
    Case("sim 1x127", 2, 9, mask_shape=(1, 127), border=Border.WRAP),
    Case("sim 8 bit RGB, ties", 5, 7, 3, "uint8", (3, 3), weights="halves", offset=64.0, is_quantised=True),
    Case("sim 16 bit, packed", 4, 7, dtype="uint16", mask_shape=(2, 3), rows=Layout.PACKED,
         is_quantised=True),
    Case("sim odd block", 6, 9, mask_shape=(3, 5), block=Block(5, 3), border=Border.CONSTANT, cval=1.5),
)  # fmt: skip


SIDES_IN_SIMULATOR = (1, 2, 3, 4, 5, 7, 8, 11, 15)


def simulator_cases(*, whole, has_barrier):
    """Return what is affordable in the simulator.

    Parameters
    ----------
    whole : bool
        Nearly every case, for the one variant that all others build on.
    has_barrier : bool
        Variants with barriers get the borders with their pairs only.
    """
    if whole:
        small = (
            case
            for case in full_cases()
            if case.height * case.width * case.mask_shape[0] * case.mask_shape[1] <= 6_000
        )
        return tuple(case for case in small if case.block.threads <= 64)
    # One or two small blocks each. Half of the anchors and sides: devices get all of them (`full_cases`).
    groups = by_group(full_cases())
    anchors = tuple(replace(case, height=3, width=5, block=Block(4, 3)) for case in groups["anchor"][::2])
    squares = tuple(
        replace(case, height=3, width=4, block=Block(4, 3))
        for case in groups["mask"]
        if case.mask_shape[0] == case.mask_shape[1] and case.mask_shape[0] in SIDES_IN_SIMULATOR
    )
    return _BARRIER_CASES + anchors + squares + (() if has_barrier else groups["border"])
