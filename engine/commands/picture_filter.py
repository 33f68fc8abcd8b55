"""What `filter` and `batch` do with each picture: one road for masks and all other operations."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from importlib import import_module
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from engine.api.request import Call
from engine.commands.picture_opening import Opened
from engine.commands.picture_settings import PictureSettings
from engine.device.devices import all_gpus
from engine.device_info import ALL_GPUS, DeviceInfo, titles
from engine.files.standard_streams import printable
from engine.geometry.layout import Layout
from engine.geometry.range_modes import RangeMode
from engine.image.form import Form
from engine.image.picture import Picture
from engine.mask.mask import Mask
from engine.results.measurement import Measurement
from engine.run.sampling import HARDLY_SAMPLED
from engine.run.task import AnyJob
from engine.run.variant import AnyVariant
from engine.verify.checked_samples import CheckedSamples
from engine.verify.verification import Verification
from engine.work.filtering.clipping import Clipped, clipped_in_file
from engine.work.resolve import Resolved

# Multiply-adds that the oracle may spend on a picture of a batch: 8 to 16 ms on one core. Every pixel of a
# photograph would take longer than all else together; of a larger one it checks the edges and a grid.
AFFORDABLE_MULTIPLY_ADDS = 20_000_000


class Result(NamedTuple):
    """The picture to save, what it cannot hold, and what was found beside it, for JSON and in words."""

    picture: Picture
    lost: tuple[str, ...] = ()
    found: Mapping[str, object] = {}
    found_text: str = ""


class PictureFilter(ABC):
    """A mask or another operation, with everything that was asked for.

    Its `call` is one picture with what computes it, of `engine.api`.
    """

    format: ClassVar[str]
    """The name of the document that `filter --json` prints."""
    name: str  # what is computed, in a word
    done = "filtered"  # what became of the pictures, for the summary of a batch
    mask: Mask | None = None
    range: RangeMode | None = None
    """What becomes of values out of range; None: the values have the range of the picture's type."""
    filters_alpha = False

    def __init__(self, settings: PictureSettings) -> None:
        self.settings = settings
        # Those that computed the picture of `measured`.
        self._used: Sequence[DeviceInfo] = ()

    def asking(self, settings: PictureSettings) -> Self:
        """Return the same with other settings."""
        other = copy(self)
        other.settings = settings
        return other

    def own_notes(self) -> tuple[str, ...]:
        """Return a sentence on each thing that is asked for and hardly meant."""
        return ()

    def picture_notes(self, picture: Picture) -> tuple[str, ...]:
        """Return a sentence on each thing of a picture that shows in its result."""
        return ()

    @cached_property
    def gpus(self) -> Sequence[DeviceInfo]:
        """Every GPU, where the settings ask for all; raises DeviceUnavailable where there is none."""
        return all_gpus() if self.settings.device == ALL_GPUS else ()

    @property
    def device_key(self) -> str:
        """The key of the device that the settings name, or of the first of several."""
        return self.gpus[0].key if self.gpus else self.settings.device

    @abstractmethod
    def named_variant(self) -> AnyVariant[Any, Any]:
        """Return the variant that the settings name."""

    @abstractmethod
    def why_not_gpu(self, form: Form, pictures: int) -> str | None:
        """Return why so many pictures are filtered on the CPU, with "" where that needs no words, or None."""

    def check(self, probe: Picture) -> list[str]:
        """Refuse what is wrong with every picture; return a sentence for each option that changes nothing.

        What another operation needs of a picture is known when it is opened.
        """
        return []

    @abstractmethod
    def call(self, opened: Opened) -> Call:
        """Return the call that computes a picture; refuse what it never computes."""

    @abstractmethod
    def resolved(self, samples: np.ndarray, saved: np.dtype[Any]) -> "Resolved":
        """Return what computes a picture in parts, of samples (H, W, C) whose values are not looked at.

        `saved` is the type of the file for the result. `auto` chooses what can be cut.
        """

    @abstractmethod
    def what(self, call: Any) -> str:
        """Return what is computed, in words."""

    @abstractmethod
    def facts(self, call: Any) -> dict[str, object]:
        """Return what is computed, for JSON."""

    @abstractmethod
    def finished(self, call: Call, opened: Opened, values: np.ndarray) -> Result:
        """Return what becomes of the values that the variant wrote."""

    def clipped(self, call: Call, opened: Opened, values: np.ndarray) -> Clipped | None:
        """Return how much of the result is clipped in the file; None where nothing can be."""
        return clipped_in_file(call.job(), values, opened.dtype, self.range)

    def measured(
        self, call: Call, on_values: Callable[[np.ndarray], object], *, is_recorded: bool
    ) -> tuple[np.ndarray, Measurement[Any] | None]:
        """Return the values with the proof and the time, if asked for; `on_values` is as of `measure`."""
        if self._is_spread(call):
            # Loaded only with several GPUs.
            spread: Any = import_module("engine.commands.spread")
            values, proof, self._used = spread.measured(
                call, self.gpus, on_values, verify=self.settings.verify, is_recorded=is_recorded
            )
            return values, proof
        self._used = (call.device,)
        if not self.settings.verify:
            return call.filter(), None
        # The result is wanted soon, not measured well as by `bench`: samples took 0.1 s of each command.
        applied = call.measure(replace(HARDLY_SAMPLED, is_recorded=is_recorded), on_values)
        return applied.values, applied.result

    def verified(self, call: Call, values: np.ndarray | CheckedSamples, seed: int) -> Verification | None:
        """Return how the values agree with the oracle, if asked for; raise VerificationFailed."""
        if not self.settings.verify:
            return None
        job: AnyJob = replace(call.job(), seed=seed, affordable=AFFORDABLE_MULTIPLY_ADDS)
        verification = job.task.verify(values, job, lambda fraction: None)
        verification.refuse_wrong(f"The result of '{job.variant.key}'")
        return verification

    def unused(self, call: Call, opened: Opened) -> list[str]:
        """Return a sentence for each option that changed nothing."""
        asked, variant, is_on_cpu = self.settings, call.choice.variant, call.device.kind == "cpu"
        notes = []
        if asked.memory is not None:
            notes.append("--memory was not used: this picture is filtered as a whole (--max-bytes).")
        if asked.block is not None and not variant.uses_block:
            notes.append(f"--block was not used: {variant.key} has no block.")
        if asked.layout is Layout.PACKED and is_on_cpu:
            why = f"{variant.key} runs on the CPU, where rows are always packed"
            notes.append(f"--layout was not used: {why}.")
        if asked.device not in ("auto", "cpu") and is_on_cpu:
            notes.append(f"--device was not used: {variant.key} runs on the CPU.")
        return notes

    def devices(self, call: Call) -> Sequence[DeviceInfo]:
        """Return the devices that computed the picture of `measured`, else those that a batch may use."""
        return self._used or (self.gpus if self.gpus and call.device.is_usable_gpu else (call.device,))

    def _is_spread(self, call: Call) -> bool:
        """Whether several GPUs share a picture; one that has to be whole is computed on the first."""
        if len(self.gpus) < 2 or not call.device.is_usable_gpu:
            return False
        job: AnyJob = call.job()
        reach = job.task.reach(job)
        return reach.exact and not reach.whole

    def headline(self, call: Call, target: str) -> str:
        """Return what ran, in words."""
        choice, problem = call.choice, call.problem
        block = f", block {choice.block}" if choice.variant.uses_block else ""
        is_packed = call.asked.layout is Layout.PACKED and call.device.kind == "cuda"
        rows = f", {call.asked.layout} rows" if is_packed else ""
        rounded = f", {problem.result_dtype} results" if problem.is_quantised else ""
        chosen = f" (auto: {choice.reason.clauses})" if choice.reason else ""
        on_devices = ", ".join(titles(self.devices(call)))
        where = f"by {choice.variant.key} on {on_devices}{block}{rows}{rounded}{chosen}"
        return f"{printable(target)}: {self.what(call)} {where}"

    def document(self, call: Call) -> dict[str, object]:
        """Return what ran, for JSON."""
        choice, device = call.choice, call.device
        return {
            "variant": choice.variant.key,
            "device": ", ".join(used.key for used in self.devices(call)),
            "block": {"x": choice.block.x, "y": choice.block.y} if choice.variant.uses_block else None,
            "layout": str(call.asked.layout) if device.kind == "cuda" else None,
        }


AnyFilter = PictureFilter
