"""Where the results of two filterings of one picture differ. Called on: the host's main thread."""

import time

import numpy as np
from numpy.typing import NDArray

from engine.device.devices import backend
from engine.host import shared
from engine.host.protocol import Filtered
from engine.host.shared_picture import SharedSegment, screen_arrays
from engine.results.progress import Checkpoint, Progress
from engine.run.compute import compute
from engine.work.messages import Difference, PictureJob, ShowDifference
from engine.work.resolved_job import resolved_job


def difference(request: ShowDifference, report: Checkpoint) -> Difference:
    """Filter twice and show the absolute difference; the largest one is white, or nothing is."""
    begin = time.perf_counter()
    first, second = request.first, request.second
    results = [_values_of(job, report) for job in (first, second)]
    found = results[0].astype(np.float32, copy=False)
    np.subtract(found, results[1], out=found)
    np.abs(found, out=found)
    largest = float(found.max(initial=0.0))
    with SharedSegment() as segment:
        values, *levels = segment.create((found.shape, "float32"), *screen_arrays(*found.shape[:2]))
        shared.attach(values)[...] = found
        screen = segment.rendered(values, tuple(levels), largest or 1.0, alpha=first.picture.alpha)
    elapsed_ms = (time.perf_counter() - begin) * 1e3
    return Difference(Filtered(values, screen, second.variant, second.device, elapsed_ms), largest)


def _values_of(asked: PictureJob, report: Checkpoint) -> NDArray[np.generic]:
    """Return what a job computes."""
    assert asked.picture.in_memory
    resolved = resolved_job(asked)
    job, device = resolved.job(), resolved.device
    report(Progress("filtering for the difference", 0.0, 2.0 + job.task.expected_launch_s(job, device)))
    values = np.empty(job.operands.samples.shape, job.problem.result_dtype)
    compute(job, backend(device.key), values)
    return values
