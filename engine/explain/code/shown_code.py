"""What is shown of the code of a kernel, as data: its source and its listings. No Numba in here."""

from dataclasses import dataclass

from engine.explain.code.instruction_counts import InstructionCounts
from engine.explain.code.listing import Listing
from engine.explain.code.module_story import Story
from engine.explain.code.source_function import SourceFunction


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

    @property
    def heading(self) -> str:
        """What stands above its listing: kernel, form, architecture, and passes that have other names."""
        passes = "" if self.passes == (self.listing.kernel,) else f" ({', '.join(self.passes)})"
        return f"{self.listing.kernel}: {self.listing.form.upper()} for {self.listing.architecture}{passes}"
