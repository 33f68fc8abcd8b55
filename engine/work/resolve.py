"""Resolves a request on a picture into what the pipeline computes: problem, device, variant and block."""

from copy import copy
from functools import cached_property
from importlib import import_module
from typing import Any, Self

import numpy as np
from msgspec.structs import replace

from engine.device.devices import backend
from engine.device_info import DeviceInfo
from engine.errors import BadValue, Reason
from engine.geometry.block import Block, Refusal, UnsupportedVariant
from engine.geometry.border import Reach
from engine.results.answer import Answer
from engine.run.task import AnyJob, Choice, Job, compute, devices_for
from engine.work.filter_task import FILTERING, Among
from engine.work.planned import COMBINED, Plan
from engine.work.steps import MaskStep, PictureRequest

_CHAINS = "engine.work.chain_task"


class Resolved:
    """A request with its problem, device, variant and block.

    One step that reads the picture itself is a task of its own, in the picture's type; several, or what
    combines two results, are a chain, whose steps write float32.

    The samples (H, W, C) are as `engine.work.problem.as_samples` returns them. Results may be of the type of
    the `original` picture, by default the samples. The patch (h, w, C) is of an operation that takes
    one, by default what its parameters cut from the picture. Raises EngineError for what cannot be computed,
    and for an illegal value; what is wrong with device, variant or block is raised by `device`, `choice`
    and `plan`.
    """

    # Of parts of a picture, of so many rows, no variant is taken whose results depend on where it is cut.
    _in_parts = False
    _part_rows: int | None = None

    def __init__(
        self,
        request: PictureRequest,
        samples: np.ndarray,
        original: np.ndarray | None = None,
        patch: np.ndarray | None = None,
    ) -> None:
        self.request, self.samples = request, samples
        self.nodes, self.step = request.nodes, request.step
        if not self.nodes:
            why = "every step that its result needs is switched off"
            raise BadValue("the chain", why, "Switch one on.")
        self.task: Any
        self.problem: Any
        if self.step is None:
            self.task = import_module(_CHAINS).CHAIN
            self.problem = self.task.described(request.chain, samples, request.result_type)
            return
        of: Any = samples if original is None else original, request.result_type
        # A mask does without the others, which take a while to import.
        self.task = FILTERING
        if not isinstance(self.step, MaskStep):
            self.task, of = import_module(_CHAINS).OPERATION, (patch,)
        self.problem, self.constant = self.task.described(self.step, samples, *of)

    @cached_property
    def constant(self) -> Any:
        """What a variant is compiled with: a mask, a patch or None, the planned steps."""
        return self.plan

    @cached_property
    def devices(self) -> tuple[DeviceInfo, ...]:
        """The devices that share the work: every GPU where all are requested, else the one."""
        return devices_for(self.request.named, self.request.device)

    @cached_property
    def device(self) -> DeviceInfo:
        """The device that the request names, the first of several, or that its variant needs."""
        return self.devices[0]

    @cached_property
    def plan(self) -> Plan:
        """Of several steps every one with its variant and its block; of one nothing."""
        if self.step is not None:
            return ()
        plan: Plan = self.task.plan(self.nodes, self._among)
        if self.request.result_type != "same":
            return plan
        if (last := plan[-1].quantised(self.samples.dtype.name)) is None:
            what, why = f"step {plan[-1].step.id}", "its result is float32, and not of the picture's type"
            raise BadValue(what, why, "Choose float32 results.")
        return (*plan[:-1], last)

    @cached_property
    def choice(self) -> Choice[Any]:
        """The variant and its block; resolved on first use, which takes `auto` 0.1 to 0.4 ms."""
        of_step = () if self.step is None else (self.step, self.problem, self.constant)
        chosen: Choice[Any] = self.task.choice(*of_step, self._among)
        return chosen

    @property
    def _among(self) -> Among:
        return Among(self.samples, self.device, self._in_parts, self._part_rows)

    @cached_property
    def reach(self) -> Reach:
        """How far the cells lie that a result depends on."""
        reach: Reach = self.task.reach(self.job())
        return reach

    def in_parts(self, rows: int | None = None) -> Self:
        """Return it with variants that depend on no cut, if none is named; `auto` has so many rows."""
        if self.request.operation is not None:
            return self
        other = self._without("choice", "plan", "reach", *(() if self.step else ("constant",)))
        other._in_parts, other._part_rows = True, rows
        return other

    def _without(self, *names: str) -> Self:
        """Return a copy that finds some properties anew."""
        other = copy(self)
        for name in names:
            other.__dict__.pop(name, None)
        return other

    def as_saved(self, saved: np.dtype, range_mode: str) -> Self:
        """Return work whose last kernel writes the samples of a file of a type, where they are the same."""
        is_same = range_mode == "clip"
        if range_mode == "absolute" and (step := self.request.filter) is not None:
            # No result is below 0.
            mask, ghost = step.applied, float(self.problem.ghost_value)
            is_same = min(float(mask.weights.min()), mask.offset, ghost) >= 0.0
        if is_same and saved == self.samples.dtype and (self.step is None or self.is_finite):
            return self.quantised() or self
        return self

    @property
    def is_finite(self) -> bool:
        """Whether no result of a mask can become infinite, which is noted (`Loss`)."""
        samples, step = self.samples.dtype, self.request.filter
        if step is None or samples == np.float32:
            return False
        mask, ghost = step.applied, float(self.problem.ghost_value)
        most = float(np.abs(mask.weights).sum()) * max(float(np.iinfo(samples).max), abs(ghost))
        # Far below what the rounding of a sum could lift over it.
        return most + abs(mask.offset) < float(np.finfo(np.float32).max) / 2

    @property
    def chosen(self) -> PictureRequest:
        """The request with the device, the variants and the blocks that were chosen."""
        request = replace(self.request, device=self.device.key)
        if self.step is not None:
            variant, block, _ = self.choice
            return request.changed(variant=variant.key, block=block)
        chain = request.chain.needed(request.shown)
        steps = [
            step if one.variant_key == COMBINED else replace(step, variant=one.variant_key, block=one.block)
            for step, one in zip(chain.steps, self.plan, strict=True)
        ]
        return replace(request, chain=replace(chain, steps=tuple(steps)), shown="")

    def quantised(self) -> Self | None:
        """Return it with results of 8 or 16 bit, saturated, half to even, by the same variant; else None."""
        if self.step is None:
            if self.plan[-1].quantised(self.samples.dtype.name) is None:
                return None
            chain = self._without("plan", "constant")
            chain.request, chain.problem = replace(self.request, result_type="same"), self.problem.quantised
            return chain
        problem, (chosen, block, _) = self.problem.quantised, self.choice
        if problem is None or chosen.why_not(problem, self.constant, block, self.device.limits):
            return None
        other = copy(self)
        # Not what `auto` would choose for such results: another variant may round otherwise.
        own = block if chosen.uses_block else self.request.block
        changes = {"result_type": "same", "variant": chosen.key, "block": own}
        other.request, other.choice, other.problem = self.request.changed(**changes), self.choice, problem
        other.step = other.request.step
        return other

    def job(self) -> AnyJob:
        """Return the job for the pipeline."""
        return self.job_by(*self.choice)

    def job_by(
        self, variant: Any, block: Block | None = None, reason: Reason | None = None, *, seed: int = 0
    ) -> AnyJob:
        """Return the job by a variant, whatever the request names; its own block where none is given."""
        block = block or variant.block_for(self.request.block)
        of_picture = self.problem, self.samples, self.constant, self.request.layout
        return Job(self.task, variant, block, *of_picture, reason, seed)

    def at(self, samples: np.ndarray) -> Self:
        """Return what was chosen, for a part of the picture, (H, W, C), as a picture of its own."""
        job, part = self.task.part(self.job(), samples), copy(self)
        part.samples, part.problem, part.constant = samples, job.problem, job.constant
        return part

    def part(self, samples: np.ndarray) -> AnyJob:
        """Return the job for a part, (H, W, C), as a picture of its own; refuse what it cannot take."""
        job = self.at(samples).job()
        self.task.refuse_samples(job)
        return job

    def computed(self, samples: np.ndarray, out: np.ndarray) -> np.ndarray:
        """Compute a part into an array of its shape and of the result's type."""
        return compute(self.part(samples), backend(self.device.key), out)

    def refuse(self) -> None:
        """Raise an EngineError for what cannot be done with the whole picture, whatever its samples."""
        self.job().refuse_problem(self.device)

    def refuse_cut(self, picture: str, remedy: str, needs_all: str) -> None:
        """Refuse work whose results depend on where a picture is cut, which is `picture`: "one in bands".

        `needs_all` says what helps where a result needs all of it.
        """
        if self.reach.whole:
            why = "its result depends on the whole picture at once"
            raise BadValue(f"{self.reach.whole} on {picture}", why, needs_all)
        if not self.reach.exact:
            why = "its sums run through the whole picture: parts would differ from it in their last digits"
            what = f"variant '{self.choice.variant.key}' on {picture}"
            raise UnsupportedVariant(what, Refusal("not-in-bands", why, remedy=remedy))

    def answer(self, values: np.ndarray) -> Answer:
        """Return what a person gets from the array that the variant wrote."""
        answer: Answer = self.task.answer(values, self.job())
        return answer


def resolved_for_parts(request: PictureRequest, samples: np.ndarray) -> Resolved:
    """Return a request resolved for a picture of which only the shape and the type are known yet."""
    step = request.operation
    if step is not None and step.known.takes_patch:
        why = "its result depends on the whole picture at once"
        raise BadValue(f"{step.operation} on a picture in parts", why, "Take a smaller picture, or a part.")
    return Resolved(request, samples)
