"""What the kernels of operations share: grids, refusals of blocks, passes with their arguments."""

from collections.abc import Callable
from typing import Any

from engine.device.launches import Between, DeviceKind, Kernel, Launch, Operand, Pass
from engine.geometry.block import Block, Limits
from engine.geometry.block_rules import MAX_GRID_Y, SharedBytes, blocks_along, grid_too_high, refuse_block
from engine.geometry.refusal import Refusal
from engine.results.work import Work
from engine.tasks.operation.contract import Patch
from engine.tasks.operation.problem import OperationProblem
from engine.tasks.operation.variants import DEFAULT_BLOCK, OperationVariant
from engine.variants.filter_passes import prepare_passes
from engine.variants.kernel_types import argument_type, type_of

Launches = tuple[Launch, ...]


def launch_over(rows: int, columns: int, layers: int, block: Block, shared_bytes: int = 0) -> Launch:
    """Return the launch of a thread per element: x along columns, y along rows, z along layers."""
    grid = (blocks_along(columns, block.x), blocks_along(rows, block.y), layers)
    return Launch(grid, (block.x, block.y, 1), shared_bytes)


def refuse_launch(
    rows: int,
    block: Block,
    limits: Limits,
    shared_bytes: SharedBytes = lambda block: 0,
) -> Refusal | None:
    """Return why a block is illegal for so many rows of threads, with the nearest legal one; else None."""

    def refuse_small() -> Refusal:
        return grid_too_high(rows, "rows", blocks_along(rows, block.y), block)

    least = Block(1, max(1, blocks_along(rows, MAX_GRID_Y)))
    return refuse_block(block, limits, shared_bytes, least=least, too_small=refuse_small)


def pass_of(
    problem: OperationProblem,
    kernel: Kernel,
    launch: Launch,
    *arguments: Any,
    target: Operand | Between = Operand.OUT,
) -> Pass:
    """Return the pass of a kernel that takes the picture, these arguments, and what it writes."""
    picture, result = type_of(problem.dtype, 3), type_of(problem.result_dtype, 3)
    written = result if target is Operand.OUT else argument_type(target)
    signature = (picture, *map(argument_type, arguments), written)
    name = kernel.py_func.__name__
    return Pass(name, kernel, signature, launch, (Operand.IMAGE, *arguments, target))


def cuda_variant(
    passes: Callable[[OperationProblem, Patch | None, Block], tuple[Pass, ...]],
    *,
    plan: Callable[[OperationProblem, Block], Launches],
    work: Callable[[OperationProblem, Block], Work],
    rows_of: Callable[[OperationProblem], int] = lambda problem: problem.height,
    shared_bytes: Callable[[OperationProblem, Block], int] = lambda problem, block: 0,
    default_block: Block = DEFAULT_BLOCK,
    unsupported: Callable[..., Refusal | None] | None = None,
    **traits: Any,
) -> OperationVariant:
    """Return the variant of these passes; by default every legal block does.

    `rows_of` gives the rows of threads, and `shared_bytes` what a block takes of shared memory.
    """

    def refuse(
        problem: OperationProblem, constant: Patch | None, block: Block, limits: Limits
    ) -> Refusal | None:
        return refuse_launch(
            rows_of(problem), block, limits, lambda candidate: shared_bytes(problem, candidate)
        )

    return OperationVariant(
        device=DeviceKind.CUDA,
        plan=plan,
        work=work,
        prepare=prepare_passes(passes),
        passes=passes,
        unsupported=unsupported or refuse,
        default_block=default_block,
        **traits,
    )
