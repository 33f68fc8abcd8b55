"""What is shown of the code of a kernel, as data: its source and its listings. No Numba in here."""

from dataclasses import dataclass
from enum import StrEnum

from engine.explain.code.instruction_counts import InstructionCounts
from engine.explain.code.listing import Listing
from engine.explain.code.module_story import Story


class Role(StrEnum):
    """What a function is for a kernel."""

    KERNEL = "kernel"
    DEVICE_FUNCTION = "device function"
    EMITTER = "emitter"
    HELPER = "helper of emitters"
    HOST = "host code"


@dataclass(frozen=True, slots=True)
class SourceFunction:
    """A function with the lines of its file, as they are there; a kernel's name is that of the inner one."""

    role: Role
    name: str
    path: str  # from the folder that holds the engine's own on, with slashes
    first_line: int  # from 1
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        """All its lines."""
        return "\n".join(self.lines)

    @property
    def is_kernel(self) -> bool:
        """Whether it is a kernel, or a compiled function of the CPU."""
        return self.role is Role.KERNEL


@dataclass(frozen=True, slots=True)
class KernelSource:
    """The story of a variant's module, and its functions: kernels first, then what they call."""

    story: Story
    functions: tuple[SourceFunction, ...]
    remark: str  # what a reader has to know first; empty where the source is a kernel's

    @property
    def kernels(self) -> tuple[SourceFunction, ...]:
        """The functions that are kernels, or compiled functions of the CPU."""
        return tuple(one for one in self.functions if one.is_kernel)


@dataclass(frozen=True, slots=True)
class ListedKernel:
    """A kernel of a variant: the passes that launch it, its listing and counts."""

    passes: tuple[str, ...]
    listing: Listing
    counts: InstructionCounts
