"""Resolves a request for a chain into what the pipeline computes: problem, device, a variant per step."""

from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from engine.device.devices import device_named
from engine.device.launches import DeviceKind
from engine.device_info import AUTO, DeviceInfo
from engine.errors import BadValue, EngineError
from engine.geometry.block import Block
from engine.geometry.cut import Reach
from engine.run.task import Choice, Job
from engine.work.chain_problem import ChainProblem
from engine.work.chain_variants import CHAIN_VARIANTS, ChainVariant
from engine.work.filtering.auto.planner import choose
from engine.work.filtering.problem import Problem
from engine.work.operations.variants import operation_variant, operation_variants
from engine.work.planned import COMBINED, ChainOperands, Plan, PlannedStep, reach_of
from engine.work.request import ChainRequest
from engine.work.steps import Chain, MaskStep, Node, OperationStep
from engine.work.task import CHAIN, ChainJob


class ResolvedChain:
    """A request with its problem, device, and steps with their variants.

    `samples` are (H, W, C). Raises EngineError for what cannot be computed; the error names the step.
    """

    # Of parts of a picture, of so many rows, no variant is taken whose results depend on where it is cut.
    _in_parts = False
    _part_rows: int | None = None

    def __init__(self, asked: ChainRequest, samples: np.ndarray) -> None:
        self.asked, self.samples = asked, samples
        chain, (height, width, channels) = asked.chain, samples.shape
        title = chain.title or chain.key or ", ".join(step.title for step in chain.steps)
        self.problem = ChainProblem(height, width, channels, samples.dtype.name, title, chain.text)
        self.device: DeviceInfo = device_named(asked.device)
        self.nodes = chain.nodes(asked.shown)
        if not self.nodes:
            why = "every step that its result needs is switched off"
            raise BadValue("the chain", why, "Switch one on.")
        self.white = 1.0 if samples.dtype == np.float32 else float(np.iinfo(samples.dtype).max)

    @cached_property
    def plan(self) -> Plan:
        """Every step with its variant and its block."""
        return tuple(self._planned(node) for node in self.nodes)

    @property
    def reach(self) -> Reach:
        """The cells that a result depends on."""
        return reach_of(self.plan)

    def in_parts(self, rows: int | None = None) -> Self:
        """Return it with variants whose results do not depend on where a picture is cut, if none is named.

        `auto` chooses for parts of so many rows.
        """
        other = copy(self)
        other.__dict__.pop("plan", None)
        other._in_parts, other._part_rows = True, rows
        return other

    def as_saved(self, saved: np.dtype[Any], range_mode: str) -> Self:
        """Return it as it is: the type of its results is always the same."""
        return self

    @property
    def settled(self) -> ChainRequest:
        """The request with the device and the variants that were chosen."""
        return replace(self.asked, chain=self.as_planned, shown="", device=self.device.key)

    @property
    def as_planned(self) -> Chain:
        """The chain of the steps that are computed, each by the variant that was chosen for it."""
        chain = self.asked.chain.needed(self.asked.shown)
        steps = tuple(
            step
            if planned.variant_key == COMBINED
            else replace(step, variant=planned.variant_key, block=planned.block)
            for step, planned in zip(chain.steps, self.plan, strict=True)
        )
        return replace(chain, steps=steps)

    @property
    def choice(self) -> Choice[ChainVariant]:
        """The variant for the kind of device."""
        (chosen,) = CHAIN_VARIANTS.on(self.device.kind)
        return Choice(chosen, chosen.default_block)

    def job(self, *, seed: int = 0, affordable: int | None = None) -> ChainJob:
        """Return the job for the pipeline."""
        variant, block, _ = self.choice
        operands = ChainOperands(self.samples, self.plan, self.asked.layout)
        return Job(CHAIN, variant, block, self.problem, operands, None, seed, affordable)

    def _planned(self, node: Node) -> PlannedStep:
        step = node.step
        try:
            if isinstance(step, MaskStep):
                return self._mask(node, step)
            if isinstance(step, OperationStep):
                return self._operation(node, step)
            return PlannedStep(step, node.inputs, COMBINED, None, None)
        except EngineError as error:
            raise type(error)(f"step {step.id}: {error.what}", error.why, error.remedy) from error

    def _mask(self, node: Node, step: MaskStep) -> PlannedStep:
        mask, (height, width, channels) = step.applied, self.samples.shape
        problem = Problem(
            height=height,
            width=width,
            channels=channels,
            dtype=self.samples.dtype.name if node.inputs == (-1,) else "float32",
            mask_shape=mask.shape,
            anchor=mask.anchor,
            border=step.border,
            cval=step.cval,
        )
        chosen_for = replace(problem, height=self._part_rows) if self._part_rows else problem
        chosen = choose(step.variant, chosen_for, mask, step.block, self.device, in_bands=self._in_parts)
        variant = chosen.variant
        if step.variant == AUTO and variant.library and variant.device is DeviceKind.CUDA:
            # Of a library's there are no passes to put among the others.
            chosen = choose("register-blocked", problem, mask, step.block, self.device)
        self._check_device(step.variant, chosen.variant.device)
        if node.inputs != (-1,) and chosen.variant.added_error(problem, mask):
            why = "its error grows with the largest sample, which of an earlier step's result is not known"
            raise BadValue(f"variant {chosen.variant.key}", why, "Choose auto.")
        block = self._block(step.block, chosen.variant)
        return PlannedStep(step, node.inputs, chosen.variant.key, block, problem, mask)

    def _operation(self, node: Node, step: OperationStep) -> PlannedStep:
        known = step.known
        if known.of_cells is None and known.key != "equalise":
            why = "what it makes of an error is not known, so its result could not be proven"
            raise BadValue(known.key, why, "Take another operation.")
        parameters = known.read(dict(step.settings))
        height, width, channels = self.samples.shape
        # The shape alone: what a picture of float32 must be like is known when it is there.
        shaped = np.broadcast_to(np.float32(0.0), (height, width, channels))
        problem = known.problem(shaped, parameters)
        known.refuse(self.samples, parameters)
        candidates = [one for one in operation_variants(known.key) if one.device == self.device.kind]
        chosen = candidates[-1] if step.variant == AUTO else operation_variant(step.variant, known.key)
        self._check_device(step.variant, chosen.device)
        scales = known.of_cells is not None and known.of_cells.scales
        white = 1.0 if scales else self.white
        block = self._block(step.block, chosen)
        return PlannedStep(step, node.inputs, chosen.key, block, problem, white=white)

    def _check_device(self, key: str, kind: DeviceKind) -> None:
        if kind != self.device.kind:
            why = f"it is written for {kind.upper()}, and the chain runs on {self.device.title}"
            raise BadValue(f"variant {key}", why, "Choose auto, or another device for the whole chain.")

    @staticmethod
    def _block(asked: Block | None, variant: Any) -> Block | None:
        return variant.block_for(asked) if variant.uses_block else None
