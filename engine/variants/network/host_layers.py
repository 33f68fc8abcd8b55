"""The layers that a stage leaves to the host: the sequential program's loops, one layer each."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from engine.compiled.machine_code import MachineFunction
from engine.device.launches import Between, HostStep, Operand, Pass, Prepared
from engine.device.per_thread import interprets
from engine.geometry.block import Block
from engine.tasks.network.operands import Weights
from engine.tasks.network.problem import CLASSES, HIDDEN, LINEAR, ForwardPass
from engine.tasks.network.task import NetworkVariant
from engine.variants.network.passes import Step, linear, maps_after, stage
from engine.variants.passes import interpreted

_MODULE = "engine.variants.network.serial_code"
convolve = MachineFunction(_MODULE, "convolve_serial")
pool = MachineFunction(_MODULE, "pool_serial")
connect = MachineFunction(_MODULE, "connect_serial")


HostLayer = Callable[[ForwardPass, Weights], HostStep]
Steps = Sequence[Step | HostLayer]


def _connect(weights: np.ndarray, rectifies: bool, values: np.ndarray, results: np.ndarray) -> None:
    connect(values, weights, rectifies, results)


def pool_on_host(number: int) -> HostLayer:
    """Return average pool 1 or 2."""
    before, after = f"convolution-{number}", f"pool-{number}"
    return lambda problem, _weights: HostStep(
        after, maps_after(problem, before), maps_after(problem, after), pool
    )


def _hidden(problem: ForwardPass, weights: Weights) -> HostStep:
    after = maps_after(problem, "hidden")
    return HostStep("hidden", linear(problem), after, partial(_connect, weights.hidden, True))


def _output(problem: ForwardPass, weights: Weights) -> HostStep:
    before = maps_after(problem, "hidden")
    return HostStep("output", before, Operand.OUT, partial(_connect, weights.output, False))


CONNECTED_ON_HOST = (_hidden, _output)
"""The hidden and the output layer."""


def made_steps(steps: Steps, problem: ForwardPass, weights: Weights) -> tuple[Pass | HostStep, ...]:
    """Return the steps of a stage for a problem."""
    return tuple(
        step.made(problem, weights) if isinstance(step, Step) else step(problem, weights) for step in steps
    )


def stage_with_host(steps: Steps, **traits: Any) -> NetworkVariant:
    """Return the stage of which the device computes some layers and the host the others."""
    of_device = [step for step in steps if isinstance(step, Step)]

    def prepare(problem: ForwardPass, weights: Weights, block: Block) -> Prepared:
        _compile(problem, weights)
        if interprets():
            return interpreted(made_steps(steps, problem, weights))
        # The variants are listed without Numba.
        from engine.variants.network.prepared_with_host import PreparedWithHost

        return PreparedWithHost(made_steps(steps, problem, weights))

    return stage(of_device, prepare=prepare, **traits)


def _compile(problem: ForwardPass, weights: Weights) -> None:
    """Compile the host's loops, so that no time of a stage has it in it."""
    for number in (1, 2):
        step = pool_on_host(number)(problem, weights)
        assert isinstance(step.gives, Between)
        step.compute(*(np.zeros(one.shape[1:], np.float32) for one in (step.takes, step.gives)))
    hidden = np.zeros(HIDDEN, np.float32)
    connect(np.zeros(LINEAR, np.float32), weights.hidden, True, hidden)
    connect(hidden, weights.output, False, np.zeros(CLASSES, np.float32))
