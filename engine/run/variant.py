"""The contract of a variant of any task: frozen data and small functions. No Numba in here.

`plan`, `work` and `unsupported` are pure: they can be tested and shown without a device. `prepare` compiles
and uploads what is constant; what it returns launches as often as wanted.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from engine.device.launches import DeviceKind, Launch, Pass, Prepared
from engine.geometry.block import Block, Limits
from engine.geometry.refusal import Refusal
from engine.results.work import Work

P = TypeVar("P")
C = TypeVar("C")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VariantOf(Generic[P, C]):
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
    # Idea, who loads what, what it saves, its limit; None: the docstring of its module has them.
    story: str | None = None
    remark: str = ""  # a warning or limit for users; empty where the idea says it all
    # The Python package that does the work; empty where our own code does. Such a variant has no passes.
    library: str = ""

    @property
    def has_kernels(self) -> bool:
        """Whether it runs CUDA kernels of ours: they are simulated, counted and compiled without a device."""
        return self.device is DeviceKind.CUDA and not self.library

    def block_for(self, asked: Block | None) -> Block:
        """Return the block that is asked for; its default one where none is, or where no block matters."""
        return asked if asked is not None and self.uses_block else self.default_block

    @property
    def group(self) -> str:
        """The heading under which lists show it."""
        return "CPU" if self.device is DeviceKind.CPU else "CUDA"

    @property
    def facts(self) -> dict[str, object]:
        """What `variants --json` says of it beside what it says of every variant."""
        return {}

    @property
    def line(self) -> str:
        """What `variants` says of it."""
        return f"{self.key}: {self.idea}"

    def halos(self, problem: P, launches: Sequence[Launch]) -> tuple[float | None, ...]:
        """Return for each launch the cells that a block's results need over these; or None."""
        return (None,) * len(launches)

    def why_not(
        self, problem: P, constant: C, block: Block, limits: Limits, known: Iterable[Any] = ()
    ) -> Refusal | None:
        """Return why the variant cannot do that, or None; of the `known` ones the reason may name others."""
        return self.unsupported(problem, constant, block, limits)


ON_CPU: dict[str, Any] = {"device": DeviceKind.CPU, "default_block": Block(1, 1), "uses_block": False}
"""What a variant of code for the CPU is like: it has no blocks."""
AnyVariant = VariantOf[Any, Any]
"""A variant of some task."""
