"""`filter --device cuda:all`: a picture's rows in chunks over all GPUs of the machine."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from engine.device.devices import backend
from engine.device.host_memory import empty_result
from engine.device_info import DeviceInfo
from engine.flow.chunks import Queue, Timeline
from engine.flow.stream import Asked, Stream
from engine.results.measurement import AnyResult, Spread, Timing
from engine.run.measure import unrun
from engine.work.resolve import Resolved


def measured(
    call: Resolved,
    on_values: Callable[[np.ndarray], object],
    *,
    verify: bool,
    is_recorded: bool,
) -> tuple[np.ndarray, AnyResult | None, list[DeviceInfo]]:
    """Return the values of a call with the proof and the time, if asked for, and the GPUs that computed it.

    `on_values` is as of `measure`.
    """

    def streamed() -> tuple[np.ndarray, Timeline]:
        values = empty_result(call.samples, call.samples.shape, call.problem.result_dtype)
        timeline = Stream(total=1).run([Asked(0, call, values)])
        return values, timeline

    values, first = streamed()
    keys = {chunk.device for chunk in first.chunks}
    used = [gpu for gpu in call.devices if gpu.key in keys]
    if not verify:
        return values, None, used
    # Nothing is compiled or allocated the second time.
    _, timeline = streamed()
    on_values(values)
    job = call.job()
    verification = job.task.verify(values, job, lambda fraction: None)
    verification.refuse_wrong(f"The result of '{job.variant.key}'")
    proof = replace(
        unrun(job, call.device, is_recorded=False),
        device=", ".join(gpu.key for gpu in used),
        verification=verification,
        work=job.variant.work(job.problem, job.block),
        timing=_timing(first, timeline),
    )
    if is_recorded:
        proof = replace(proof, environment=backend(call.device.key).environment())
    return values, proof, used


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
