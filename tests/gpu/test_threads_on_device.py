"""Several threads of one program on one device: a graph that one captures outlives what the others do meanwhile."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import engine

ROUNDS = 40


def test_that_masks_edited_in_one_thread_break_no_capture_in_another(device: str) -> None:
    picture = np.random.default_rng(3).integers(0, 99, (64, 96)).astype(np.float32)
    is_measured = threading.Event()

    def edit() -> int:
        """Filter with one mask after another, each of which writes constant memory, while somebody measures."""
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
