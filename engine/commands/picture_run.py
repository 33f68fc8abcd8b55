"""A picture that is opened, with the call that filters it: one road for masks and all other operations."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from engine.api.filtering import Request
from engine.commands.output import printable
from engine.commands.picture_filter import Opened, PictureFilter
from engine.errors import VerificationFailed
from engine.geometry.layout import Layout
from engine.image.form import Form
from engine.image.picture import Picture
from engine.run.job import AnyJob
from engine.run.sampling import HARDLY_SAMPLED
from engine.variants.contract import AnyVariant
from engine.verify.checked_samples import CheckedSamples
from engine.verify.verification import Verification

if TYPE_CHECKING:
    from engine.api.operation import OperationCall
    from engine.results.measurement import RunResult

# Multiply-adds that the oracle may spend on a picture of a batch: 8 to 16 ms on one core. Every pixel of a
# photograph would take longer than all else together; of a larger one it checks the edges and a grid.
AFFORDABLE_MULTIPLY_ADDS = 20_000_000

ResultArray = Callable[[NDArray[np.generic], DTypeLike], NDArray[np.generic]]
"""Returns an array for the result of filtering samples, of their shape and of a type."""


class Result(NamedTuple):
    """The picture to save, what it cannot hold, and what was found beside it, for JSON and in words."""

    picture: Picture
    lost: tuple[str, ...] = ()
    found: Mapping[str, object] = {}
    found_text: str = ""


class PictureRun(ABC):
    """One picture on its way from opened to saved. Raises an EngineError where it cannot be filtered."""

    format: ClassVar[str]
    """The name of the document that `filter --json` prints."""
    call: "Request | OperationCall"

    def __init__(self, how: PictureFilter, opened: Opened) -> None:
        self.how, self.opened = how, opened

    @staticmethod
    @abstractmethod
    def named_variant(how: PictureFilter) -> AnyVariant[Any, Any]:
        """Return the variant that the settings name."""

    @staticmethod
    @abstractmethod
    def why_not_gpu(how: PictureFilter, form: Form, pictures: int) -> str | None:
        """Return why so many pictures are filtered on the CPU, with "" where that needs no words, or None."""

    @property
    def stream(self) -> tuple[str, str] | None:
        """Variant and type of the results of the stream that may take the picture; None where none may."""
        return None

    def for_bands(self) -> "PictureRun":
        """Return the run for a picture that may be filtered in bands."""
        return self

    @property
    @abstractmethod
    def what(self) -> str:
        """What is computed, in words."""

    @property
    @abstractmethod
    def facts(self) -> dict[str, object]:
        """What is computed, for JSON."""

    @abstractmethod
    def compute(self, array: ResultArray) -> np.ndarray:
        """Return what the variant writes, unverified, in an array that `array` returns where it can be."""

    @abstractmethod
    def finished(self, values: np.ndarray) -> Result:
        """Return what becomes of the values that the variant wrote."""

    def job(self, seed: int = 0, affordable: int | None = None) -> AnyJob:
        """Return the job for the pipeline."""
        return replace(self.call.job(), seed=seed, affordable=affordable)

    def refuse(self) -> None:
        """Raise an EngineError where the variant cannot take the picture on its device."""
        self.job().refuse(self.call.device)

    def load_code(self) -> None:
        """Load the code that filters pictures like this one on the CPU."""
        if self.call.device.kind == "cpu":
            job = self.job()
            job.task.prepare(job)

    def measured(
        self, on_values: Callable[[np.ndarray], object], *, is_recorded: bool
    ) -> "tuple[np.ndarray, RunResult | None]":
        """Return the values with the proof and the time, if asked for; `on_values` is as of `measure`."""
        if not self.how.settings.verify:
            return self.call.filter(), None
        # The result is wanted soon, not measured well as by `bench`: samples took 0.1 s of each command.
        applied = self.call.measure(replace(HARDLY_SAMPLED, is_recorded=is_recorded), on_values)
        return applied.values, applied.result

    def verified(self, values: np.ndarray | CheckedSamples, seed: int) -> Verification | None:
        """Return how the values agree with the oracle, if asked for; raise VerificationFailed."""
        if not self.how.settings.verify:
            return None
        job = self.job(seed, AFFORDABLE_MULTIPLY_ADDS)
        verification = job.task.verify(values, job, lambda fraction: None)
        if not verification.passed:
            what = f"The result of '{job.variant.key}'"
            raise VerificationFailed(what, verification.reason, "Choose another variant.")
        return verification

    def unused(self) -> list[str]:
        """Return a sentence for each option that changed nothing."""
        asked, variant, is_on_cpu = self.how.settings, self.call.choice.variant, self._is_on_cpu
        notes = []
        if asked.block is not None and not variant.uses_block:
            notes.append(f"--block was not used: {variant.key} has no block.")
        if asked.layout is Layout.PACKED and is_on_cpu:
            why = f"{variant.key} runs on the CPU, where rows are always packed"
            notes.append(f"--layout was not used: {why}.")
        if asked.device not in ("auto", "cpu") and is_on_cpu:
            notes.append(f"--device was not used: {variant.key} runs on the CPU.")
        return notes

    def headline(self, target: str) -> str:
        """Return what ran, in words."""
        choice, device = self.call.choice, self.call.device
        block = f", block {choice.block}" if choice.variant.uses_block else ""
        is_packed = self.call.asked.layout is Layout.PACKED and device.kind == "cuda"
        rows = f", {self.call.asked.layout} rows" if is_packed else ""
        problem = self.call.problem
        rounded = f", {problem.result_dtype} results" if problem.is_quantised else ""
        chosen = f" (auto: {choice.reason.clauses})" if choice.reason else ""
        where = f"by {choice.variant.key} on {device.title}{block}{rows}{rounded}{chosen}"
        return f"{printable(target)}: {self.what} {where}"

    def document(self) -> dict[str, object]:
        """Return what ran, for JSON."""
        choice, device = self.call.choice, self.call.device
        return {
            "variant": choice.variant.key,
            "device": device.key,
            "block": {"x": choice.block.x, "y": choice.block.y} if choice.variant.uses_block else None,
            "layout": str(self.call.asked.layout) if device.kind == "cuda" else None,
        }

    @property
    def _is_on_cpu(self) -> bool:
        return self.call.device.kind == "cpu"
