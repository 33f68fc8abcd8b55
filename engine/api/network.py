"""The Python call: `engine.network(drawings)`."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.api.calls import as_device, check_choices, host_copy
from engine.device.devices import backend
from engine.device_info import AUTO
from engine.run.task import compute
from engine.tasks.network.operands import as_drawings, probabilities, weights_from
from engine.tasks.network.problem import CLASSES
from engine.tasks.network.stages import chosen_stage, feature_maps
from engine.tasks.network.task import network_job


@dataclass(frozen=True, slots=True)
class Recognition:
    """The digits that the network recognises in drawings.

    Parameters
    ----------
    scores : ndarray of shape (batch, 10), float32
    probabilities : ndarray of shape (batch, 10), float64
        Softmax of the scores: each row sums to 1.
    digits : ndarray of shape (batch,), int64
        The most likely digit of each drawing.
    stage, device : str
        What computed the scores.
    layers : dict of str to ndarray
        On request: every layer's values of the first drawing, computed by `network-serial`.
    """

    scores: NDArray[np.float32]
    probabilities: NDArray[np.float64]
    digits: NDArray[np.int64]
    stage: str
    device: str
    layers: dict[str, NDArray[np.float32]]


def network(
    drawings: ArrayLike,
    *,
    stage: str = AUTO,
    device: str | None = None,
    weights: str | Path | None = None,
    layers: bool = False,
) -> Recognition:
    """Recognise drawn digits: the forward pass of the CNN report's network.

    Parameters
    ----------
    drawings : array of shape (28, 28) or (batch, 28, 28)
        0 is paper; whole numbers up to 255, others up to 1. Those in a GPU's memory are copied to the host
        first, and the results are on the host.
    stage : str
        A key such as "network-serial", or "auto": the fastest one of the device.
    device : str, optional
        "cpu", "cuda:0", ..., "simulator"; None or "auto": a CUDA device where one works.
    weights : path, optional
        An .npz file with the four arrays of `engine.tasks.network.operands`; None: those that come with the
        program.
    layers : bool
        Whether to return every layer's values of the first drawing, too.

    Returns
    -------
    Recognition

    Raises
    ------
    EngineError
        Says what, why and what helps; nothing is ever computed another way instead.

    Examples
    --------
    >>> import engine, numpy
    >>> one = numpy.zeros((28, 28), numpy.uint8)
    >>> one[3:25, 13:16] = 255
    >>> engine.network(one, device="cpu").digits
    array([1])
    """
    copy = host_copy(drawings, device)
    batch = as_drawings(copy.array)
    used = weights_from(str(weights or ""))
    wanted = as_device(copy.device)
    chosen, machine = chosen_stage(stage, wanted)
    check_choices(chosen.key, wanted)
    job = network_job(chosen, batch, used)
    scores = compute(job, backend(machine.key)).reshape(job.problem.batch, CLASSES)
    chances = probabilities(scores)
    maps = feature_maps(batch[0], used)[0] if layers else {}
    return Recognition(scores, chances, chances.argmax(axis=1), chosen.key, machine.key, maps)
