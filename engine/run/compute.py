"""Runs one job of any task without a proof or a time: a preview, or an answer."""

import numpy as np

from engine.device.backend import Backend
from engine.run.task import AnyJob


def compute(job: AnyJob, backend: Backend, host_out: np.ndarray | None = None) -> np.ndarray:
    """Compute, unverified and untimed: a preview, or an answer, into `host_out` where that is given."""
    task, operands = job.task, job.operands
    job.refuse(backend.info)
    with backend.selected():
        prepared = task.prepare(job)
        buffers = task.allocate(backend, job, host_out)
        task.upload(backend, operands, buffers)
        backend.run(prepared, buffers)
        return backend.download(buffers)
