"""What an operation is: one entry with its parameters, its oracle and its answer; and all. No Numba in here.

An operation is a file of `engine.variants.operations`, with its `Operation` and its kernels, and a line of
`OPERATIONS`. Command line, Python and the window list it from here.

An operation on the cells around each sample says what it makes of these. One definition gives its oracle, its
bound, and what a chain of steps makes of an error that is handed to it. Cells are float64, (rows, columns,
channels, side, side): the window of each result. Cells outside the picture repeat the nearest one.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.device.launches import DeviceKind
from engine.errors import BadValue, UnknownName, did_you_mean
from engine.files.reading import Json
from engine.geometry.block import FLOAT_BYTES, Block, Limits, Refusal
from engine.results.answer import Answer as Answer  # for operations too: answers are this module's subject
from engine.results.answer import Mark as Mark
from engine.results.answer import Quantity as Quantity
from engine.results.problem import Work
from engine.run.variant import Registered, VariantOf, declared_in, named
from engine.verify.closeness import UNIT_ROUNDOFF, Verification
from engine.work.operations.patch import Patch
from engine.work.problem import OperationProblem, Parameters, Shape, Value

Floats = NDArray[np.float64]
Checkpoint = Callable[[float], None]
AFFORDABLE = 250_000_000  # what the oracle may spend on a result, about 2 s
DEFAULT_BLOCK = Block(32, 8)


class Range(NamedTuple):
    """Exact values, and between what two numbers those of float32 lie: each an array of one shape."""

    value: Floats
    low: Floats
    high: Floats
    inside: NDArray[np.bool_] | None = None  # which cells lie in the picture: (rows, columns, 1, side, side)

    @property
    def parts(self) -> tuple[Floats, Floats, Floats]:
        """The values and both ends."""
        return self.value, self.low, self.high

    def each(self, made: Callable[[Floats], Floats]) -> "Range":
        """Return what is made of the values and of both ends; once, where these are the same array."""
        value = made(self.value)
        if self.low is self.value and self.high is self.value:
            return Range(value, value, value)
        return Range(value, made(self.low), made(self.high))

    @property
    def limits(self) -> tuple[Floats, Floats]:
        """Magnitudes and errors, 0 where they are not finite."""
        with np.errstate(invalid="ignore"):
            both = np.abs(self.value), self.error
        size, error = (np.where(np.isfinite(one), one, 0.0) for one in both)
        return size, error

    @property
    def error(self) -> Floats:
        """How far from the exact value one of float32 may lie."""
        if self.low is self.value and self.high is self.value:
            return np.broadcast_to(0.0, self.value.shape)
        return np.maximum(self.high - self.value, self.value - self.low)


@dataclass(frozen=True, slots=True)
class OfCells:
    """What an operation makes of the cells around each sample."""

    # The exact results of exact cells, and between what those lie that float32 makes of cells within the
    # range, its own rounding included.
    ranges: Callable[[Range, OperationProblem], Range]
    # Whether k times the picture has k times the result. Of others a chain divides by white first, as float32
    # pictures go from 0 to 1, and multiplies the result.
    scales: bool = False
    jumps: bool = False  # whether a small difference of a sample may make a large one of the result
    # Whether whole numbers of 8 and 16 bit have the very same results, of their own type, as in float32.
    exact: bool = False


def rising(
    of_cells: Callable[[Floats, OperationProblem], Floats],
) -> Callable[[Range, OperationProblem], Range]:
    """Return the ranges of a function that rounds nothing and never falls where a cell rises."""
    return lambda cells, problem: cells.each(lambda part: of_cells(part, problem))


def rounded(value: Floats, low: Floats, high: Floats, roundings: float) -> Range:
    """Return a range that so many roundings more of its largest magnitude explain."""
    with np.errstate(invalid="ignore"):
        size = np.abs(low) if low is high else np.maximum(np.abs(low), np.abs(high))
        bound = roundings * UNIT_ROUNDOFF * size
        bound[~np.isfinite(bound)] = 0.0
    return Range(value, low - bound, high + bound)


def operation_work(
    problem: OperationProblem,
    *,
    picture_loads: int,
    flops: int,
    stores: int | None = None,
    result_loads: int = 0,
    other_loads: int = 0,
    other_stores: int = 0,
    shared_loads: int = 0,
    shared_stores: int = 0,
) -> Work:
    """Return the work of an operation.

    `flops` are arithmetic operations on samples and comparisons of them, but none on indices; `stores`
    elements of the result that are stored, more than once where atomics add to them (None: each once);
    `result_loads` those that are read again, by atomics or by a second pass; `other_loads` and `other_stores`
    elements of 4 bytes beside those: patches, tables, values between passes.
    """
    stores = problem.values if stores is None else stores
    size = problem.result_itemsize
    return Work(
        flops=flops,
        global_loads=picture_loads + result_loads + other_loads,
        global_stores=stores + other_stores,
        global_load_bytes=picture_loads * problem.itemsize + result_loads * size + other_loads * FLOAT_BYTES,
        global_store_bytes=stores * size + other_stores * FLOAT_BYTES,
        minimum_bytes=problem.samples * problem.itemsize + problem.values * size,
        picture_loads=picture_loads,
        shared_loads=shared_loads,
        shared_stores=shared_stores,
    )


class ResultKind(StrEnum):
    """What a person gets from an operation."""

    PICTURE = "a picture"
    NUMBERS = "a picture and numbers"
    PLOT = "a plot"
    MARK = "a mark in the picture"


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an operation: a number within a range, or one of some choices."""

    name: str  # as it is written: --set name=value
    title: str
    explanation: str
    default: Value
    least: float = -math.inf
    most: float = math.inf
    choices: tuple[Value, ...] = ()
    unit: str = ""
    least_word: str = ""  # what the least value means, where it is not a number like the others

    @property
    def is_whole(self) -> bool:
        """Whether it is a whole number."""
        return isinstance(self.default, int)

    @property
    def range_text(self) -> str:
        """What it can be, in words."""
        if self.choices:
            return f"one of {', '.join(map(str, self.choices))}"
        kind = "a whole number" if self.is_whole else "a number"
        return f"{kind} from {self.least:,.10g} to {self.most:,.10g}"

    def read(self, value: object) -> Value:
        """Return a value, given as a number or as text; a `BadValue` says why it is none."""
        text = value.strip() if isinstance(value, str) else value
        if self.choices:
            known = {str(choice): choice for choice in self.choices}
            if str(text) in known and not isinstance(value, bool):
                return known[str(text)]
        elif not isinstance(value, bool):
            with suppress(TypeError, ValueError, OverflowError):
                number = float(text)  # type: ignore[arg-type]
                if self.least <= number <= self.most and not (self.is_whole and number != int(number)):
                    return int(number) if self.is_whole else number
        shown = f"'{value}'" if isinstance(value, str) else repr(value)
        shown = f"{shown[:39]}…" if len(shown) > 40 else shown
        why, remedy = f"it is not {self.range_text}", f"Give {self.name}={self.default}."
        raise BadValue(f"{self.name} {shown}", why, remedy)


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationVariant(VariantOf[OperationProblem, Patch | None]):
    """One way to compute one operation; its constant is the patch to find, where there is one."""

    task: ClassVar[str] = OperationProblem.task

    operation: str = ""  # key of the operation that names it
    work: Callable[[OperationProblem, Block], Work]
    default_block: Block = DEFAULT_BLOCK
    # Whether each thread has an array in local memory, to show what that is; all others keep to registers.
    uses_local_memory: bool = False

    def why_not(
        self,
        problem: OperationProblem,
        constant: Patch | None,
        block: Block,
        limits: Limits,
        known: Iterable[object] = (),
    ) -> Refusal | None:
        """Return why it cannot do a problem, as one of another operation; None if all is well."""
        if problem.operation != self.operation:
            return Refusal("other-operation", f"Computes {self.operation}")
        return self.unsupported(problem, constant, block, limits)

    @property
    def facts(self) -> dict[str, object]:
        """The operation."""
        return {"operation": self.operation}

    @property
    def line(self) -> str:
        """What `variants` says of it."""
        return f"{self.operation}: {self.key}: {self.idea}"


def takes_rgb(samples: np.ndarray, parameters: dict[str, Value]) -> None:
    """Refuse, with a `BadValue`, a picture without three channels: it has no colour."""
    if samples.shape[2] != 3:
        number = samples.shape[2]
        what = "a grey picture" if number == 1 else f"a picture of {number} channels"
        why = "the operation changes colours, red, green and blue"
        raise BadValue(what, why, "Take one of three channels.")


def half_size(parameters: dict[str, Value]) -> int:
    """Return the window of an operation on a square, or a disc, of the side `size`."""
    return int(parameters["size"]) // 2


def pixel_alone(parameters: dict[str, Value]) -> int:
    """Return the window of an operation on each pixel by itself."""
    return 0


Window = Callable[[dict[str, Value]], int]
# Of an array and the `engine.run.task.Job` that made it, which knows Numba.
Verify = Callable[[np.ndarray, Any, Checkpoint], Verification]


OfAll = Callable[
    [OperationProblem, Callable[[NDArray[np.intp], NDArray[np.intp]], Range]],
    Callable[[Range], tuple[Range, int]],
]
"""Looks at all samples, which a function gives for rows and columns, from 0 to 1; returns what makes of some
of them their results, and says of how many it is not known which one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation."""

    key: str  # stable name; goes into files and scripts
    title: str
    teaches: str  # one sentence
    proof: str  # oracle and bound in words
    result: ResultKind = ResultKind.PICTURE
    # Compares a result with the oracle, by the bound; None: as of a chain of this step, by `of_cells`.
    verify: Verify | None = None
    cost: int = 1  # what a sample costs the oracle, in multiply-adds
    parameters: tuple[Parameter, ...] = ()
    takes_patch: bool = False
    # Rows, columns and channels of the array that a variant writes, and its type ("same": the picture's).
    result_shape: Callable[[int, int, int, dict[str, Value]], Shape] = (
        lambda height, width, channels, parameters: (height, width, channels)
    )
    result_dtype: str = "same"
    # How far on each side the cells lie that a sample of the result depends on; cells outside the picture
    # repeat the nearest one. None: it depends on more than such a window.
    window: Window | None = None
    # Raises `BadValue` for a picture that has no such result.
    refuse: Callable[[np.ndarray, dict[str, Value]], None] = lambda samples, parameters: None
    # What a person gets from the array that a variant wrote of a picture.
    answer: Callable[[np.ndarray, OperationProblem, np.ndarray], Answer] = lambda values, problem, samples: (
        Answer(values)
    )
    # What it makes of the cells within `window` of a sample: such an operation can be a step of a chain.
    of_cells: OfCells | None = None
    # The same for an operation that looks at the whole picture first.
    of_all: OfAll | None = None
    # What computes it, in teaching order: of those for a device the last is the fastest.
    variants: tuple[OperationVariant, ...] = ()

    def __post_init__(self) -> None:
        own = tuple(replace(variant, operation=self.key) for variant in self.variants)
        object.__setattr__(self, "variants", own)

    @property
    def is_exact(self) -> bool:
        """Whether 8 and 16 bit have the same results as they are and as float32."""
        return self.of_cells is not None and self.of_cells.exact

    def read(self, settings: Json) -> dict[str, Value]:
        """Return all parameters, or their defaults; UnknownName for an unknown one, BadValue out of range."""
        known = [parameter.name for parameter in self.parameters]
        for name in settings:
            if name not in known:
                remedy = f"Choose one of {', '.join(known)}." if known else "Leave it out."
                why = "the operation has no such parameter" if known else "the operation has no parameters"
                raise UnknownName(f"{name} of {self.key}", why, remedy)
        return {one.name: one.read(settings.get(one.name, one.default)) for one in self.parameters}

    def problem(self, samples: np.ndarray, parameters: dict[str, Value]) -> OperationProblem:
        """Return the problem of a picture (H, W, C); a `BadValue` says why it has none."""
        self.refuse(samples, parameters)
        return self.problem_of(samples.shape, samples.dtype.name, parameters)

    def problem_of(
        self, shape: tuple[int, ...], dtype: str, parameters: dict[str, Value]
    ) -> OperationProblem:
        """Return the problem of a picture of this shape (H, W, C) and type of samples."""
        height, width, channels = shape
        result_shape = self.result_shape(height, width, channels, parameters)
        result = result_shape, dtype if self.result_dtype == "same" else self.result_dtype
        settings = Parameters(parameters.items())
        return OperationProblem(self.key, height, width, channels, dtype, *result, settings)


class Operations(Mapping[str, Operation]):
    """Operations by their keys, each imported when it is first used."""

    def __init__(self, files: dict[str, str]) -> None:
        # Of `engine.variants.operations`; each has its operations under their keys in capitals.
        self.files = files

    def __getitem__(self, key: str) -> Operation:
        operation: Operation = declared_in(f"operations.{self.files[key]}", key.upper().replace("-", "_"))
        return operation

    def __iter__(self) -> Iterator[str]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)


OPERATIONS = Operations(
    {
        "negative": "tones",
        "threshold": "tones",
        "desaturate": "colours",
        "hue-shift": "colours",
        "histogram": "histogram",
        "equalise": "equalise",
        "gradient-magnitude": "gradient_magnitude",
        "median": "median",
        "minimum": "extremes",
        "maximum": "extremes",
        "morphology": "extremes",
        "bilateral": "bilateral",
        "find-patch": "find_patch",
        "compress": "compress",
    }
)


class OperationVariants(Registered[OperationVariant]):
    """The variants of all operations, those for the CPU first."""

    def on(self, kind: str) -> tuple[OperationVariant, ...]:
        """Return those for a kind of device."""
        return tuple(one for known in OPERATIONS.values() for one in known.variants if one.device == kind)

    def __iter__(self) -> Iterator[OperationVariant]:
        return (one for kind in DeviceKind for one in self.on(kind))

    def __len__(self) -> int:
        return sum(len(known.variants) for known in OPERATIONS.values())


OPERATION_VARIANTS = OperationVariants()


def operation_variant(key: str, operation: str) -> OperationVariant:
    """Return the variant of an operation of that key; an `UnknownName` names all of them."""
    known = operation_named(operation).variants
    return named(key, known, ("auto",), f"no variant of {operation} is called that", alike=0.5)


def operation_named(key: object) -> Operation:
    """Return the operation of that key; an `UnknownName` names the nearest one and all of them."""
    operation = OPERATIONS.get(key) if isinstance(key, str) else None
    if operation is None:
        remedy = f"{did_you_mean(str(key), OPERATIONS)}Choose one of {', '.join(OPERATIONS)}."
        raise UnknownName(f"operation '{key}'", "there is no such operation", remedy)
    return operation


def parameters_from(texts: Iterable[str]) -> Json:
    """Read texts such as "size=5" or "left=10,top=20", of which the last counts; BadValue for others."""
    settings: Json = {}
    for text in texts:
        for part in text.split(","):
            name, equals, value = part.strip().partition("=")
            if not (name and equals and value.strip()):
                raise BadValue(f"--set '{text}'", "it is not name=value", "Write it as size=5.")
            settings[name.strip()] = value.strip()
    return settings
