"""The memory that an operation, its proof and its answer take, against what `filter` allows for."""

import tracemalloc

import numpy as np
import pytest

from engine.device.devices import backend
from engine.run.task import compute
from engine.work.resolve import Resolved
from tests.pairwise import by_pairs
from tests.picture_jobs import operation_request


@pytest.mark.slow
@by_pairs(key=["histogram", "compress", "find-patch", "median"], dtype=["uint8", "float32"])
def test_that_an_operation_takes_no_more_memory_than_filter_allows_for(key, dtype):
    """`filter` refuses a picture by so many bytes: twice its float32 result beside the result, and itself."""
    random = np.random.default_rng(4)
    samples = (random.random((600, 700, 1)) * (1 if dtype == "float32" else 255)).astype(dtype)
    settings = {"width": 2, "height": 2} if key == "find-patch" else {}
    resolved = Resolved(operation_request(operation=key, settings=settings, device="cpu"), samples)
    job = resolved.job()
    compute(job, backend("cpu"))
    tracemalloc.start()
    try:
        values = compute(job, backend("cpu"))
        job = resolved.job()
        job.task.verify(values, job, lambda fraction: None)
        resolved.answer(values)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # 10 MB whatever the size are not counted.
    assert peak < 3 * 4 * samples.size + 10_000_000
