"""How an operation names what computes it: code for the CPU, steps with their grids for CUDA. No Numba."""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from engine.compiled.late_names import late_njit, with_names
from engine.device.launches import Between, Kernel, Launch, Operand, Pass
from engine.geometry.block import Block, Limits, Refusal, refuse_grid
from engine.run.variant import ON_CPU
from engine.variants.passes import Types, by_passes, made_pass
from engine.work.operations.contract import OperationVariant
from engine.work.operations.patch import Patch
from engine.work.problem import OperationProblem, PictureProblem

if TYPE_CHECKING:
    from engine.variants.operations.bands import Bands

_FOLDER = __name__.rpartition(".")[0]


class CpuCode:
    """Decorates a factory of code for the CPU, which is compiled by Numba and kept on disk.

    What it makes takes (image, out, top, bottom, worker, ...), writes the rows from `top` to before `bottom`,
    allocates nothing and raises nothing. The factory's arguments are numbers and texts. It is called where
    its code is compiled, with what it names (`late_names`): kept code needs no Numba.
    """

    def __init__(self, factory: Callable[..., Callable[..., None]]) -> None:
        self.factory = factory
        self.__doc__ = factory.__doc__

    def __call__(self, *made_for: object) -> Callable[..., None]:
        """Return the function that each worker calls."""
        on_bands: Any = with_names(import_module(f"{_FOLDER}.bands").on_bands)
        made: Callable[..., None] = on_bands(with_names(self.factory)(*made_for))
        return made

    def bands(
        self,
        problem: PictureProblem,
        steps: int,
        arguments: tuple[object, ...] | Callable[[int], tuple[object, ...]],
        made_for: tuple[object, ...] = (),
        *,
        contracts: bool = False,
        **more: Any,
    ) -> "Bands":
        """Return it compiled for a problem, on all cores: `Bands` says what these are.

        `made_for` are the arguments of the code's factory.
        """
        # It loads LLVM.
        bands = import_module(f"{_FOLDER}.bands")
        function = bands.rows_function(self.factory.__module__, self.factory.__name__, made_for, contracts)
        made: Bands = bands.Bands(problem, function, steps, arguments, **more)
        return made

    def variant(self, prepare: Callable[..., Any], **traits: Any) -> OperationVariant:
        """Return the variant of this code, which `prepare` makes ready for a problem and a patch or None."""
        return OperationVariant(
            prepare=lambda problem, constant, block: prepare(problem, constant),
            **ON_CPU,
            **{"title": "CPU, all cores", **traits},
        )


def pixels(problem: OperationProblem) -> tuple[int, int, int]:
    """Return rows, columns and layers of a thread per pixel."""
    return problem.height, problem.width, 1


class OperationLaunch(NamedTuple):
    """A launch of an operation, by default of a thread per sample.

    `threads` gives rows, columns and layers of threads, `shared_bytes` what a block takes of shared memory;
    `own_launch` is in the place of both where the block is not the one that is requested. The kernel takes
    the picture, the `arguments`, and what it writes, the `target`.
    """

    kernel: Callable[[OperationProblem, Block], Kernel]
    threads: Callable[[OperationProblem], tuple[int, int, int]] = lambda problem: (
        problem.height,
        problem.width,
        problem.channels,
    )
    arguments: Callable[[OperationProblem, Patch | None], tuple[Any, ...]] = lambda problem, patch: (
        problem.width,
    )
    shared_bytes: Callable[[OperationProblem, Block], int] = lambda problem, block: 0
    target: Callable[[OperationProblem], Operand | Between] = lambda problem: Operand.OUT
    own_launch: Callable[[OperationProblem], Launch] | None = None

    def launch(self, problem: OperationProblem, block: Block) -> Launch:
        """Return the launch."""
        if self.own_launch is not None:
            return self.own_launch(problem)
        rows, columns, layers = self.threads(problem)
        return Launch.of_threads(rows, columns, layers, block, self.shared_bytes(problem, block))

    def made(self, problem: OperationProblem, patch: Patch | None, block: Block) -> Pass:
        """Return the pass."""
        arguments = (Operand.IMAGE, *self.arguments(problem, patch), self.target(problem))
        types: Types = {Operand.IMAGE: (problem.dtype, 3), Operand.OUT: (problem.result_dtype, 3)}
        return made_pass(self.kernel(problem, block), self.launch(problem, block), arguments, types)


def cuda_variant(
    *always: OperationLaunch,
    then: Callable[[OperationProblem], tuple[OperationLaunch, ...]] = lambda problem: (),
    **traits: Any,
) -> OperationVariant:
    """Return the variant of these steps, and what a problem needs after them; every legal block does."""

    def steps_of(problem: OperationProblem) -> tuple[OperationLaunch, ...]:
        return *always, *then(problem)

    def refuse(
        problem: OperationProblem, constant: Patch | None, block: Block, limits: Limits
    ) -> Refusal | None:
        by_block = [step for step in steps_of(problem) if step.own_launch is None]
        rows = max(step.threads(problem)[0] for step in by_block)
        return refuse_grid(
            rows, block, limits, lambda one: max(step.shared_bytes(problem, one) for step in by_block)
        )

    def passes(problem: OperationProblem, constant: Patch | None, block: Block) -> tuple[Pass, ...]:
        return tuple(step.made(problem, constant, block) for step in steps_of(problem))

    return OperationVariant(
        plan=lambda problem, block: tuple(step.launch(problem, block) for step in steps_of(problem)),
        **by_passes(passes),
        **{"title": "Thread per sample", "unsupported": refuse, **traits},
    )


@late_njit()
def put_nan(image, row, half, channels, out):
    """Write NaN where the window around a sample has one."""
    height, samples = image.shape
    for sample in range(samples):
        column, channel = sample // channels, sample % channels
        for m in range(-half, half + 1):
            source = min(max(row + m, 0), height - 1)
            for n in range(-half, half + 1):
                at = min(max(column + n, 0), samples // channels - 1) * channels + channel
                value = image[source, at]
                if value != value:
                    out[row, sample] = value
