"""The contract of a variant of any task, frozen data and small functions; the lists. No Numba in here.

`plan`, `work` and `unsupported` are pure: they can be tested and shown without a device. `prepare` compiles
and uploads what is constant; what it returns launches as often as wanted. The variants of a task are named by
their modules, each imported when it is first needed: those of CUDA take as long as all else that a first
filter on the CPU needs (40 ms).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any, ClassVar, Generic, TypeVar

from engine.device.launches import DeviceKind, Launch, Pass, Prepared
from engine.errors import UnknownName, did_you_mean
from engine.geometry.block import Block, Layout, Limits, Refusal
from engine.results.problem import Work

P = TypeVar("P")
C = TypeVar("C")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VariantOf(Generic[P, C]):
    """One way to compute a problem P, compiled with a constant C: the mask of a filter, None for a product.

    Its story (idea, who loads what, what it saves, its limit) is the text beside it that begins with its key:
    a docstring of its module, of a function or class there, or a text by itself.
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

    @property
    def has_kernels(self) -> bool:
        """Whether it runs CUDA kernels of ours: they are simulated, counted and compiled without a device."""
        return self.device is DeviceKind.CUDA and not self.library

    def block_for(self, block: Block | None) -> Block:
        """Return the requested block; its default one where none is, or where no block matters."""
        return block if block is not None and self.uses_block else self.default_block

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


V = TypeVar("V", bound=AnyVariant)
ONE_LAYOUT = (Layout.PITCHED,)


class Registered(Sequence[V], Generic[V]):
    """The variants of these modules of `engine.variants`, by the kind of device that they are written for.

    A module's variant is its `VARIANT`, or what comes after a colon: `ladder.naive:ROW`.

    `gone` has the keys of earlier releases that are no more, and the key to use instead.
    """

    def __init__(self, *, gone: Mapping[str, str] = MappingProxyType({}), **modules: Sequence[str]) -> None:
        self.gone = gone
        self.modules = {DeviceKind(kind): tuple(names) for kind, names in modules.items()}

    def on(self, kind: str) -> tuple[V, ...]:
        """Return those for a kind of device."""
        return tuple(map(_variant_in, self.modules[DeviceKind(kind)]))

    def __iter__(self) -> Iterator[V]:
        # Each is imported only when it is reached.
        return map(_variant_in, (name for modules in self.modules.values() for name in modules))

    def __len__(self) -> int:
        return sum(map(len, self.modules.values()))

    def __getitem__(self, number: int) -> V:  # type: ignore[override]
        return tuple(self)[number]


@cache
def declared_in(module: str, name: str) -> Any:
    """Return what a module of `engine.variants` declares under a name."""
    return getattr(import_module(f"engine.variants.{module}"), name)


def _variant_in(place: str) -> Any:
    module, _, name = place.partition(":")
    return declared_in(module, name or "VARIANT")


def named(
    key: str, known: Sequence[V], other_words: tuple[str, ...], why_not: str, *, alike: float = 0.6
) -> V:
    """Return the variant of that key; an `UnknownName` names the nearest one and all that are known."""
    for candidate in known:
        if candidate.key == key:
            return candidate
    refuse_gone(key, known)
    keys = [*other_words, *(candidate.key for candidate in known)]
    remedy = f"{did_you_mean(str(key), keys, alike)}Choose one of {', '.join(keys)}."
    raise UnknownName(f"variant '{key}'", why_not, remedy)


def refuse_gone(key: str, known: Sequence[object]) -> None:
    """Raise an `UnknownName` that says what to use in place of a variant of an earlier release."""
    instead = known.gone.get(str(key)) if isinstance(known, Registered) else None
    if instead is not None:
        raise UnknownName(f"variant '{key}'", "this version no longer has it", f"Use {instead}.")


def ways(
    variants: Iterable[V], blocks: Sequence[Block], layouts: Sequence[Layout] = ONE_LAYOUT
) -> Iterator[tuple[V, Block, Layout]]:
    """Yield each variant with each block (none: its default) and, on CUDA, layout; without blocks once."""
    for variant in variants:
        for block in blocks if blocks and variant.uses_block else (variant.default_block,):
            for layout in layouts if variant.device is DeviceKind.CUDA else layouts[:1]:
                yield variant, block, layout
