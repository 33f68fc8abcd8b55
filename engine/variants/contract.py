"""The contract of a variant: frozen data and small functions. No Numba in here.

`plan`, `work` and `unsupported` are pure: they can be tested and shown without a device. `prepare` compiles and
uploads the mask; what it returns launches as often as wanted.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from engine.block import Block, Limits
from engine.block_rules import Refusal
from engine.mask.mask import Mask
from engine.problem import Problem


class DeviceKind(StrEnum):
    """What a variant is written for."""

    CPU = "cpu"
    CUDA = "cuda"


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel launch: its grid and block in (x, y, z), and its static shared memory in bytes."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int = 0

    @property
    def blocks(self) -> int:
        """Blocks in the grid."""
        return self.grid[0] * self.grid[1] * self.grid[2]


@dataclass(frozen=True, slots=True)
class Work:
    """What one filtering does, counted from the problem by construction: a model, and called one where it is shown.

    Parameters
    ----------
    flops : int
        Floating-point operations; a multiply-add counts as two.
    global_load_bytes, global_store_bytes : int
        Bytes that threads ask of global memory (CUDA) or of memory (CPU), before any cache.
    shared_load_bytes, shared_store_bytes : int
        Bytes that threads ask of shared memory.
    minimum_bytes : int
        The least that must move: every input sample read once, every result written once.
    """

    flops: int
    global_load_bytes: int
    global_store_bytes: int
    minimum_bytes: int
    shared_load_bytes: int = 0
    shared_store_bytes: int = 0

    @property
    def arithmetic_intensity(self) -> float:
        """Floating-point operations for each byte asked of global memory."""
        return self.flops / (self.global_load_bytes + self.global_store_bytes)


class Prepared(Protocol):
    """A variant made ready for one problem, mask and block."""

    def launch(self, image: Any, out: Any, stream: Any = None) -> None:
        """Enqueue (CUDA) or do (CPU) one filtering.

        Parameters
        ----------
        image : array of shape (H, W, C)
            On the variant's own device, of the problem's dtype.
        out : array of shape (H, W, C), float32
            On the same device; every sample is written.
        stream : device stream, optional
            CUDA only.
        """


@dataclass(frozen=True, slots=True)
class KernelSource:
    """A kernel as the compiler gets it: to look at its code without a device.

    Parameters
    ----------
    name : str
    function : callable
        The plain Python function.
    signature : tuple
        Numba types of its arguments.
    """

    name: str
    function: Callable[..., None]
    signature: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to compute a filtering.

    Parameters
    ----------
    key : str
        Stable name; goes into files, scripts and results.
    title : str
        Name for people.
    device : DeviceKind
    idea : str
        One or two sentences: who loads what, and what that saves against the variant before.
    default_block : Block
        What is used where nobody chose.
    plan : callable of (Problem, Block) -> tuple of Launch
        The launches, one a pass; empty for CPU variants.
    work : callable of (Problem, Block) -> Work
    prepare : callable of (Problem, Mask, Block) -> Prepared
        Compiles for the problem and uploads the mask.
    unsupported : callable of (Problem, Mask, Block, Limits) -> Refusal or None
        Why this variant cannot do that, or None. Never another algorithm instead.
    kernels : callable of (Problem, Mask, Block) -> tuple of KernelSource
        What the CUDA compiler gets, one a launch; empty for CPU variants.
    uses_block : bool
        Whether the block changes how the variant runs.
    """

    key: str
    title: str
    device: DeviceKind
    idea: str
    default_block: Block
    plan: Callable[[Problem, Block], tuple[Launch, ...]]
    work: Callable[[Problem, Block], Work]
    prepare: Callable[[Problem, Mask, Block], Prepared]
    unsupported: Callable[[Problem, Mask, Block, Limits], Refusal | None]
    kernels: Callable[[Problem, Mask, Block], tuple[KernelSource, ...]] = lambda problem, mask, block: ()
    uses_block: bool = True
