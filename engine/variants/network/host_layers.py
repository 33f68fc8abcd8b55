"""The layers that a stage leaves to the host: the sequential program's loops, one layer each."""

from collections.abc import Callable
from functools import partial

import numpy as np

from engine.compiled.machine_code import MachineFunction
from engine.device.launches import Between, HostStep, Operand, Pass, Prepared
from engine.geometry.block import Block
from engine.tasks.network.problem import ForwardPass
from engine.tasks.network.weights import Weights
from engine.variants.network.passes import linear, maps_after

_MODULE = "engine.variants.network.serial_code"
convolve = MachineFunction(_MODULE, "convolve_serial")
pool = MachineFunction(_MODULE, "pool_serial")
connect = MachineFunction(_MODULE, "connect_serial")


def _connect(weights: np.ndarray, rectifies: bool, values: np.ndarray, results: np.ndarray) -> None:
    connect(values, weights, rectifies, results)


def pool_on_host(problem: ForwardPass, number: int) -> HostStep:
    """Return average pool 1 or 2."""
    before, after = f"convolution-{number}", f"pool-{number}"
    return HostStep(after, maps_after(problem, before), maps_after(problem, after), pool)


def connected_on_host(problem: ForwardPass, weights: Weights) -> tuple[HostStep, HostStep]:
    """Return the hidden and the output layer."""
    hidden = maps_after(problem, "hidden")
    first = HostStep("hidden", linear(problem), hidden, partial(_connect, weights.hidden, True))
    return first, HostStep("output", hidden, Operand.OUT, partial(_connect, weights.output, False))


Steps = Callable[[ForwardPass, Weights], tuple[Pass | HostStep, ...]]


def prepare_with_host(steps: Steps) -> Callable[[ForwardPass, Weights, Block], Prepared]:
    """Return the `prepare` of a stage of which the device computes some layers and the host the others."""

    def prepare(problem: ForwardPass, weights: Weights, block: Block) -> Prepared:
        from engine.variants.network.prepared_layers import PreparedWithHost

        _compile(problem, weights)
        return PreparedWithHost(steps(problem, weights))

    return prepare


def passes_of(steps: Steps) -> Callable[[ForwardPass, Weights, Block], tuple[Pass, ...]]:
    """Return the `passes` of such a stage: those of the device."""
    return lambda problem, weights, block: tuple(
        step for step in steps(problem, weights) if isinstance(step, Pass)
    )


def _compile(problem: ForwardPass, weights: Weights) -> None:
    """Compile the host's loops, so that no time of a stage has it in it."""
    for number in (1, 2):
        step = pool_on_host(problem, number)
        assert isinstance(step.gives, Between)
        step.compute(*(np.zeros(one.shape[1:], np.float32) for one in (step.takes, step.gives)))
    hidden = np.zeros(problem.hidden, np.float32)
    connect(np.zeros(problem.linear, np.float32), weights.hidden, True, hidden)
    connect(hidden, weights.output, False, np.zeros(problem.classes, np.float32))
