"""Altered kernels, each without one cost and wrong on purpose, and their runs.

They are no variants: nothing lists them, and their results are not looked at. One is made by a change of the
kernel's syntax tree, which calls `stand_in_code` in the place of what is gone. Only what a kernel writes
itself can be taken out: an access that an emitter makes is in no source of Python.

They run as every run does: warm, timed by the device's events, in samples. The whole kernel is verified
first, as before every time. All of them, and the kernel among them, run one after another on the same memory:
the picture, the values between two passes and the result, with rows of the program's own above and below. So
an altered kernel without border test reads what is there, and nothing outside.

Called on: the main thread of the engine's process, or of a script.
"""

import ast
import inspect
import linecache
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from operator import is_not
from pathlib import Path

import numpy as np

from engine.device.backend import Backend, Buffers
from engine.device.cuda_kernels import PreparedPasses
from engine.device.devices import backend, devices
from engine.device.kernel_factory import definition_of, function_of, note_origin
from engine.device.launches import Between, DeviceKind, Kernel, Operand, Pass, Placeholder
from engine.device_info import AUTO
from engine.errors import DeviceUnavailable
from engine.explain import stand_in_code
from engine.explain.ablation_results import NO_GPU, Ablation, Altered, Cost
from engine.explain.counting import counted_passes
from engine.explain.instructions import issue_slots
from engine.explain.launches import ABSENT_GPUS, DEFAULT, why_not_compiled
from engine.explain.messages import AblationJob
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.host.request import Run
from engine.results.occupancy import WARP
from engine.results.problem import Checkpoint, Progress, go_on
from engine.run.measure import NO_SAMPLES, SamplingPlan, measure, sampled_kernel, timed
from engine.run.task import device_for
from engine.work.answers import resolved_job
from engine.work.filter_task import MaskJob
from engine.work.filtering.variants import variant
from engine.work.problem import Problem

# What an altered kernel may name beside what its source names.
_STAND_INS = "bare_index", "not_loaded", "fence", "NEVER"
_MADE = "_made"
_Roles = tuple[tuple[str, str], ...]


class _Without(ast.NodeTransformer):
    """Takes a cost out of a kernel's definition, in place, and counts how often it was there.

    `roles` says what the kernel's arguments are by their names, `rules` names the index rules of borders.
    """

    def __init__(self, definition: ast.FunctionDef, cost: Cost, roles: _Roles, rules: set[str]) -> None:
        self._cost, self._rules, self.changes = cost, rules, 0
        self._pictures, self._weights, self._scalars = (
            [name for name, role in roles if role == wanted] for wanted in ("picture", "weights", "scalar")
        )
        # What a rule returns, which is compared with the sides of the picture.
        self._tested = {
            target.id
            for node in ast.walk(definition)
            if isinstance(node, ast.Assign) and self._is_rule(node.value)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        self.generic_visit(definition)
        if self.changes:
            definition.name = f"{definition.name}_without_{cost.name.lower()}"

    def _is_rule(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in self._rules

    def _call(self, name: str, *arguments: ast.expr) -> ast.Call:
        self.changes += 1
        return ast.Call(_load(name), list(arguments), [])

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Leave indices as they are; leave a fence for the compiler alone, so that loads and stores stay."""
        self.generic_visit(node)
        if self._cost is Cost.BORDER_TEST and self._is_rule(node):
            return self._call("bare_index", *node.args)
        if self._cost is Cost.BARRIER and ast.unparse(node.func) == "cuda.syncthreads":
            return self._call("fence")
        return node

    def visit_If(self, node: ast.If) -> ast.stmt | list[ast.stmt]:
        """Leave the branch for cells inside as the only one."""
        self.generic_visit(node)
        tests = node.test.values if isinstance(node.test, ast.BoolOp) else [node.test]
        is_border_test = self._cost is Cost.BORDER_TEST and all(
            isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id in self._tested
            for test in tests
        )
        return node.body if is_border_test and not node.orelse else node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """Take a number from a cell's address, formed as before; an argument of the kernel for a weight."""
        self.generic_visit(node)
        array = node.value.id if isinstance(node.value, ast.Name) else ""
        is_load = isinstance(node.ctx, ast.Load)
        if self._cost is Cost.PICTURE_LOADS and array in self._pictures and is_load:
            is_tuple = isinstance(node.slice, ast.Tuple)
            return self._call(
                "not_loaded", node.value, node.slice if is_tuple else ast.Tuple([node.slice], ast.Load())
            )
        if self._cost is Cost.WEIGHT_LOADS and array in self._weights and self._scalars:
            self.changes += 1
            return _load(self._scalars[0])
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | list[ast.stmt] | None:
        """Note what weights in constant memory are called; store what no picture gives.

        All of the result has to be computed to find that out.
        """
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(args=[ast.Name(id=array)])) if (
                self._cost is Cost.WEIGHT_LOADS and array in self._weights
            ):
                self._weights.append(name)
                return None
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name))]) if (
                self._cost is Cost.STORES and name in self._pictures
            ):
                self.changes += 1
                kept = ast.Assign([ast.Name(_MADE, ast.Store())], node.value)
                node.value = _load(_MADE)
                return [kept, ast.If(ast.Compare(_load(_MADE), [ast.Eq()], [_load("NEVER")]), [node], [])]
        self.generic_visit(node)
        return node


def _load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


MOST_KEPT = 128
_RULES = {border.rule for border in Border}


@dataclass(frozen=True, eq=False)
class AlteredKernel:
    """A kernel that was made here: a function, and the options that the kernel is compiled with."""

    py_func: Callable[..., None]
    targetoptions: dict[str, object]


def without(passes: tuple[Pass, ...], cost: Cost) -> tuple[Pass, ...] | None:
    """Return the passes without a cost; None where none of them has it."""
    changed = []
    for step in passes:
        if (kernel := _altered_kernel(step.kernel, cost, _roles(step))) is not None:
            # What is not read need not be written before the launch.
            constant = None if cost is Cost.WEIGHT_LOADS else step.constant
            step = step._replace(name=kernel.py_func.__name__, kernel=kernel, constant=constant)
        changed.append(step)
    return tuple(changed) if any(map(is_not, changed, passes)) else None


def _roles(step: Pass) -> _Roles:
    """Return what each argument of a pass is, by its name in the kernel."""

    def role(argument: object) -> str:
        if isinstance(argument, Placeholder | Between):
            return "picture"
        if isinstance(argument, np.ndarray):
            return "weights"
        return "scalar" if isinstance(argument, np.floating | float) else ""

    names = inspect.signature(step.kernel.py_func).parameters
    return tuple((name, role(one)) for name, one in zip(names, step.arguments, strict=True))


@lru_cache(maxsize=MOST_KEPT)
def _altered_kernel(kernel: Kernel, cost: Cost, roles: _Roles) -> Kernel | None:
    """Return a kernel without a cost; None where its source has none of it."""
    function = kernel.py_func
    definition, constants = definition_of(function)
    # Of a device function the plain one.
    plain = {name: getattr(one, "py_func", getattr(one, "fn", None)) for name, one in constants.items()}
    if not _Without(definition, cost, roles, {name for name, one in plain.items() if one in _RULES}).changes:
        return None
    # Its source is written down where Python finds it, by a name that no file has.
    text = ast.unparse(ast.fix_missing_locations(definition)) + "\n"
    path = f"<{definition.name} of {Path(function.__code__.co_filename).name}>"
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
    (written,) = ast.parse(text).body
    assert isinstance(written, ast.FunctionDef)
    stand_ins = {name: getattr(stand_in_code, name) for name in _STAND_INS}
    made = function_of(written, constants | stand_ins, function.__globals__, path)
    altered = AlteredKernel(made, kernel.targetoptions)
    note_origin(altered, kernel, cost, roles)
    return altered


BUDGET_S = 0.3


def ablated(
    job: MaskJob, device: str, budget_s: float = BUDGET_S, checkpoint: Checkpoint = go_on
) -> Ablation:
    """Time a job's kernel and the altered ones on a device, in the process that this is called in.

    In the simulator, which gives no times, instructions are counted. Raises EngineError
    where the kernel cannot run or is not right, `Cancelled` by the checkpoint.
    """
    machine = backend(device)
    info = machine.info
    if not info.times_mean_speed:
        return counted_ablation(job, checkpoint)
    ablation = Ablation(job.variant.key, job.variant.title, job.block, info.key, info.title)
    if reason := _why_none_altered(job):
        return replace(ablation, reason=reason)
    verified = measure(job, machine, replace(NO_SAMPLES, is_recorded=False), checkpoint=checkpoint)
    if verified.error is not None:
        raise verified.error
    if not verified.result.is_proven:
        return replace(ablation, reason=f"The kernel gave no time: {verified.result.status}.")
    rows = rows_around(job.problem, job.block)
    plan, expected_s = SamplingPlan(budget_s=budget_s), job.task.expected_launch_s(job, info)

    def time(passes: tuple[Pass, ...], words: str, fraction: float) -> Altered:
        def step(progress: Progress) -> None:
            checkpoint(progress._replace(stage=f"{words}: {progress.stage}", fraction=fraction))

        step(Progress("compiling", fraction, 2.0 + expected_s))
        prepared = _PassesWithin(passes, rows)
        _, launch_ms = timed(lambda: machine.run(prepared, buffers))
        samples, *_ = sampled_kernel(machine, prepared, buffers, plan, step, launch_ms / 1e3)
        return Altered(kernel=samples)

    with machine.selected():
        # A part of an array does not hold its memory.
        _around, buffers = _allocated(job, machine, rows)
        return _with_altered(ablation, job.passes, time)


def counted_ablation(job: MaskJob, checkpoint: Checkpoint = go_on) -> Ablation:
    """Count the instructions that a variant's kernels and the altered ones execute, without a GPU."""
    ablation = Ablation(job.variant.key, job.variant.title, job.block, "", "PTX of sm_90, interpreted")
    if reason := str(why_not_compiled() or "") or _why_none_altered(job):
        return replace(ablation, reason=reason)

    def per_tap(passes: tuple[Pass, ...], words: str, fraction: float) -> Altered:
        checkpoint(Progress(f"counting {words}", fraction, 2.0))
        # Without stores of results a branch depends on the results: of zeros, which it does not store.
        run = counted_passes(job, passes, checkpoint, of_zeros=True)
        issued = sum(one.weighed(issue_slots) for one in run.passes)
        return Altered(instructions=issued * WARP / job.problem.multiply_adds)

    return _with_altered(replace(ablation, reason=NO_GPU), job.passes, per_tap)


def _why_none_altered(job: MaskJob) -> str:
    title, passes = job.variant.title, job.passes
    if not job.variant.has_kernels:
        return f"{title} has no CUDA kernels of ours, so nothing can be taken out of them."
    if without(passes, Cost.PICTURE_LOADS) is None or without(passes, Cost.STORES) is None:
        how = "are emitted instruction by instruction, and are not in its source: nothing can be taken"
        return f"The loads and stores of {title} {how} out of it. Select a teaching kernel."
    return ""


def _with_altered(
    ablation: Ablation, passes: tuple[Pass, ...], measured: Callable[[tuple[Pass, ...], str, float], Altered]
) -> Ablation:
    """Return an ablation with what is measured of passes: their words, and the part that is done before."""
    whole, all_altered = measured(passes, "the whole kernel", 0.0), list[Altered]()
    for number, cost in enumerate(Cost, start=1):
        changed, words = without(passes, cost), f"without {cost.words}"
        altered = Altered() if changed is None else measured(changed, words, number / (1 + len(Cost)))
        all_altered.append(replace(altered, cost=cost))
    return replace(ablation, whole=whole, altered=tuple(all_altered))


def _allocated(job: MaskJob, machine: Backend, rows: int) -> tuple[Buffers, Buffers]:
    """Return memory, and the picture and a result in it: rows of the program's own lie around each."""
    samples, result_dtype = job.operands, job.problem.result_dtype
    height, *rest = samples.shape
    like = np.broadcast_to(np.zeros((), samples.dtype), (height + 2 * rows, *rest))
    around = machine.allocate(like, None, job.layout, result_dtype)
    inner = slice(rows, rows + height)
    buffers = Buffers(around.image[inner], around.out[inner], np.empty(0, result_dtype))
    machine.upload(samples, buffers)
    return around, buffers


class _PassesWithin(PreparedPasses):
    """Passes whose values between them have rows of the program's own above and below."""

    def __init__(self, passes: tuple[Pass, ...], rows: int) -> None:
        super().__init__(passes)
        self._rows = rows

    def _memory(self, out_shape: tuple[int, ...]) -> dict[object, object]:
        height, *rest = out_shape
        memory = super()._memory((height + 2 * self._rows, *rest))
        if Operand.SCRATCH in memory:
            # A part of an array does not hold its memory.
            memory["around"] = around = memory[Operand.SCRATCH]
            memory[Operand.SCRATCH] = around[self._rows : self._rows + height]
        return memory


def rows_around(problem: Problem, block: Block) -> int:
    """Return how many rows above and below a picture a kernel without border test may read.

    The threads of the last blocks reach past the picture by a block at most, a thread loads cells a block
    away from its own, and the mask reaches past that. Cells left and right lie in other rows.
    """
    side = 2 * max(block.x, block.y)
    rows, columns = problem.mask_shape
    return side + rows + (side + columns) // problem.width + 1


def run(request: Run[AblationJob], report: Checkpoint) -> Ablation:
    """Time the job's kernel and the altered ones; count their instructions where no GPU is."""
    picture_job = request.job
    chosen = variant(picture_job.variant, takes_auto=False)
    job = resolved_job(picture_job).job_by(chosen)
    try:
        # A kernel may be looked at while the CPU is chosen.
        device = device_for(chosen, AUTO if picture_job.device == DeviceKind.CPU else picture_job.device)
    except DeviceUnavailable:
        if any(one.is_usable_gpu for one in devices()):
            raise
        job.refuse_problem(ABSENT_GPUS[DEFAULT])
        return counted_ablation(job, report)
    job.refuse(device)
    return ablated(job, device.key, request.budget_s, report)
