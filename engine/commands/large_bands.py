"""What is done with the bands of a large picture: a mask, or an operation that needs only a window."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from engine.api.request import Request, request_of
from engine.commands.mask_filter import MaskFilter
from engine.commands.operation_filter import OperationFilter
from engine.commands.picture_filter import AnyFilter
from engine.device_info import DeviceInfo
from engine.errors import BadValue
from engine.geometry.border import Border
from engine.results.progress import Progress
from engine.run.task import Choice
from engine.streams.chunking import choice_for_bands
from engine.streams.large import Part, Received, run_filter
from engine.tasks.filtering.agreement import verify
from engine.tasks.filtering.problem import Problem
from engine.tasks.filtering.resolve import ResolvedFilter
from engine.tasks.filtering.task import FILTERING
from engine.verify.verification import Verification


class Bands(ABC):
    """What computes the bands of a picture, by one variant.

    Attributes
    ----------
    problem : Problem
        Of the whole picture: how far a band reaches beyond its results.
    text : str
        What is computed, in words.
    facts : dict
        The same, for JSON.
    """

    problem: Problem
    device: DeviceInfo
    choice: Choice[Any]
    text: str
    facts: dict[str, object]

    @abstractmethod
    def run(self, images: Iterator[np.ndarray], outputs: Iterator[np.ndarray], receive: Received) -> None:
        """Compute images, one by one, into the arrays for their results; hand each over, in order."""

    @abstractmethod
    def verified(self, part: Part, affordable: int) -> Verification:
        """Compare some of the results of a band with the oracle."""


def bands_for(
    how: AnyFilter, shape: tuple[int, int, int], given: np.dtype[Any], saved: np.dtype[Any]
) -> Bands:
    """Return what computes a picture of a shape and type, saved in a type; refuse what needs all."""
    if isinstance(how, OperationFilter):
        return _OperationBands(how, shape, given)
    assert isinstance(how, MaskFilter)
    return _MaskBands(how, shape, given, saved)


class _MaskBands(Bands):
    def __init__(
        self, how: MaskFilter, shape: tuple[int, int, int], given: np.dtype[Any], saved: np.dtype[Any]
    ) -> None:
        self._how, self._whole = how, _request(how, shape, given, saved)
        self.problem, self.device, self.choice = self._whole.problem, self._whole.device, self._whole.choice
        variant, mask = self.choice.variant, self._whole.asked.mask
        FILTERING.refuse(variant, self.problem, mask, self.choice.block, self.device)
        self.text, self.facts = how.what_of(self.problem), how.facts_of(self.problem)

    def run(self, images: Iterator[np.ndarray], outputs: Iterator[np.ndarray], receive: Received) -> None:
        """Send the images through a stream of the device."""
        how, whole, on_gpu = self._how, self._whole, self.device.kind == "cuda"
        run_filter(lambda image: _band_request(how, whole, image), on_gpu, _no_checkpoint)(
            images, outputs, receive
        )

    def verified(self, part: Part, affordable: int) -> Verification:
        """Compare some of the results of a band with the oracle."""
        variant, mask = self.choice.variant, self._whole.asked.mask
        return verify(
            part.values, part.image, mask, part.problem,
            seed=part.top, affordable=affordable, skip=part.skip,
            added_error=variant.added_error(part.problem, mask), steps=variant.added_steps(mask),
        )  # fmt: skip


def _request(
    how: MaskFilter, shape: tuple[int, int, int], given: np.dtype[Any], saved: np.dtype[Any]
) -> ResolvedFilter:
    """Return what filters a picture in bands, of which only the shape and the types are known.

    Its variant is one for bands: `auto` chooses among these, another one is refused.
    """
    # The shape alone: it takes no memory.
    samples = np.broadcast_to(np.zeros((), given), shape)

    def on_device(device: str) -> ResolvedFilter:
        asked = how.arguments() | {"device": device, "variant": how.settings.variant}
        found = ResolvedFilter(request_of(mask=how.mask, anchor=None, **asked), samples)
        found.choice = choice_for_bands(
            found, found.problem, "Name a direct variant, or leave --variant out."
        )
        return found

    return how.as_saved(how.cheapest(on_device), given == saved)


def _band_request(how: MaskFilter, whole: ResolvedFilter, image: np.ndarray) -> Request:
    """Return the request to filter a band as the whole is, by its variant."""
    choice = whole.choice
    block = choice.block if choice.variant.uses_block else None
    asked = how.arguments() | {"device": whole.device.key, "block": block, "result": whole.asked.result_type}
    return Request(image, how.mask, anchor=None, key=choice.variant.key, **asked)


def _no_checkpoint(step: Progress) -> None:
    """Ctrl+C ends the process; what is done is kept."""


class _OperationBands(Bands):
    def __init__(self, how: OperationFilter, shape: tuple[int, int, int], given: np.dtype[Any]) -> None:
        operation = how.settings.operation
        if operation is None:
            why = "its steps are computed with the whole picture in memory"
            remedy = "Give more memory (--max-bytes, without --memory), or take a smaller picture."
            raise BadValue("--chain on a picture in bands", why, remedy)
        if operation.window is None:
            raise BadValue(
                f"--operation {operation.key} on a picture in bands",
                "its result depends on the whole picture at once",
                "Give more memory (--max-bytes, without --memory), or take a smaller picture.",
            )
        self._how = how
        reach = operation.window(operation.read(how.parameters))
        height, width, channels = shape
        # Of few pixels: what is refused of the channels and the type, is refused now.
        call = how.call_of(np.zeros((8, 8, channels), given))
        self.device, self.choice, self.text, self.facts = (
            call.device,
            call.choice,
            how.what(call),
            how.facts(call),
        )
        self.problem = Problem(
            height=height, width=width, channels=channels, dtype=given.name,
            mask_shape=(2 * reach + 1, 1), anchor=(reach, 0), border=Border.REPLICATE, cval=0.0,
            result_dtype=given.name,
        )  # fmt: skip

    def run(self, images: Iterator[np.ndarray], outputs: Iterator[np.ndarray], receive: Received) -> None:
        """Do the operation on each image."""
        for number, image in enumerate(images):
            out = next(outputs)
            self._how.call_of(image).filter(out)
            receive(number, out)

    def verified(self, part: Part, affordable: int) -> Verification:
        """Compare some of the results of a band with the oracle, those of its halo too."""
        call = self._how.call_of(part.image)
        return call.operation.verify(
            part.all_values, call.operands, call.problem, part.top, affordable, lambda fraction: None
        )
