"""What a result asks of the problem of any task, and the model of work of what computes it.

And the progress of a run or a request: reported by the pipeline, passed on by the host and the window.
"""

from collections.abc import Callable, Hashable
from typing import ClassVar, NamedTuple, Protocol, TypeVar, runtime_checkable

from msgspec import Struct, structs


@runtime_checkable
class TaskProblem(Protocol):
    """What pipeline and results ask of the problem of any task, which is an `engine.message.Message`.

    `task` is the stable key of the task; `columns_module` has its `METRICS` and `FACTS`, by its key, which
    tables and files have beside those of every task; `checked_unit` is what is verified: "pixel".
    """

    task: ClassVar[str]
    columns_module: ClassVar[str]
    checked_unit: ClassVar[str]
    __struct_fields__: ClassVar[tuple[str, ...]]

    @property
    def size_text(self) -> str:
        """The size in words for people."""

    @property
    def subject(self) -> str:
        """What is computed with, in words: "a picture of 65 x 20"."""

    @property
    def simulator_limit(self) -> str:
        """What the simulator takes at most, in words, where this is more; else empty."""

    @property
    def values(self) -> int:
        """Values that are computed."""

    @property
    def copied_bytes(self) -> int:
        """Bytes that are copied to the device and back."""

    @property
    def comparable(self) -> Hashable:
        """What two runs must share so that their times can be compared."""

    def csv_columns(self) -> dict[str, str | int | float | None]:
        """Return the problem under the names of its columns in CSV files."""


P = TypeVar("P", bound=TaskProblem)
P_co = TypeVar("P_co", bound=TaskProblem, covariant=True)
P_contra = TypeVar("P_contra", bound=TaskProblem, contravariant=True)


class Work(Struct, frozen=True):
    """Operations, and accesses to each kind of memory by single elements, before any cache."""

    # Floating-point operations: two for each multiply-add. Adding up the mask rows' partial sums and the
    # offset is not counted, as in the courses. Those of `digit-sums` are whole-number multiply-adds of tensor
    # cores, for one digit.
    flops: int
    # Elements that threads access in global memory (CUDA) or in memory (CPU).
    global_loads: int
    global_stores: int
    # The same in bytes: cells of the picture and results have their own types, everything else is float32.
    global_load_bytes: int
    global_store_bytes: int
    minimum_bytes: int  # the least that must move: every input element read once, every result written once
    # The cells of the picture among `global_loads`; the others are weights and results of an earlier pass.
    picture_loads: int = 0
    # float32 elements that threads access in shared memory.
    shared_loads: int = 0
    shared_stores: int = 0
    constant_loads: int = 0  # float32 elements that threads load from constant memory

    def __post_init__(self) -> None:
        if min(structs.astuple(self)) < 0 or not (self.global_loads and self.global_load_bytes):
            raise ValueError("work without loads, or less than none, is not work")

    @property
    def cgma(self) -> float:
        """Compute to global memory access ratio, as courses have it: operations per global load."""
        return self.flops / self.global_loads

    @property
    def arithmetic_intensity(self) -> float:
        """Floating-point operations per byte of global memory accesses."""
        return self.flops / (self.global_load_bytes + self.global_store_bytes)


class LoopWork(Struct, frozen=True, kw_only=True):
    """What one loop of a CPU variant does at least; what is around loops, and edges, is left out.

    A variant ready for a problem has its `loops`, one after the other, and at most how many threads take part
    (`workers`), where that is known.

    Multiply-adds one at a time count for each result, everything else for each vector of results.
    """

    scalar_multiply_adds: float = 0.0  # each with the loads of both factors
    converted_multiply_adds: float = 0.0  # the same of integers
    multiply_adds: float = 0.0
    operations: float = 0.0  # other computations with whole vectors
    loads: float = 0.0  # of vectors, or of one weight for all elements: accesses to cache lines
    stores: float = 0.0  # of whole vectors

    @classmethod
    def of_sum(cls, dtype: str, taps: int) -> "LoopWork":
        """Return the work of a textbook sum of so many taps of samples of a type."""
        if dtype == "float32":
            return cls(scalar_multiply_adds=taps)
        return cls(converted_multiply_adds=taps)

    def __add__(self, other: "LoopWork") -> "LoopWork":
        """Return the work of a loop that does both."""
        theirs = structs.asdict(other)
        return LoopWork(**{name: value + theirs[name] for name, value in structs.asdict(self).items()})

    def times(self, factor: float) -> "LoopWork":
        """Return the work of a loop that does all of it so many times."""
        return LoopWork(**{name: factor * value for name, value in structs.asdict(self).items()})


MODEL_OF_WORK = (
    "a model: what the kernel's source asks of memory by single elements, counted and not measured, before "
    "any cache"
)
"""What a model of work is, for the reader of a file."""


class Progress(NamedTuple):
    """A step of a run, or of a request, begins."""

    stage: str  # in words: "compiling", "verifying", "sampling 12 of 30"
    fraction: float  # done so far, 0 to 1
    expected_s: float  # the client gives up on the host after ten times that, and never before 5 s


Checkpoint = Callable[[Progress], None]
"""Called before each step; raises `Cancelled` where the person stopped the run."""


def go_on(step: Progress) -> None:
    """Do not stop."""
