"""`cuda-morphology`: two launches of `cuda-minimum`'s kernel, and one for the difference.

Who loads what
    Each of the two passes loads size squared cells for a sample, the second those that the first has written.
Limit
    Loads, and a whole picture between the launches: a block cannot wait for its neighbours within one.
"""

from typing import TYPE_CHECKING

from engine.device.kernel_factory import kernel_factory
from engine.device.launches import Between, Operand
from engine.geometry.block import Block
from engine.results.work import Work
from engine.variants.operations.extremes import extreme_kernel
from engine.variants.operations.grid import Step, cuda_variant
from engine.work.operations.problem import OperationProblem
from engine.work.operations.work import operation_work

if TYPE_CHECKING:  # imported by `kernel_factory`
    from engine.device.numba_cuda import cuda, float32


def _between(name: str, problem: OperationProblem) -> Between:
    return Between(name, (problem.height, problem.width, problem.channels), problem.dtype)


def _pass(highest: bool, source: str, target: str) -> Step:
    """Return the step from one picture to another; empty names stand for the picture and the result."""
    return Step(
        lambda problem, block: extreme_kernel(problem.whole("size"), highest),
        arguments=lambda problem, patch: (
            _between(source, problem) if source else Operand.IMAGE,
            problem.width,
        ),
        target=lambda problem: _between(target, problem) if target else Operand.OUT,
    )


@kernel_factory
def difference_kernel():
    """Return the kernel that subtracts one picture from another."""

    @cuda.jit
    def difference(image, more, less, width, out):
        column, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        if row >= image.shape[0] or column >= width:
            return
        out[row, column, channel] = float32(more[row, column, channel]) - float32(less[row, column, channel])

    return difference


def _difference(more: str, less: str) -> Step:
    return Step(
        lambda problem, block: difference_kernel(),
        arguments=lambda problem, patch: (
            _between(more, problem) if more else Operand.IMAGE,
            _between(less, problem) if less else Operand.IMAGE,
            problem.width,
        ),
    )


STEPS = {
    "open": (_pass(False, "", "first"), _pass(True, "first", "")),
    "close": (_pass(True, "", "first"), _pass(False, "first", "")),
    "gradient": (_pass(False, "", "first"), _pass(True, "", "second"), _difference("second", "first")),
    "top-hat": (_pass(False, "", "first"), _pass(True, "first", "second"), _difference("", "second")),
    "black-hat": (_pass(True, "", "first"), _pass(False, "first", "second"), _difference("second", "")),
}


def work(problem: OperationProblem, block: Block) -> Work:
    """Return the work: two passes as of `cuda-minimum`, with a picture between, and a difference."""
    kind, samples = problem.parameters["kind"], problem.samples
    cells = samples * (1 + problem.whole("size") ** 2)
    has_difference, has_hat = kind not in ("open", "close"), kind in ("top-hat", "black-hat")
    of_picture = 2 * cells if kind == "gradient" else cells + has_hat * samples
    return operation_work(
        problem,
        picture_loads=of_picture,
        # Of pictures between the launches, which have its type.
        result_loads=2 * cells + 2 * has_difference * samples - of_picture,
        stores=(2 + has_difference) * samples,
        flops=2 * (cells - samples) + has_difference * samples,
    )


VARIANT = cuda_variant(
    then=lambda problem: STEPS[str(problem.parameters["kind"])],
    work=work,
    key="cuda-morphology",
    title="Thread per sample",
    operation="morphology",
    idea="Minimum and maximum one after the other, a thread per sample, and a launch for the difference.",
)
