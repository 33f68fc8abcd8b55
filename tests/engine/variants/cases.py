"""The cases that every variant must get right, and the one check of a variant on a case.

The same list and the same check serve the CPU variants in the test's own process, the CUDA variants in the
simulator (a part of the list: a block with a barrier costs it 30 ms) and on a real device.
"""

from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np

from engine import reference
from engine.block import Block
from engine.border import Border
from engine.device.devices import backend
from engine.layout import Layout
from engine.mask.mask import Mask
from engine.metrics.agreement import is_exact_class, largest_magnitude, rounding_bound, verify
from engine.problem import Problem
from engine.timing.poisoning import run_on_poison
from engine.timing.request import as_samples, describe_problem
from engine.variants.contract import Variant

SMALL_BLOCK = Block(8, 4)


@dataclass(frozen=True)
class Case:
    """One filtering: picture, mask, border, block; pixels and weights follow from the name.

    Parameters
    ----------
    name : str
    height, width, channels : int
    dtype : str
    mask_shape : (int, int)
    anchor : (int, int), optional
    border : Border
    cval, offset : float
    block : Block
        Of CUDA variants.
    pixels : str
        "even" (random), "strange" (NaN and infinity among them) or "whole" (integers in a float32 picture).
    weights : str
        "even" (random, both signs), "whole" (integers), "halves", "sixteenths" or "holes" (many zeros); after "rank 1 " of
        a mask that is a column times a row, after "rank 2 " and "rank 3 " of a sum of so many; after "equal " one such
        number in every cell.
    layout : str
        Of the caller's array: "C", "Fortran", "mirrored", "every second", "big-endian" or "read-only".
    rows : Layout
        Of the rows on a CUDA device.
    is_quantised : bool
        Whether the result has the picture's own type, of 8 or 16 bit.
    """

    name: str
    height: int = 9
    width: int = 11
    channels: int = 1
    dtype: str = "float32"
    mask_shape: tuple[int, int] = (3, 3)
    anchor: tuple[int, int] | None = None
    border: Border = Border.MIRROR
    cval: float = 0.0
    offset: float = 0.0
    block: Block = SMALL_BLOCK
    pixels: str = "even"
    weights: str = "even"
    layout: str = "C"
    rows: Layout = Layout.PITCHED
    is_quantised: bool = False

    def _random(self) -> np.random.Generator:
        return np.random.default_rng([ord(letter) for letter in self.name])

    def picture(self) -> np.ndarray:
        """Return the picture as a caller might pass it."""
        random, shape = self._random(), (self.height, self.width, self.channels)
        if self.dtype != "float32":
            image = random.integers(0, np.iinfo(self.dtype).max, shape, self.dtype, endpoint=True)
        elif self.pixels == "whole":
            image = random.integers(0, 256, shape).astype(np.float32)
        else:
            image = random.standard_normal(shape, np.float32) * np.float32(100)
        if self.pixels == "strange":
            flat = image.reshape(-1)
            strange = random.permutation(flat.size)[:3]
            flat[strange] = [np.nan, np.inf, -np.inf][: strange.size]
        if self.layout == "Fortran":
            return np.asfortranarray(image)
        if self.layout == "mirrored":
            return image[::-1, ::-1]
        if self.layout == "every second":
            return np.repeat(np.repeat(image, 2, axis=0), 2, axis=1)[::2, 1::2]
        if self.layout == "big-endian":
            return image.astype(image.dtype.newbyteorder(">"))
        image.setflags(write=self.layout != "read-only")
        return image

    def problem(self) -> Problem:
        """Return the problem."""
        samples = as_samples(self.picture())
        result_dtype = samples.dtype.name if self.is_quantised else "float32"
        return describe_problem(samples, self.mask(), self.border, self.cval, result_dtype)

    def mask(self) -> Mask:
        """Return the mask."""
        random = self._random()
        if self.weights.startswith("equal "):
            weight = _weights(self.weights.removeprefix("equal "), (1,), random)
            return Mask(np.full(self.mask_shape, weight), self.anchor, self.offset)
        if not self.weights.startswith("rank "):
            return Mask(_weights(self.weights, self.mask_shape, random), self.anchor, self.offset)
        _, rank, kind = self.weights.split()
        products = [
            np.outer(*[_weights(kind, (side,), random) for side in self.mask_shape]) for _ in range(int(rank))
        ]
        return Mask(np.sum(products, axis=0), self.anchor, self.offset)


def _weights(kind: str, shape: tuple[int, ...], random: np.random.Generator) -> np.ndarray:
    if kind == "whole":
        return random.integers(-8, 9, shape).astype(float)
    if kind == "halves":
        return random.integers(-2, 4, shape) / 2
    if kind == "sixteenths":
        return random.integers(-8, 9, shape) / 16
    weights = random.standard_normal(shape)
    if kind == "holes":
        weights[random.random(shape) < 0.6] = 0.0
    return weights


def check(variant: Variant, case: Case, device: str) -> None:
    """Run a variant on a case and compare every sample with the oracle; raise AssertionError with the first one off."""
    mask, samples = case.mask(), as_samples(case.picture())
    problem = case.problem()
    machine = backend(device)
    refusal = variant.unsupported(problem, mask, case.block, machine.info.limits)
    assert refusal is None, refusal
    prepared = variant.prepare(problem, mask, case.block)
    buffers = machine.allocate(samples, layout=case.rows, result_dtype=problem.result_dtype)
    if machine.copies:
        # What lies in a row past the picture must not be read.
        unread = np.nan if samples.dtype == np.float32 else np.iinfo(samples.dtype).max
        buffers.image.copy_to_device(np.full(buffers.image.shape, unread, samples.dtype))
    machine.upload(samples, buffers)
    result, _, fault = run_on_poison(prepared, buffers, machine)
    assert not fault, fault
    added = variant.added_error(problem, mask)
    compare(result, samples, mask, case, added * largest_magnitude(samples, problem) if added else 0.0)
    verification = verify(result, samples, mask, problem, added_error=added)
    assert verification.passed, verification.reason


def compare(result: np.ndarray, samples: np.ndarray, mask: Mask, case: Case, added: float = 0.0) -> None:
    """Compare a result with the oracle by the rules of `engine.metrics.agreement`, apart from `verify` itself.

    `added` is what the variant may be off beyond these.
    """
    assert result.dtype == (samples.dtype if case.is_quantised else np.float32)
    assert result.shape == samples.shape
    wanted = reference.correlate(samples, mask, case.border, case.cval)
    bound = rounding_bound(reference.magnitudes(samples, mask, case.border, case.cval), mask.taps) + added
    if is_exact_class(samples, mask, case.cval if case.border is Border.CONSTANT else 0.0):
        bound = np.zeros_like(bound)
    if case.is_quantised:
        most = np.iinfo(result.dtype).max
        low, high = (np.rint(np.clip(wanted + side * bound, 0, most)) for side in (-1, 1))
        assert np.all((low <= result) & (result <= high)), np.argwhere((result < low) | (result > high))[0]
        return
    finite = np.isfinite(wanted)
    same = (result == wanted) | (np.isnan(result) & np.isnan(wanted))
    with np.errstate(invalid="ignore"):
        fine = same | (finite & (np.abs(result - wanted) <= bound))
    places = np.argwhere(~fine)
    assert not places.size, (
        f"{len(places)} of {result.size} samples are off, first (row, column, channel) {tuple(places[0].tolist())}: "
        f"{result[tuple(places[0])]} instead of {wanted[tuple(places[0])]} within {bound[tuple(places[0])]}"
    )


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
        Case(f"shape {height}x{width}", height, width, border=BORDERS[i % 6], cval=3.5, mask_shape=(3, 5))
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
        Case(f"mask {rows}x{columns}", border=BORDERS[i % 6], cval=-2.25, mask_shape=(rows, columns))
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
             border=BORDERS[(row + column) % 6], cval=50.0)
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
            f"block {x}x{y}", 20, 30, 2, mask_shape=(5, 4), border=BORDERS[i % 6], cval=9.0, block=Block(x, y)
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
    # One or two small blocks each.
    anchors = tuple(replace(case, height=3, width=5, block=Block(4, 3)) for case in _anchors())
    squares = tuple(
        replace(case, height=3, width=4, block=Block(4, 3))
        for case in _masks()
        if case.mask_shape[0] == case.mask_shape[1] <= 15
    )
    borders = () if has_barrier else tuple(_borders())
    return _BARRIER_CASES + anchors + squares + borders
