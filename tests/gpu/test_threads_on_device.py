"""Several threads on one device: capturing a graph in one survives what the others do."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import engine

ROUNDS = 40


def test_that_masks_edited_in_one_thread_break_no_capture_in_another(device):
    picture = np.random.default_rng(3).integers(0, 99, (64, 96)).astype(np.float32)
    is_measured = threading.Event()

    def edit():
        """Filter with one mask after another, each written to constant memory, during a measurement."""
        edits = 0
        while not is_measured.is_set() or edits < ROUNDS:
            edits += 1
            values = engine.correlate(picture, [[1, edits, 1]] * 3, device=device, variant="register-blocked")
            assert values[5, 5] == (picture[4:7, 4:7] * [1, edits, 1]).sum()
        return edits

    with ThreadPoolExecutor(1) as other:
        edits = other.submit(edit)
        try:
            for _ in range(ROUNDS):
                # Verified, and timed by a graph that is captured three times.
                applied = engine.apply(
                    picture, "gaussian:5", device=device, variant="register-blocked", budget_s=0.001
                )
                assert applied.result.timing is not None
        finally:
            is_measured.set()
        assert edits.result() >= ROUNDS


def test_that_streams_of_two_threads_do_not_mix(device):
    """Both go through the same streams of the device, and both come to replay graphs."""
    random = np.random.default_rng(5)
    pictures = [random.integers(0, 99, (120, 80)).astype(np.float32) for _ in range(80)]

    def filtered(mask):
        values = engine.filter_stream(pictures, mask, device=device, ring=2).values
        for picture, result in zip(pictures, values, strict=True):
            np.testing.assert_array_equal(result, engine.correlate(picture, mask, device=device))

    with ThreadPoolExecutor(2) as threads:
        for done in [
            threads.submit(filtered, mask) for mask in ("1 2 1; 2 4 2; 1 2 1", "1 0 -1; 2 0 -2; 1 0 -1")
        ]:
            done.result()
