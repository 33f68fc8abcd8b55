"""A chain of steps, done with each picture."""

from dataclasses import replace
from typing import Any

import numpy as np

from engine.api.request import Call
from engine.commands.picture_filter import PictureFilter, Result
from engine.commands.picture_opening import Opened
from engine.commands.picture_settings import PictureSettings
from engine.device.devices import device_named
from engine.device_info import AUTO
from engine.errors import BadValue
from engine.files.standard_streams import printable
from engine.image.form import Form
from engine.image.result_picture import finished_picture, loss_sentences
from engine.results.measurement import Measurement, StepTime
from engine.run.variant import AnyVariant
from engine.work.chain_files import chain_named
from engine.work.merge import Merger, merged_where_faster
from engine.work.request import of_chain
from engine.work.resolve import Resolved
from engine.work.step_times import timed_steps, with_steps
from engine.work.steps import Chain


class ChainFilter(PictureFilter):
    """A chain, as the options change it."""

    format = "haloscope-chain-result"

    def __init__(self, settings: PictureSettings) -> None:
        super().__init__(settings)
        chain = chain_named(settings.chain or "")
        if settings.range != "clip":
            chain = replace(chain, range=settings.range)
        self.chain, self.range = chain, chain.range
        self.name = printable(chain.title or settings.chain or "")
        self.done = f"computed ({self.name})"
        self._mergers: tuple[Merger, ...] = ()
        self._times: tuple[StepTime, ...] = ()

    def named_variant(self) -> AnyVariant[Any, Any]:
        """Say that a chain has none: each step has its own."""
        raise BadValue("--variant with --chain", "each step has its own", 'Write "variant" into the step.')

    def why_not_gpu(self, form: Form, pictures: int) -> str | None:
        """Return "": the copies there and back take longer than short chains."""
        return ""

    def call(self, opened: Opened) -> Call:
        """Return the call that does the steps with a picture, linear ones merged if that is asked for."""
        pixels = opened.picture.pixels
        shape = pixels.shape if pixels.ndim == 3 else (*pixels.shape, 1)
        chain = self._merged(shape, pixels.dtype.name)
        return Call(pixels, of_chain(chain, device=self._device, layout=self.settings.layout))

    def resolved(self, samples: np.ndarray, saved: np.dtype[Any]) -> Resolved:
        """Return the steps for a picture in parts, linear ones merged if that is asked for."""
        chain = self._merged(samples.shape, samples.dtype.name)
        return Resolved(of_chain(chain, device=self._device, layout=self.settings.layout), samples).in_parts()

    @property
    def _device(self) -> str:
        return "cpu" if self.settings.device == AUTO else self.device_key

    def _merged(self, shape: Any, dtype: str) -> Chain:
        if not self.settings.merge:
            return self.chain
        chain, self._mergers = merged_where_faster(self.chain, shape, dtype, device_named(self._device))
        return chain

    def what(self, call: Resolved) -> str:
        """Return the chain with its steps, in words."""
        return f"{self.name} ({len(call.nodes)} steps)" if len(call.nodes) > 1 else self.name

    def facts(self, call: Resolved) -> dict[str, object]:
        """Return the chain and its steps, for JSON."""
        return {"operation": "chain", "chain": self.name, "steps": call.asked.chain.text}

    def measured(
        self, call: Call, on_values: Any, *, is_recorded: bool
    ) -> tuple[np.ndarray, Measurement[Any] | None]:
        """Return the values with the proof and the time; of each step too, for JSON."""
        values, proof = super().measured(call, on_values, is_recorded=is_recorded)
        if proof is not None and is_recorded:
            proof = with_steps(proof, call.job())
            self._times = timed_steps(call, proof)
        return values, proof

    def finished(self, call: Call, opened: Opened, values: np.ndarray) -> Result:
        """Return the picture to save, and a note for each kind of value that it cannot hold."""
        picture, dtype = opened
        values = values.reshape(call.shape)
        # A float32 file keeps its values.
        mode = "clip" if dtype == np.float32 else self.chain.range
        finished = finished_picture(picture, values, dtype, mode)
        return Result(finished, loss_sentences(values, finished.pixels, picture.dtype))

    def document(self, call: Call) -> dict[str, object]:
        """Return what ran, with the time of each step, for JSON."""
        steps = self._times or timed_steps(call)
        each = [{"id": s.id, "title": s.title, "variant": s.variant, "kernel_ms": s.ms} for s in steps]
        merged = [one.sentence for one in self._mergers]
        return super().document(call) | {"step_times": each, "merged": merged}

    def unused(self, call: Call, opened: Opened) -> list[str]:
        """Return a sentence for each option that changed nothing, and for each merger."""
        notes = [f"Merged: {one.sentence}." for one in self._mergers]
        if self.settings.merge and not notes:
            notes.append("--merge changed nothing: no linear steps are faster as one mask.")
        return notes + super().unused(call, opened)
