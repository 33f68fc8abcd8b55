"""What is done with the bands of a large picture: a mask, or an operation or a chain that needs a window."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from engine.api.chain import ChainCall
from engine.api.request import Request, request_of
from engine.commands.chain_filter import ChainFilter
from engine.commands.mask_filter import MaskFilter
from engine.commands.operation_filter import OperationFilter
from engine.commands.picture_filter import AnyFilter
from engine.device.anti_aliasing import trim_reused
from engine.device_info import DeviceInfo
from engine.errors import BadValue
from engine.geometry.border import Border
from engine.geometry.layout import FLOAT_BYTES
from engine.image.convert import RangeMode
from engine.results.progress import Progress
from engine.run.task import Choice
from engine.streams.bands import refuse_cut
from engine.streams.chunking import choice_for_bands
from engine.streams.large import Part, Received, run_filter
from engine.verify.verification import Verification
from engine.work.chain_agreement import verify as verify_chain
from engine.work.filtering.agreement import verify
from engine.work.filtering.clipping import Clipped
from engine.work.filtering.problem import Problem
from engine.work.filtering.resolve import ResolvedFilter
from engine.work.filtering.task import FILTERING
from engine.work.filtering.variants import Variant
from engine.work.operations.table import operation_named
from engine.work.planned import as_cut, most_between, uncut_step
from engine.work.steps import MaskStep, digest_of

# A chooser tells no larger pictures apart, and a step that looks at all samples has fewer to look at.
_MOST_ROWS = 1024
# The windows of a row of pixels that are checked make whole rows, of which the oracle of a chain has some
# ranges in float64: measured 12 rows of float32 for each that a result reaches, and what malloc keeps.
_PROOF_ROWS = 16


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
    range : str
        What becomes of values out of range, where the result is float32.
    identity : str
        What is computed, where the settings do not say it.
    between : int
        Pictures of float32 that a band takes beside its result.
    proof_bytes : int
        What the oracle of a band takes, where that is more than little.
    """

    problem: Problem
    device: DeviceInfo
    choice: Choice[Any]
    text: str
    facts: dict[str, object]
    range: RangeMode = "clip"
    identity: str = ""
    between: int = 0
    proof_bytes: int = 0

    @abstractmethod
    def run(self, images: Iterator[np.ndarray], outputs: Iterator[np.ndarray], receive: Received) -> None:
        """Compute images, one by one, into the arrays for their results; hand each over, in order."""

    @abstractmethod
    def verified(self, part: Part, affordable: int) -> Verification:
        """Compare some of the results of a band with the oracle."""

    def clipped(self, part: Part, given: np.dtype[Any], saved: np.dtype[Any]) -> Clipped:
        """Return how much of the results of a band is clipped in the file; of what clips nothing, nothing."""
        return Clipped()


def bands_for(
    how: AnyFilter, shape: tuple[int, int, int], given: np.dtype[Any], saved: np.dtype[Any]
) -> Bands:
    """Return what computes a picture of a shape and type, saved in a type; refuse what needs all."""
    if isinstance(how, OperationFilter):
        return _OperationBands(how, shape, given)
    if isinstance(how, ChainFilter):
        return _ChainBands(how, shape, given)
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
        self.range = how.settings.range

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
            added=variant.added_to(part.problem, mask, part.image),
        )  # fmt: skip

    def clipped(self, part: Part, given: np.dtype[Any], saved: np.dtype[Any]) -> Clipped:
        """Return how much of a band is clipped, by windows all over it."""
        request = _band_request(self._how, self._whole, part.image)
        return self._how.clipped(request, given, saved, part.values) or Clipped()


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
        operation = operation_named(how.name)
        if operation.window is None:
            raise _needs_all(f"--operation {operation.key}")
        self._how = how
        reach = operation.window(operation.read(how.parameters))
        # Of few pixels: what is refused of the channels and the type, is refused now.
        call = how.call_of(np.zeros((8, 8, shape[2]), given))
        self.device, self.choice, self.text, self.facts = (
            call.device,
            call.choice,
            how.what(call),
            how.facts(call),
        )
        self.problem = _reaching(reach, shape, given.name)

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


class _ChainBands(Bands):
    """Every step of a band before the next one: together they reach as far as the longest way."""

    def __init__(self, how: ChainFilter, shape: tuple[int, int, int], given: np.dtype[Any]) -> None:
        height, width, channels = shape
        # Variants are chosen once. The shape alone: it takes no memory.
        samples = np.broadcast_to(np.zeros((), given), (min(height, _MOST_ROWS), width, channels))
        whole = how.resolved(samples)
        for planned in whole.plan:
            if isinstance(variant := planned.variant, Variant):
                refuse_cut(variant, "a picture in bands", "band", 'Write "auto" as the variant of this step.')
        if (uncut := uncut_step(whole.plan)) is not None:
            step, is_mask = uncut.step, isinstance(uncut.step, MaskStep)
            raise _needs_all(f"step {step.id} " + ("with the border wrap" if is_mask else f"({step.title})"))
        self._how, self._chain = how, whole.as_planned
        self.device, self.choice = whole.device, whole.choice
        self.text, self.facts, self.range = how.what(whole), how.facts(whole), how.chain.range
        variants = [f"{planned.variant_key} {planned.block}" for planned in whole.plan]
        self.identity = f"{digest_of(whole.nodes)} {' '.join(variants)}"
        self.between = most_between(whole.plan) if self.device.kind == "cpu" else 0
        self.problem = as_cut(replace(whole.problem, height=height), whole.plan)
        reached = _PROOF_ROWS * self.problem.mask_shape[0]
        self.proof_bytes = reached * width * channels * FLOAT_BYTES if how.settings.verify else 0

    def run(self, images: Iterator[np.ndarray], outputs: Iterator[np.ndarray], receive: Received) -> None:
        """Do all steps with each image."""
        rows = 0
        for number, image in enumerate(images):
            if len(image) > rows:
                # What is kept of lower bands, the one at the edge of the picture, serves no other.
                trim_reused()
                rows = len(image)
            out = next(outputs)
            self._call(image).filter(out)
            receive(number, out)

    def verified(self, part: Part, affordable: int) -> Verification:
        """Compare some of the results of a band with the oracle, those of its halo too."""
        call = self._call(part.image)
        operands = call.job().operands
        return verify_chain(part.all_values, operands, call.problem, part.top, affordable)

    def clipped(self, part: Part, given: np.dtype[Any], saved: np.dtype[Any]) -> Clipped:
        """Return how much of a band is clipped, by values all over it."""
        return self._how.clipped(self._call(part.image), given, saved, part.values) or Clipped()

    def _call(self, image: np.ndarray) -> ChainCall:
        return ChainCall(image, self._chain, device=self.device.key, layout=self._how.settings.layout)


def _needs_all(what: str) -> BadValue:
    return BadValue(
        f"{what} on a picture in bands",
        "its result depends on the whole picture at once",
        "Give more memory (--max-bytes, without --memory), or take a smaller picture.",
    )


def _reaching(reach: int, shape: tuple[int, int, int], dtype: str) -> Problem:
    """Return how a picture is cut whose results depend on so many rows above and below."""
    height, width, channels = shape
    return Problem(
        height=height, width=width, channels=channels, dtype=dtype,
        mask_shape=(2 * reach + 1, 1), anchor=(reach, 0), border=Border.REPLICATE, cval=0.0,
        result_dtype=dtype,
    )  # fmt: skip
