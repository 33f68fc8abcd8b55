"""The tasks of other operations and of chains, for the pipeline."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from engine.device.launches import DeviceKind
from engine.device_info import AUTO
from engine.errors import BadValue, EngineError, Reason, UnknownName
from engine.files.reading import Json
from engine.geometry.border import Border, Reach, common_border, is_near
from engine.results.answer import Answer
from engine.run.task import Choice, Job
from engine.run.variant import AnyVariant
from engine.verify.closeness import Verification
from engine.work.filter_task import FILTERING, Among, PictureTask, refuse_non_finite
from engine.work.filtering.variants import Variant
from engine.work.operations.contract import OPERATION_VARIANTS, OPERATIONS, OperationVariant
from engine.work.operations.patch import Patch, patch_from, ready_patch
from engine.work.planned import CHAIN_VARIANTS, ChainVariant, Place, Plan, PlannedStep, last_readers
from engine.work.problem import ChainProblem, OperationProblem, Parameters
from engine.work.steps import Chain, CombineStep, MaskStep, Node, OperationStep, digest_of

OperatedJob = Job[OperationProblem, OperationVariant]


class OperationTask(PictureTask[OperationProblem, OperationVariant]):
    """One operation of `OPERATIONS` on a picture; what its variant is compiled with is the patch to find."""

    problem = OperationProblem
    oracle = "engine.work.chain_oracle"
    variants = OPERATION_VARIANTS
    heading = "Other operations (`python main.py filter --operation KEY`)"
    cpu_per_s = gpu_per_s = 2e8

    def problem_fields(self, data: Json) -> dict[str, object]:
        """Return the fields with the settings typed by the operation's parameters."""
        operation = OPERATIONS.get(data["operation"])
        if operation is None:
            raise ValueError(f"{data['operation']!r} is not an operation")
        if not isinstance(data["settings"], str):
            raise TypeError("settings is not of type str")
        texts = dict(part.partition("=")[::2] for part in filter(None, data["settings"].split(",")))
        try:
            return data | {"settings": Parameters(operation.read(texts).items())}
        except UnknownName as error:
            raise ValueError(str(error)) from error

    def steps(self, job: OperatedJob) -> int:
        """Return what the model of work loads and computes."""
        work = job.variant.work(job.problem, job.block)
        return work.global_loads + work.shared_loads + work.flops

    def verify(self, values: Any, job: OperatedJob, checkpoint: Callable[[float], None]) -> Verification:
        """Compare with the operation's oracle: its own, or that of a chain of this step."""
        own = OPERATIONS[job.problem.operation].verify
        return own(values, job, checkpoint) if own else super().verify(values, job, checkpoint)

    def compared(self, job: OperatedJob) -> tuple[Any, ...]:
        """Return the picture, and a chain of this step."""
        problem = job.problem
        step = OperationStep(operation=problem.operation, settings=problem.settings)
        of = step, (-1,), (problem.dtype,), job.variant.key, None, problem
        return job.operands, (PlannedStep(*of, cost=step.known.cost),)

    def answer(self, values: np.ndarray, job: OperatedJob) -> Answer:
        """Return what the operation makes of the array."""
        return OPERATIONS[job.problem.operation].answer(values, job.problem, job.operands)

    def reach(self, job: OperatedJob) -> Reach:
        """Return the window of the operation; one without a window needs the whole picture."""
        window = OPERATIONS[job.problem.operation].window
        if window is None:
            return Reach(whole=job.problem.operation)
        sides = (window(job.problem.parameters),) * 2
        return Reach(sides, sides)

    def refuse_samples(self, job: OperatedJob) -> None:
        """Refuse samples that the operation does not take."""
        OPERATIONS[job.problem.operation].refuse(job.operands, job.problem.parameters)

    def described(
        self, step: OperationStep, samples: np.ndarray, patch: np.ndarray | None = None
    ) -> tuple[OperationProblem, Patch | None]:
        """Return the problem of an operation alone, in the picture's type, and the patch made ready.

        Without a patch (h, w, C) it is what the parameters cut from the picture. Raises UnknownName for an
        unknown operation or parameter, BadValue for a value or a picture that has no such result.
        """
        operation, settings = step.known, dict(step.settings)
        ready: Patch | None = None
        if patch is not None:
            if not operation.takes_patch:
                why = f"{operation.key} takes the picture alone"
                raise BadValue("a patch", why, "Leave it out, or choose find-patch.")
            taken = {"height": patch.shape[0], "width": patch.shape[1]}
            if both := [name for name in (*taken, "left", "top") if name in settings]:
                what = f"{both[0]} with a patch from a file"
                raise BadValue(what, "the whole file is the patch", "Give one of the two.")
            # Before the parameters are read, so that the error of a large one is its size, not its side.
            ready = ready_patch(patch, samples)
            settings |= taken
        parameters = operation.read(settings)
        problem = operation.problem(samples, parameters)
        if ready is None and operation.takes_patch:
            ready = ready_patch(patch_from(samples, parameters), samples)
        return problem, ready

    def choice(
        self, step: OperationStep, problem: OperationProblem, constant: Patch | None, among: Among
    ) -> Choice[OperationVariant]:
        """Return the variant and its block; `auto` takes the last one, the fastest, that can do it."""
        if step.variant != AUTO:
            named: OperationVariant = step.named(step.variant)
            return Choice(named, named.block_for(step.block))
        device = among.device
        known = [one for one in step.known.variants if one.device == device.kind]
        of_block = ((one, one.block_for(step.block)) for one in known)
        able = [one for one, block in of_block if not one.why_not(problem, constant, block, device.limits)]
        chosen = (able or known)[-1]
        reason = Reason("last-in-list", f"the fastest on {device.title}")
        return Choice(chosen, chosen.block_for(step.block), reason)


OPERATION = OperationTask()


PlanJob = Job[ChainProblem, ChainVariant]


class ChainTask(PictureTask[ChainProblem, ChainVariant]):
    """Steps of other tasks, one after the other; what its variant is compiled with are the planned steps."""

    problem = ChainProblem
    oracle = "engine.work.chain_oracle"
    variants = CHAIN_VARIANTS
    # Measured 12, and what malloc keeps: the windows of a row of pixels that are checked make whole rows.
    proof_rows = 16
    heading = "Chains (`python main.py filter --chain FILE`)"
    gpu_per_s = 3e8

    def steps(self, job: PlanJob) -> int:
        """Return what the steps cost the oracle."""
        costs: int = sum(planned.cost for planned in job.constant)
        return job.problem.samples * costs

    def refuse_operands(self, job: PlanJob) -> None:
        """Refuse a picture with NaN or infinity where a step cannot keep them apart."""
        for planned in job.constant:
            if isinstance(planned.step, MaskStep):
                refuse_non_finite(planned.variant, job.operands)

    def compared(self, job: PlanJob) -> tuple[Any, ...]:
        """Return the picture, and the steps."""
        return job.operands, job.constant

    def reach(self, job: PlanJob) -> Reach:
        """Return the cells that a result of the chain depends on, along its longest way.

        Each part is done as a picture of its own. What its edges within the picture make wrong lies in its
        halo, which is dropped; at the edges of the picture itself the borders of the steps hold.
        """
        plan: Plan = job.constant
        reached, borders = list[tuple[int, int]](), list[Border]()
        for planned in plan:
            if (own := planned.reached) is None:
                return Reach(whole=f"step {planned.step.id} ({planned.step.title})")
            borders += [planned.border] if any(own) else []
            before = [reached[one] for one in planned.inputs if one >= 0]
            rows, columns = (own[axis] + max((one[axis] for one in before), default=0) for axis in (0, 1))
            reached.append((rows, columns))
        if (border := common_border(borders)) is None:
            far = next(one for one in plan if not is_near(one.border))
            return Reach(whole=f"step {far.step.id} with the border {far.border}")
        rows, columns = reached[-1]
        variants: list[Any] = [planned.variant for planned in plan if isinstance(planned.step, MaskStep)]
        exact = all(one.band_invariant for one in variants)
        return Reach((rows, rows), (columns, columns), border, exact=exact)

    def between(self, job: PlanJob) -> int:
        """Return how many results of steps exist at most beside the last one, each until it was read."""
        plan: Plan = job.constant
        last, alive, most = last_readers(plan), set[Place](), 0
        for at, planned in enumerate(plan):
            alive |= {(at, planned.writes)} if at < len(plan) - 1 else set()
            alive |= last.keys() & set(planned.places)
            # An operation may take one more picture while it works.
            most = max(most, len(alive) + isinstance(planned.step, OperationStep))
            alive -= {place for place in alive if last.get(place) == at}
        return most

    def part(self, job: PlanJob, samples: np.ndarray) -> PlanJob:
        """Return the job for a part of its picture."""
        height, width = samples.shape[:2]
        plan = tuple(planned.of_size(height, width) for planned in job.constant)
        return replace(super().part(job, samples), constant=plan)

    def refuse_samples(self, job: PlanJob) -> None:
        """Refuse samples that a step does not take."""
        super().refuse_samples(job)
        for planned in job.constant:
            planned.refuse(job.operands)

    def labels(self, job: PlanJob) -> dict[str, object]:
        """Return the layout of the rows, where it can be chosen, and what tells the steps from others."""
        digest = digest_of((planned.step, planned.inputs) for planned in job.constant)
        return super().labels(job) | {"weights_digest": digest}

    def described(self, chain: Chain, samples: np.ndarray, result_type: str) -> ChainProblem:
        """Return the problem of a chain on a picture (H, W, C)."""
        result_dtype = samples.dtype.name if result_type == "same" else "float32"
        height, width, channels = samples.shape
        title = chain.title or chain.key or ", ".join(step.title for step in chain.steps)
        return ChainProblem(height, width, channels, samples.dtype.name, title, chain.text, result_dtype)

    def choice(self, among: Among) -> Choice[ChainVariant]:
        """Return the variant for the kind of device."""
        (chosen,) = CHAIN_VARIANTS.on(among.device.kind)
        return Choice(chosen, chosen.default_block)

    def plan(self, nodes: tuple[Node, ...], among: Among) -> Plan:
        """Return every step with its variant and its block; an EngineError names the step."""
        plan, own = list[PlannedStep](), among.samples.dtype.name
        for node in nodes:
            types = tuple(own if one == -1 else plan[one].writes for one in node.inputs)
            try:
                plan.append(_planned(node, among, types, is_last=node is nodes[-1]))
            except EngineError as error:
                what = f"step {node.step.id}: {error.what}"
                raise type(error)(what, error.why, error.remedy) from error
        return tuple(plan)


def _planned(node: Node, among: Among, types: tuple[str, ...], *, is_last: bool) -> PlannedStep:
    """Return a step with what computes it; `types` are those of what it reads."""
    step, inputs = node
    if isinstance(step, CombineStep):
        return PlannedStep(step, inputs, types)
    chosen: AnyVariant
    if isinstance(step, MaskStep):
        # Of whole numbers some variants form sums in another order.
        chosen, more = _mask(step, types[0] if inputs == (-1,) else "float32", among)
    else:
        chosen, more = _operation(step, types[0] if step.known.is_exact and not is_last else "float32", among)
    if chosen.device != among.device.kind:
        why = f"it is written for {chosen.device.upper()}, and the chain runs on {among.device.title}"
        raise BadValue(f"variant {step.variant}", why, "Choose auto, or another device for the whole chain.")
    if isinstance(chosen, Variant) and inputs != (-1,) and chosen.added_error(more["problem"], more["mask"]):
        why = "its error grows with the largest sample, which of an earlier step's result is not known"
        raise BadValue(f"variant {chosen.key}", why, "Choose auto.")
    block = chosen.block_for(step.block) if chosen.uses_block else None
    return PlannedStep(step, inputs, types, chosen.key, block, **more)


def _mask(step: MaskStep, dtype: str, among: Among) -> tuple[Variant, Json]:
    # The shape alone: it takes no memory.
    like = np.broadcast_to(np.zeros((), dtype), among.samples.shape)
    problem, mask = FILTERING.described(step, like, like, "float32")
    chosen = FILTERING.choice(step, problem, mask, among).variant
    if step.variant == AUTO and chosen.library and chosen.device is DeviceKind.CUDA:
        # Of a library's there are no passes to put among the others.
        chosen = step.named("register-blocked")
    return chosen, {"problem": problem, "mask": mask, "cost": 4 * problem.taps}


def _operation(step: OperationStep, dtype: str, among: Among) -> tuple[OperationVariant, Json]:
    """Return an operation: it reads float32, or 8 or 16 bit where that has the same values in less time."""
    known = step.known
    if known.of_cells is None and known.of_all is None:
        why = "what it makes of an error is not known, so its result could not be proven"
        raise BadValue(known.key, why, "Take another operation.")
    parameters = known.read(dict(step.settings))
    # What a picture of float32 must be like is known when it is there.
    problem = known.problem(np.broadcast_to(np.zeros((), dtype), among.samples.shape), parameters)
    known.refuse(among.samples, parameters)
    half = known.window(parameters) if known.window else 0
    scales = known.of_cells is not None and known.of_cells.scales
    more = {"problem": problem, "white": 1.0 if scales else among.white, "cost": 30 * (2 * half + 1) ** 2}
    return OPERATION.choice(step, problem, None, among).variant, more


CHAIN = ChainTask()
