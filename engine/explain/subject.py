"""What is explained: a variant with a problem and a block, on a GPU that need not be here.

No Numba in here.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic

from engine.device.launches import Pass
from engine.explain.gpus import DEFAULT, Architecture, Gpu
from engine.geometry.block import Block, Limits
from engine.geometry.refusal import UnsupportedVariant
from engine.results.measurement import Environment, Measurement
from engine.results.problem import P
from engine.results.work import Work
from engine.run.variant import VariantOf


@dataclass(frozen=True, eq=False)
class Subject(Generic[P]):
    """A variant with a problem of its task, the constant that it is compiled with, a block, and a GPU."""

    variant: VariantOf[P, Any]
    problem: P
    constant: Any
    block: Block
    gpu: Gpu | None = None  # None for a CPU variant, and where only the code is looked at
    mask_name: str = ""  # of a filter
    facts: Mapping[str, str] = field(default_factory=dict)  # what it is compiled for, in words
    depends_on: tuple[str, ...] = ()  # the fields of `engine.explain.examples.Asked` that change the kernel
    is_block_given: bool = False

    @property
    def compiled_for(self) -> str:
        """The facts in words."""
        return ", ".join(f"{name} {value}" for name, value in self.facts.items())

    @property
    def work(self) -> Work | None:
        """The model of work."""
        return self.variant.work(self.problem, self.block)

    @property
    def unrun(self) -> Measurement[P]:
        """Its result as far as it is known without a run and without a device."""
        return Measurement(
            variant=self.variant.key,
            title=self.variant.title,
            device="",
            problem=self.problem,
            block=self.block if self.variant.uses_block else None,
            environment=Environment(""),
            work=self.work,
            mask_name=self.mask_name,
        )

    def passes(self, architecture: Architecture = DEFAULT) -> tuple[Pass, ...]:
        """Return its kernels with their types, one per launch; UnsupportedVariant says why there are none.

        A block that was not chosen gives way to the nearest legal one.
        """
        block, limits = self.block, Limits(compute_capability=architecture.capability)
        refusal = self.variant.why_not(self.problem, self.constant, block, limits)
        if refusal is not None and refusal.nearest_block is not None and not self.is_block_given:
            block = refusal.nearest_block
            refusal = self.variant.why_not(self.problem, self.constant, block, limits)
        if refusal is not None:
            raise UnsupportedVariant(f"variant '{self.variant.key}'", refusal)
        return self.variant.passes(self.problem, self.constant, block)

    def refuse(self, known: Iterable[VariantOf[P, Any]] = ()) -> None:
        """Raise UnsupportedVariant for what the variant cannot do on the GPU.

        Of the `known` variants the reason may name others.
        """
        if self.gpu is None:
            return
        refusal = self.variant.why_not(self.problem, self.constant, self.block, self.gpu.limits, known)
        if refusal is not None:
            # Where no other block would do, the block is not the reason.
            with_block = f" with a block of {self.block}" if refusal.nearest_block else ""
            what = f"variant '{self.variant.key}'{with_block} on {self.gpu.architecture}"
            raise UnsupportedVariant(what, refusal)


AnySubject = Subject[Any]
