"""One case of filtering, and the check of a variant on it: on the CPU, in the simulator, on a real device."""

from dataclasses import dataclass

import numpy as np

from engine.device.devices import backend
from engine.geometry.block import Block, Layout
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.run.measure import run_over_fills
from engine.work.filter_task import describe_problem
from engine.work.filtering import oracle
from engine.work.filtering.oracle import rounding_bound, verify
from engine.work.problem import Problem, as_samples

SMALL_BLOCK = Block(8, 4)


@dataclass(frozen=True)
class Case:
    """One filtering: picture, mask, border, block; pixels and weights follow from the name."""

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
    # "even" (random), "strange" (NaN and infinity among them), "whole" (integers in a float32 picture) or
    # "subnormal" (1e-42 all over: 714 steps of 2^-149).
    pixels: str = "even"
    # "even" (random, both signs), "whole" (integers), "ones", "halves", "sixteenths", "holes" (many zeros);
    # after "rank 1 " of a mask that is a column times a row, "rank 2 " and "rank 3 " of a sum of so many;
    # after "equal " one such number in every cell.
    weights: str = "even"
    # Of the caller's array: "C", "Fortran", "mirrored", "every second", "big-endian" or "read-only".
    layout: str = "C"
    rows: Layout = Layout.PITCHED  # of the rows on a CUDA device
    is_quantised: bool = False  # whether the result has the picture's own type, of 8 or 16 bit

    def _random(self):
        return np.random.default_rng([ord(letter) for letter in self.name])

    def picture(self):
        """Return the picture as a caller might pass it."""
        random, shape = self._random(), (self.height, self.width, self.channels)
        if self.dtype != "float32":
            image = random.integers(0, np.iinfo(self.dtype).max, shape, self.dtype, endpoint=True)
        elif self.pixels == "whole":
            image = random.integers(0, 256, shape).astype(np.float32)
        elif self.pixels == "subnormal":
            image = np.full(shape, 1e-42, np.float32)
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

    def problem(self):
        """Return the problem."""
        samples = as_samples(self.picture())
        result_dtype = samples.dtype.name if self.is_quantised else "float32"
        return describe_problem(samples, self.mask(), self.border, self.cval, result_dtype)

    def mask(self):
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


def _weights(kind, shape, random):
    if kind == "whole":
        return random.integers(-8, 9, shape).astype(float)
    if kind == "ones":
        return np.ones(shape)
    if kind == "halves":
        return random.integers(-2, 4, shape) / 2
    if kind == "sixteenths":
        return random.integers(-8, 9, shape) / 16
    weights = random.standard_normal(shape)
    if kind == "holes":
        weights[random.random(shape) < 0.6] = 0.0
    return weights


def by_group(cases):
    """Return the cases by the first word of their names: "shape", "mask", "border" and so on."""
    groups = {}
    for case in cases:
        group = case.name.partition(" ")[0].rstrip(",")
        groups[group] = (*groups.get(group, ()), case)
    return groups


def faults_of(variant, cases, device, placed=None, checked=None):
    """Return what is wrong with a variant, by the names of the cases that it gets wrong.

    `checked` checks it on a case, by default its results (`check`).
    """
    faults = {}
    for case in cases:
        try:
            (checked or check)(variant, case, device, placed)
        except Exception as error:  # noqa: BLE001 - each case of a group is tried and reported
            faults[case.name] = f"{type(error).__name__}: {error}"
    return faults


def error_in_bounds(variant, problem, mask, image, result):
    """Return the largest error of a float32 result, in what rounding and the variant may be off."""
    wanted = oracle.correlate(image, mask, problem.border, problem.cval)
    bound = rounding_bound(
        oracle.correlate(image, mask, problem.border, problem.cval, absolute=True), mask.taps
    )
    added = variant.added_to(problem, mask, image)
    return float(np.max(np.abs(result - wanted) / (bound + added)))


def verified(result, image, mask, problem, added=0.0):
    """Return the verification of a result, which it passes."""
    verification = verify(np.ascontiguousarray(result), image, mask, problem, added=added)
    assert verification.passed, verification.reason
    return verification


def problem_of(height, width, mask, channels=1, dtype="float32", **others):
    """Return the problem of a mask on a picture of that size."""
    return Problem(height, width, channels, dtype, mask.shape, mask.anchor, **others)


def check(variant, case, device, placed=None):
    """Run a variant on a case; raise AssertionError with the first sample that the oracle refutes.

    `placed` returns a copy of an array in memory of its own: on the CPU, of the picture and the result.
    """
    mask, samples = case.mask(), as_samples(case.picture())
    problem = case.problem()
    machine = backend(device)
    refusal = variant.unsupported(problem, mask, case.block, machine.info.limits)
    assert refusal is None, refusal
    out = None
    if placed is not None:
        samples, out = placed(samples), placed(np.empty(samples.shape, problem.result_dtype))
    with machine.selected():
        prepared = variant.prepare(problem, mask, case.block)
        buffers = machine.allocate(samples, out, case.rows, problem.result_dtype)
        if machine.copies:
            # What lies in a row past the picture must not be read.
            fill_rows(buffers.image, np.nan if samples.dtype == np.float32 else np.iinfo(samples.dtype).max)
        machine.upload(samples, buffers)
        result, _, fault = run_over_fills(prepared, buffers, machine)
    assert not fault, fault
    assert_rows_end(buffers)
    assert result.dtype == (samples.dtype if case.is_quantised else np.float32)
    verified(result, samples, mask, problem, variant.added_to(problem, mask, samples))


def result_of(variant, problem, mask, block, image):
    """Return a variant's result on the CPU, or of its kernels in the simulator, unproven."""
    machine = backend("simulator" if variant.has_kernels else "cpu")
    with machine.selected():
        prepared = variant.prepare(problem, mask, block)
        buffers = machine.allocate(image, result_dtype=problem.result_dtype)
        if machine.copies:
            machine.upload(image, buffers)
        machine.fill_result(buffers)
        machine.run(prepared, buffers)
    assert_rows_end(buffers)
    return machine.download(buffers)


def assert_rows_end(buffers):
    """Check that nothing is written past the rows of a result: there is the one byte of the fill."""
    if isinstance(buffers.out, np.ndarray):
        past = np.ascontiguousarray(buffers.out[:, buffers.host_out.shape[1] :]).view(np.uint8)
        assert np.unique(past).size <= 1


def fill_rows(array, value):
    """Fill an array of a device, or of the interpreter, with a value."""
    if isinstance(array, np.ndarray):
        array.fill(value)
    else:
        array.copy_to_device(np.full(array.shape, value, array.dtype))
