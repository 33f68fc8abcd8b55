"""A mask on all GPUs of the machine (`--device cuda:all`): the rows of a picture, or pictures, in chunks."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from engine.api.request import Request
from engine.commands.mask_filter import MaskFilter
from engine.commands.picture_settings import PictureSettings
from engine.device.devices import all_gpus, backend
from engine.device_info import DeviceInfo
from engine.flow.filtering import filter_stream
from engine.flow.timeline import Queue, Timeline
from engine.mask.mask import Mask
from engine.results.measurement import Measurement, Spread, Timing
from engine.run.measure import unrun


class SpreadFilter(MaskFilter):
    """A mask with everything that was asked for; raises DeviceUnavailable where there is no GPU."""

    def __init__(self, settings: PictureSettings, mask: Mask) -> None:
        super().__init__(settings, mask)
        self._gpus = all_gpus()
        # Those that filtered the picture of `measured`.
        self._used: Sequence[DeviceInfo] = ()

    @property
    def device_key(self) -> str:
        """The key of the first GPU."""
        return self._gpus[0].key

    def _request(self, pixels: np.ndarray, device: str) -> Request:
        return super()._request(pixels, self.device_key)

    def devices(self, call: Request) -> Sequence[DeviceInfo]:
        """Return the GPUs that filtered the picture of `measured`, else all of them."""
        is_spread = call.device.is_usable_gpu and self.stream(call) is not None
        return self._used or (self._gpus if is_spread else super().devices(call))

    def measured(
        self, call: Request, on_values: Callable[[np.ndarray], object], *, is_recorded: bool
    ) -> tuple[np.ndarray, Measurement[Any] | None]:
        """Return the values with the proof and the time, if asked for; `on_values` is as of `measure`.

        A picture that has to be whole, for its variant, is filtered on the first GPU.
        """
        is_cut = call.device.is_usable_gpu and call.choice.variant.band_invariant
        if len(self._gpus) == 1 or not is_cut:
            self._used = [call.device]
            return super().measured(call, on_values, is_recorded=is_recorded)
        result = "same" if call.problem.is_quantised else "float32"
        asked = self.arguments() | {"variant": call.choice.variant.key, "result": result}
        streamed = filter_stream(call.samples, self.mask, **asked)
        values, first = np.asarray(streamed.values), streamed.timeline
        keys = {chunk.device for chunk in first.chunks}
        self._used = [gpu for gpu in self._gpus if gpu.key in keys]
        if not self.settings.verify:
            return values, None
        # Nothing is compiled or allocated the second time.
        timeline = filter_stream(call.samples, self.mask, **asked).timeline
        on_values(values)
        job = call.job()
        verification = job.task.verify(values, job, lambda fraction: None)
        verification.refuse_wrong(f"The result of '{job.variant.key}'")
        proof = replace(
            unrun(job, call.device, is_recorded=False),
            device=", ".join(gpu.key for gpu in self._used),
            verification=verification,
            work=job.variant.work(job.problem, job.block),
            timing=_timing(first, timeline),
        )
        if is_recorded:
            proof = replace(proof, environment=backend(call.device.key).environment())
        return values, proof


def _timing(first: Timeline, second: Timeline) -> Timing:
    """Return the times of the second of two equal streams: the kernel's are those of the busiest GPU."""
    kernel_ms = dict.fromkeys((chunk.device for chunk in second.chunks), 0.0)
    for span in second.spans:
        if span.queue is Queue.KERNEL:
            kernel_ms[second.chunks[span.chunk].device] += span.ms
    return Timing(
        kernel=Spread((max(kernel_ms.values()),)),
        end_to_end=Spread((second.end_to_end_ms,)),
        compile_ms=max(0.0, first.end_to_end_ms - second.end_to_end_ms),
        allocate_ms=0.0,
        clock=second.clock,
    )
