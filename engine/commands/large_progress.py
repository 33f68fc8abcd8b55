"""How far a large picture is, and how it went, in words."""

import time
from collections.abc import Sequence

from engine.commands.large_filter import Done
from engine.commands.output import log
from engine.image.budget import bytes_text
from engine.verify.verification import Verification


class ProgressLog:
    """Prints how far a picture is, a line every few seconds."""

    def __init__(self, name: str, every_s: float = 3.0) -> None:
        self._name, self._every_s = name, every_s
        self._begin_s = self._last_s = time.monotonic()
        self._first: float | None = None

    def __call__(self, fraction: float, words: str) -> None:
        """Print a line where the last one is some seconds ago."""
        now_s = time.monotonic()
        if self._first is None:
            self._first, self._begin_s = fraction, now_s
        # Rarer in long runs.
        if now_s - self._last_s < max(self._every_s, (now_s - self._begin_s) / 20):
            return
        self._last_s = now_s
        done = fraction - self._first
        left = (now_s - self._begin_s) * (1.0 - fraction) / done if done > 0 else 0.0
        about = f", about {_duration(left)} left" if left else ""
        log(f"{self._name}: {100 * fraction:.0f} % {words}{about}")


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def rate_text(done: Done) -> str:
    """Return how fast it was, in words."""
    rate = done.source_bytes / max(done.elapsed_s, 1e-9)
    return f"{done.elapsed_s:.3g} s, {bytes_text(int(rate))} of pixels per second"


def proof_text(proofs: Sequence[Verification | None]) -> str:
    """Return the proof in words."""
    return ", ".join("not verified" if proof is None else proof.sentence() for proof in proofs)
