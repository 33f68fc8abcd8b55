"""The cases that every variant must get right.

The same list serves the CPU variants in the test's own process, the CUDA variants in the simulator (a part of the list:
a block with a barrier costs it 30 ms) and on a real device.
"""

from dataclasses import replace
from functools import cache, partial

from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.geometry.layout import Layout
from tests.engine.variants.cases import Case

BORDERS = tuple(Border)


def _shapes() -> list[Case]:
    """One pixel, one row, one column, primes, and one less and one more than whole blocks of 8 x 4."""
    shapes = [
        (1, 1),
        (1, 17),
        (19, 1),
        (3, 7),
        (4, 8),
        (5, 9),
        (7, 16),
        (8, 15),
        (9, 17),
        (13, 11),
        (31, 29),
        (2, 33),
    ]
    return [
        Case(
            f"shape {height}x{width}",
            height,
            width,
            border=BORDERS[i % len(BORDERS)],
            cval=3.5,
            mask_shape=(3, 5),
        )
        for i, (height, width) in enumerate(shapes)
    ]


def _masks() -> list[Case]:
    squares = [(side, side) for side in range(1, 16)]
    others = [
        (1, 15),
        (15, 1),
        (2, 5),
        (4, 3),
        (6, 2),
        (3, 7),
        (63, 1),
        (1, 63),
        (63, 63),
        (127, 1),
        (1, 127),
    ]
    return [
        Case(
            f"mask {rows}x{columns}", border=BORDERS[i % len(BORDERS)], cval=-2.25, mask_shape=(rows, columns)
        )
        for i, (rows, columns) in enumerate(squares + others)
    ]


def _borders() -> list[Case]:
    """Every border: a mask that fits, and one that is much larger than the picture."""
    cases = []
    for border in BORDERS:
        cases.append(Case(f"border {border}, 5x5", border=border, cval=7.5, mask_shape=(5, 5)))
        cases.append(
            Case(f"border {border}, mask over picture", 3, 2, border=border, cval=7.5, mask_shape=(9, 7))
        )
        cases.append(Case(f"border {border}, one pixel", 1, 1, border=border, cval=7.5, mask_shape=(4, 5)))
        cases.append(
            Case(
                f"border {border}, RGB",
                6,
                5,
                3,
                "uint8",
                (3, 6),
                (2, 5),
                border=border,
                cval=200,
                weights="whole",
            )
        )
    return cases


def _anchors() -> list[Case]:
    return [
        Case(f"anchor {row},{column} of {rows}x{columns}", 6, 7, mask_shape=(rows, columns), anchor=(row, column),
             border=BORDERS[(row + column) % len(BORDERS)], cval=50.0)
        for rows, columns in ((2, 2), (3, 4))
        for row in range(rows)
        for column in range(columns)
    ]  # fmt: skip


def _samples() -> list[Case]:
    cases = []
    for dtype in ("uint8", "uint16", "float32"):
        for channels in (1, 2, 3, 4):
            weights = "whole" if dtype == "uint8" else "even"
            cases.append(Case(f"{dtype} x {channels}", 7, 10, channels, dtype, (3, 3), weights=weights))
    cases += [
        Case("exact sixteenths", dtype="uint8", weights="sixteenths", offset=0.5, mask_shape=(5, 5)),
        Case("exact, whole offset", dtype="uint16", weights="whole", offset=-17.0),
        Case("offset on bright 16 bits", dtype="uint16", offset=-1234.56, mask_shape=(7, 7)),
        Case("offset alone", channels=3, offset=0.1, weights="holes", mask_shape=(1, 1)),
        Case("whole numbers in float32", pixels="whole", weights="whole", mask_shape=(5, 3)),
    ]
    return cases


def _quantised() -> list[Case]:
    """Ties (halves) and both ends in 8 and 16 bit, sums that round, odd and padded rows."""
    whole = partial(Case, is_quantised=True, weights="halves")
    return [
        whole("8 bit, ties", dtype="uint8", offset=100.0),
        whole("8 bit RGB, ties", 6, 7, 3, "uint8", (3, 5), border=Border.ZERO, offset=128.5),
        whole("16 bit, ties, 2 channels", 5, 9, 2, "uint16", (4, 3), border=Border.REFLECT),
        whole("16 bit RGBA, packed", 4, 7, 4, "uint16", (2, 2), border=Border.WRAP, rows=Layout.PACKED),
        whole("8 bit, rounded sums", 13, 37, dtype="uint8", mask_shape=(5, 5), weights="even", offset=99.9),
        whole("8 bit, constant", 3, 5, 3, "uint8", (7, 7), border=Border.CONSTANT, cval=300.5),
        whole("16 bit, replicate", 9, 8, 1, "uint16", (1, 9), border=Border.REPLICATE, weights="even"),
        whole("8 bit, one pixel", 1, 1, dtype="uint8", mask_shape=(3, 3), border=Border.MIRROR),
        # So large that some tiles of a kernel touch no edge.
        whole(
            "8 bit, many tiles", 80, 800, dtype="uint8", mask_shape=(5, 5), border=Border.CONSTANT, cval=9.0
        ),
        whole("8 bit RGB, many tiles", 99, 400, 3, "uint8", (5, 5), border=Border.WRAP, rows=Layout.PACKED),
        whole("8 bit RGBA, many tiles", 50, 403, 4, "uint8", (3, 3), border=Border.ZERO, weights="even"),
    ]


def _strange() -> list[Case]:
    return [
        Case(
            f"NaN and infinity, {border}",
            8,
            9,
            pixels="strange",
            weights="holes",
            mask_shape=(3, 4),
            border=border,
        )
        for border in BORDERS
    ] + [Case("NaN and infinity, colour", 8, 9, 3, pixels="strange", weights="holes", mask_shape=(5, 5))]


def _layouts() -> list[Case]:
    layouts = ("Fortran", "mirrored", "every second", "big-endian", "read-only")
    return [Case(f"layout {layout}, {dtype}", 6, 9, 2, dtype, layout=layout) for layout in layouts for dtype in ("float32", "uint16")]  # fmt: skip


def _blocks() -> list[Case]:
    blocks = [
        (1, 1),
        (4, 8),
        (7, 3),
        (16, 16),
        (32, 8),
        (33, 3),
        (64, 2),
        (32, 32),
        (1024, 1),
        (1, 1024),
        (5, 1),
        (1, 7),
    ]
    return [
        Case(
            f"block {x}x{y}",
            20,
            30,
            2,
            mask_shape=(5, 4),
            border=BORDERS[i % len(BORDERS)],
            cval=9.0,
            block=Block(x, y),
        )
        for i, (x, y) in enumerate(blocks)
    ]


@cache
def full_cases() -> tuple[Case, ...]:
    """Return every case."""
    packed = [
        Case(f"packed rows, {dtype} x {channels}", 5, 7, channels, dtype, rows=Layout.PACKED)
        for dtype, channels in (("uint8", 3), ("uint16", 1), ("float32", 1), ("float32", 3))
    ]
    return tuple(
        packed
        + _shapes()
        + _masks()
        + _borders()
        + _anchors()
        + _samples()
        + _quantised()
        + _strange()
        + _layouts()
        + _blocks()
    )


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
    Case("sim strange, ghosts", 5, 9, pixels="strange", weights="holes", mask_shape=(3, 4), border=Border.ZERO),
    Case("sim strange, wrap", 5, 9, pixels="strange", weights="holes", mask_shape=(3, 3), border=Border.WRAP),
    Case("sim Fortran", 5, 6, 2, layout="Fortran"),
    Case("sim mirrored uint16", 4, 9, dtype="uint16", layout="mirrored"),
    Case("sim block over picture", 5, 6, mask_shape=(3, 3), block=Block(16, 16), border=Border.MIRROR),
    Case("sim flat block", 3, 9, mask_shape=(3, 2), block=Block(16, 1), border=Border.ZERO),
    Case("sim high block", 9, 3, mask_shape=(4, 3), block=Block(1, 16), border=Border.REFLECT),
    Case("sim packed rows", 5, 7, rows=Layout.PACKED),
    Case("sim 1x127", 2, 9, mask_shape=(1, 127), border=Border.WRAP),
    Case("sim 8 bit RGB, ties", 5, 7, 3, "uint8", (3, 3), weights="halves", offset=64.0, is_quantised=True),
    Case("sim 16 bit, packed", 4, 7, dtype="uint16", mask_shape=(2, 3), rows=Layout.PACKED, is_quantised=True),
    Case("sim odd block", 6, 9, mask_shape=(3, 5), block=Block(5, 3), border=Border.CONSTANT, cval=1.5),
)  # fmt: skip


SIDES_IN_SIMULATOR = (1, 2, 3, 4, 5, 7, 8, 11, 15)


def simulator_cases(*, whole: bool, has_barrier: bool) -> tuple[Case, ...]:
    """Return what is affordable in the simulator.

    Parameters
    ----------
    whole : bool
        Nearly every case, for the one variant that all others build on (the others cost 13 to 26 s each).
    has_barrier : bool
        A block with a barrier costs the simulator 30 ms: those variants get the borders with their pairs only.
    """
    if whole:
        small = (
            case
            for case in full_cases()
            if case.height * case.width * case.mask_shape[0] * case.mask_shape[1] <= 6_000
        )
        return tuple(case for case in small if case.block.threads <= 64)
    # One or two small blocks each. Half of the anchors and sides: devices get all of them (`full_cases`).
    anchors = tuple(replace(case, height=3, width=5, block=Block(4, 3)) for case in _anchors()[::2])
    squares = tuple(
        replace(case, height=3, width=4, block=Block(4, 3))
        for case in _masks()
        if case.mask_shape[0] == case.mask_shape[1] and case.mask_shape[0] in SIDES_IN_SIMULATOR
    )
    borders = () if has_barrier else tuple(_borders())
    return _BARRIER_CASES + anchors + squares + borders
