"""What a kernel is compiled for where only its variant is named: a problem, a constant and a block.

A kernel depends on the border, types, mask and block; what a person does not give has a value that the
variant takes. The size of the picture hardly matters.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from engine.device.device_list import cpu_info
from engine.device.launches import DeviceKind, Pass
from engine.errors import BadValue, UnknownName, did_you_mean
from engine.explain.launches import ABSENT_GPUS, DEFAULT, Architecture
from engine.files.reading import Json
from engine.geometry.block import Block, Limits, UnsupportedVariant
from engine.geometry.border import Border
from engine.mask.generators import gaussian
from engine.mask.mask import Mask
from engine.run.variant import AnyVariant, refuse_gone
from engine.tasks.network.operands import trained_weights
from engine.tasks.network.problem import ForwardPass
from engine.tasks.product.problem import MatrixProduct
from engine.tasks.registry import TASKS
from engine.work.chain_files import chain_named
from engine.work.chain_task import CHAIN, OPERATION
from engine.work.filter_task import FILTERING, Among
from engine.work.filtering.variants import MaskClass, Variant
from engine.work.operations.contract import OperationVariant, operation_named
from engine.work.planned import Plan
from engine.work.problem import ChainProblem, OperationProblem, Parameters, PictureProblem, Problem
from engine.work.steps import MaskStep, OperationStep


@dataclass(frozen=True, eq=False)
class Example:
    """A variant with what its code is looked at for: problem, constant, and a block if one was chosen."""

    variant: AnyVariant
    problem: Any
    constant: Any
    chosen_block: Block | None = None

    @property
    def block(self) -> Block:
        """The block that was chosen, or the variant's own."""
        return self.variant.block_for(self.chosen_block)

    @property
    def facts(self) -> dict[str, str]:
        """What it is compiled for, in words."""
        facts = _KINDS[self.variant.task].facts(self.problem, self.constant)
        return facts | ({"block": str(self.block)} if self.variant.uses_block else {})

    @property
    def depends_on(self) -> tuple[str, ...]:
        """The fields of `KernelPurpose` that change the kernel."""
        return (*_KINDS[self.variant.task].depends_on, *(["block"] if self.variant.uses_block else []))

    @property
    def compiled_for(self) -> str:
        """The facts in words."""
        return ", ".join(f"{name} {value}" for name, value in self.facts.items())

    def passes(self, architecture: Architecture = DEFAULT) -> tuple[Pass, ...]:
        """Return its kernels with their types, one per launch; UnsupportedVariant says why there are none.

        A block that was not chosen gives way to the nearest legal one.
        """
        block, limits = self.block, Limits(compute_capability=architecture)
        refusal = self.variant.why_not(self.problem, self.constant, block, limits)
        if refusal and refusal.nearest_block and not (self.chosen_block and self.variant.uses_block):
            block = refusal.nearest_block
            refusal = self.variant.why_not(self.problem, self.constant, block, limits)
        if refusal is not None:
            raise UnsupportedVariant(f"variant '{self.variant.key}'", refusal)
        return self.variant.passes(self.problem, self.constant, block)


HEIGHT, WIDTH = 1080, 1920
# A part of the picture, which a patch is cut from.
PART = 128
SIDE = 5


@dataclass(frozen=True, kw_only=True)
class KernelPurpose:
    """What a person says a kernel is for; None: whatever the variant takes."""

    mask: Mask | None = None
    border: Border = Border.ZERO
    dtype: str | None = None
    result_type: str = "float32"
    channels: int = 1
    block: Block | None = None
    settings: Json = field(default_factory=dict)


def variant_named(key: str) -> AnyVariant:
    """Return the variant of that key, whatever its task; an UnknownName names the nearest one."""
    known: dict[str, AnyVariant] = {one.key: one for task in TASKS.values() for one in task.variants}
    if key in known:
        return known[key]
    for task in TASKS.values():
        refuse_gone(key, task.variants)
    remedy = f"{did_you_mean(key, known)}`variants --json` lists them."
    raise UnknownName(f"variant '{key}'", "no kernel is called that", remedy)


def example_of(variant: AnyVariant, purpose: KernelPurpose | None = None) -> Example:
    """Return what a variant is compiled for; BadValue for a task of which no example is known."""
    purpose = purpose or KernelPurpose()
    if variant.task not in _KINDS:
        why = f"there is no example of the task {variant.task}"
        raise BadValue(f"the code of {variant.key}", why, "Choose a kernel of another task.")
    return Example(variant, *_KINDS[variant.task].make(variant, purpose), purpose.block)


def default_mask(variant: Variant) -> Mask:
    """Return a mask that a variant takes, 5 x 5 where it may be so small."""
    side = max(SIDE, variant.least_side)
    if variant.masks is MaskClass.ONE_ROW:
        return gaussian(1, SIDE, 1.0).with_name(f"gaussian 1 × {SIDE}")
    if variant.masks is MaskClass.EQUAL_WEIGHTS:
        return Mask(np.full((side, side), 1.0 / side**2), name=f"box {side} × {side}")
    if variant.rank > 1:
        # Gaussians of different widths are different products of a column and a row.
        terms = [(-1) ** n * gaussian(side, sigma=0.8 + 0.7 * n).weights for n in range(variant.rank)]
        return Mask(np.sum(terms, axis=0), name=f"{len(terms)} Gaussians, {side} × {side}")
    return gaussian(side, sigma=1.0).with_name(f"gaussian {side} × {side}")


def _blank(dtype: str, purpose: KernelPurpose) -> np.ndarray:
    return np.broadcast_to(np.zeros((), dtype), (HEIGHT, WIDTH, purpose.channels))


def _filtering(variant: Variant, purpose: KernelPurpose) -> tuple[Problem, Mask]:
    step = MaskStep(mask=purpose.mask or default_mask(variant), border=purpose.border)
    samples = _blank(purpose.dtype or ("uint8" if variant.uint8_only else variant.picture_types[-1]), purpose)
    return FILTERING.described(step, samples, samples, "same" if variant.uint8_only else purpose.result_type)


def _operation(variant: OperationVariant, purpose: KernelPurpose) -> tuple[OperationProblem, object]:
    operation = operation_named(variant.operation)
    step = OperationStep(operation=operation.key, settings=Parameters(purpose.settings.items()))
    # Operations on colours take three channels.
    channels = purpose.channels if purpose.channels > 1 else 3
    samples = (np.arange(PART * PART * channels) % 251).reshape(PART, PART, channels)
    samples = samples.astype(purpose.dtype or "uint8")
    return OPERATION.described(step, samples)


def _chain(variant: AnyVariant, purpose: KernelPurpose) -> tuple[ChainProblem, Plan]:
    """Return a chain of two masks and a combination: the steps of its own are what it adds to theirs."""
    chain, samples = chain_named("sobel-magnitude"), _blank(purpose.dtype or "uint8", purpose)
    device = cpu_info() if variant.device is DeviceKind.CPU else ABSENT_GPUS[DEFAULT]
    return CHAIN.described(chain, samples, "float32"), CHAIN.plan(chain.nodes(), Among(samples, device))


def _picture(problem: PictureProblem) -> dict[str, str]:
    return {"picture": f"{problem.dtype}, {problem.channels} channel{'s' * (problem.channels > 1)}"}


def _filter_facts(problem: Problem, mask: Mask) -> dict[str, str]:
    named = {"mask": mask.name or "{} × {}".format(*mask.shape), "border": str(problem.border)}
    return named | _picture(problem) | {"result": problem.result_dtype}


class _Kind(NamedTuple):
    make: Callable[[Any, KernelPurpose], tuple[Any, Any]]
    facts: Callable[[Any, Any], dict[str, str]]
    depends_on: tuple[str, ...] = ()


# fmt: off
_KINDS = {
    Problem.task: _Kind(_filtering, _filter_facts, ("mask", "border", "dtype", "result_type", "channels")),
    OperationProblem.task: _Kind(
        _operation, lambda problem, _: {"operation": problem.operation_text} | _picture(problem),
        ("dtype", "channels", "set")),
    ChainProblem.task: _Kind(
        _chain, lambda problem, _: {"chain": problem.chain} | _picture(problem), ("dtype", "channels")),
    MatrixProduct.task: _Kind(
        lambda variant, purpose: (MatrixProduct(1024, 1024, 1024), None),
        lambda product, _: {"product": product.size_text}),
    ForwardPass.task: _Kind(
        lambda variant, purpose: (ForwardPass(100), trained_weights()),
        lambda problem, _: {"batch": str(problem.batch)}),
}
# fmt: on
