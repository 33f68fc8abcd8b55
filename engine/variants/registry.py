"""Every variant of every task, in teaching order, by its module: a new one is a file and a line here.

A module is imported when its variant is first asked for: those of CUDA take as long as all else that a first
filter on the CPU needs (40 ms).
"""

from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from engine.device.launches import DeviceKind
from engine.errors import UnknownName
from engine.variants.contract import AnyVariant, Variant

if TYPE_CHECKING:
    from engine.variants.matmul.contract import MatmulVariant
    from engine.variants.network.contract import NetworkVariant
    from engine.variants.operations.contract import OperationVariant

V = TypeVar("V", bound=AnyVariant[Any, Any])


class Registered(Sequence[V], Generic[V]):
    """The variants of these modules of `engine.variants`, by the kind of device that they are written for."""

    def __init__(self, **modules: Sequence[str]) -> None:
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
def _variant_in(module: str) -> Any:
    return import_module(f"engine.variants.{module}").VARIANT


VARIANTS = Registered[Variant](
    cpu=(
        "cpu.serial",
        "cpu.separable_serial",
        "cpu.parallel",
        "cpu.separable",
        "cpu.box",
        "fft.cpu_fft",
    ),
    cuda=(
        "ladder.naive",
        "ladder.naive_uncoalesced",
        "ladder.constant",
        "ladder.tiled_input",
        "ladder.tiled",
        "ladder.cached",
        "ladder.cached_constant",
        "ladder.separable_l0",
        "ladder.separable_l1",
        "ladder.separable_l2",
        "ladder.implicit_gemm",
        "register_blocked.register_blocked",
        "tensor_cores.digit_sums",
        "tensor_cores.split_float16",
        "separable_fused.separable_fused",
        "low_rank.low_rank_2",
        "low_rank.low_rank_3",
        "box.box",
        "fft.cuda_fft",
        "ladder.row_naive",
        "ladder.row_constant",
        "ladder.row_tiled",
        "ladder.row_cached",
        "ladder.row_tiled_constant",
        "ladder.row_cached_constant",
    ),
)
"""The variants that filter."""

MATMUL_VARIANTS: Registered["MatmulVariant"] = Registered(
    cuda=("matmul.naive", "matmul.tiled"), cpu=("matmul.blas",)
)
"""The variants that multiply matrices."""

NETWORK_VARIANTS: Registered["NetworkVariant"] = Registered(
    cpu=("network.serial", "network.cpu_fast"),
    cuda=(
        "network.parallel_convolution",
        "network.parallel_pool",
        "network.fused_pool",
        "network.parallel_connected",
        "network.linearised",
        "network.uncoalesced",
        "network.implicit_gemm",
        "network.unrolled_matrix",
        "network.constant_filters",
        "network.streams",
        "network.fast",
    ),
)
"""The stages of the CNN report, and the fastest network of ours: each computes the whole forward pass."""

OPERATION_VARIANTS: Registered["OperationVariant"] = Registered(
    cpu=(
        "operations.cpu_negative",
        "operations.cpu_desaturate",
        "operations.cpu_hue_shift",
        "operations.cpu_histogram",
        "operations.cpu_equalise",
        "operations.cpu_median",
        "operations.cpu_match",
        "operations.cpu_dct",
    ),
    cuda=(
        "operations.cuda_negative",
        "operations.cuda_desaturate",
        "operations.cuda_hue_shift",
        "operations.histogram_global",
        "operations.histogram_shared",
        "operations.cuda_equalise",
        "operations.median_naive",
        "operations.median_local",
        "operations.median_tiled",
        "operations.match_naive",
        "operations.match_tiled",
        "operations.dct_direct",
        "operations.dct_tiled",
    ),
)
"""The variants of other operations on pictures; of an operation the last on a device is the fastest there."""

_OF_TASK: dict[str, Sequence[AnyVariant[Any, Any]]] = {
    "filtering": VARIANTS,
    "product": MATMUL_VARIANTS,
    "network": NETWORK_VARIANTS,
    "operation": OPERATION_VARIANTS,
}


def variants_of(task: str) -> Sequence[AnyVariant[Any, Any]]:
    """Return the variants of a task."""
    return _OF_TASK.get(task, ())


def registered(task: str, key: str) -> AnyVariant[Any, Any]:
    """Return the variant of a task of that key; an `UnknownName` says that there is none."""
    return _named(key, variants_of(task), (), f"no variant of {task} is called that")


def variant(key: str, *, takes_auto: bool = True) -> Variant:
    """Return the variant of a filter of that key; an `UnknownName` names the nearest one and all of them.

    `takes_auto` says whether "auto" could have been written in its place: then the remedy offers it too.
    """
    return _named(key, VARIANTS, ("auto",) if takes_auto else (), "no variant is called that")


def matmul_variant(key: str) -> "MatmulVariant":
    """Return the way to multiply of that key; an `UnknownName` names the nearest one and all of them."""
    return _named(key, MATMUL_VARIANTS, (), "no way to multiply matrices is called that", alike=0.5)


def network_variant(key: str) -> "NetworkVariant":
    """Return the stage of the network of that key; an `UnknownName` names the nearest one and all of them."""
    return _named(key, NETWORK_VARIANTS, (), "no stage of the network is called that", alike=0.5)


def operation_variants(operation: str) -> "tuple[OperationVariant, ...]":
    """Return the variants of an operation, in teaching order."""
    return tuple(known for known in OPERATION_VARIANTS if known.operation == operation)


def operation_variant(key: str, operation: str) -> "OperationVariant":
    """Return the variant of an operation of that key; an `UnknownName` names all of them."""
    known = operation_variants(operation)
    return _named(key, known, ("auto",), f"no variant of {operation} is called that", alike=0.5)


def _named(
    key: str, known: Sequence[V], other_words: tuple[str, ...], why_not: str, *, alike: float = 0.6
) -> V:
    for candidate in known:
        if candidate.key == key:
            return candidate
    import difflib

    keys = [*other_words, *(candidate.key for candidate in known)]
    near = difflib.get_close_matches(str(key), keys, n=1, cutoff=alike)
    hint = f"Did you mean {near[0]}? " if near else ""
    raise UnknownName(f"variant '{key}'", why_not, f"{hint}Choose one of {', '.join(keys)}.")
