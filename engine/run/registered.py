"""The variants of a task, by their modules, each imported when it is first asked for.

Those of CUDA take as long as all else that a first filter on the CPU needs (40 ms).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any, Generic, TypeVar, overload

from engine.device.launches import DeviceKind
from engine.errors import UnknownName, did_you_mean
from engine.geometry.block import Block
from engine.geometry.layout import Layout
from engine.run.variant import AnyVariant

V = TypeVar("V", bound=AnyVariant)
ONE_LAYOUT = (Layout.PITCHED,)


class Registered(Sequence[V], Generic[V]):
    """The variants of these modules of `engine.variants`, by the kind of device that they are written for.

    `gone` has the keys of earlier releases that are no more, and the key to use instead.
    """

    def __init__(self, *, gone: Mapping[str, str] = MappingProxyType({}), **modules: Sequence[str]) -> None:
        self.gone = gone
        self.modules = {DeviceKind(kind): tuple(names) for kind, names in modules.items()}

    def on(self, kind: str) -> tuple[V, ...]:
        """Return those for a kind of device."""
        return tuple(map(_variant_in, self.modules[DeviceKind(kind)]))

    def __iter__(self) -> Iterator[V]:
        """Yield each variant, imported only when it is reached."""
        return map(_variant_in, (name for modules in self.modules.values() for name in modules))

    def __len__(self) -> int:
        """Return how many there are."""
        return sum(map(len, self.modules.values()))

    @overload
    def __getitem__(self, number: int) -> V: ...
    @overload
    def __getitem__(self, number: slice) -> tuple[V, ...]: ...
    def __getitem__(self, number: int | slice) -> V | tuple[V, ...]:
        """Return one of them, or some."""
        return tuple(self)[number]


@cache
def declared_in(module: str, name: str) -> Any:
    """Return what a module of `engine.variants` declares under a name."""
    return getattr(import_module(f"engine.variants.{module}"), name)


def _variant_in(module: str) -> Any:
    return declared_in(module, "VARIANT")


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
    """Yield each variant with each block and layout; one without a block, or on the CPU, only once.

    No blocks: each variant's default. The layouts are of the rows on a CUDA device.
    """
    for variant in variants:
        for block in blocks if blocks and variant.uses_block else (variant.default_block,):
            for layout in layouts if variant.device is DeviceKind.CUDA else layouts[:1]:
                yield variant, block, layout
