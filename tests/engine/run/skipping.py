"""A variant that leaves one sample of its result as it was."""

from dataclasses import replace
from typing import Any

from engine.device.launches import Prepared
from engine.variants.contract import Variant
from engine.variants.registry import variant


class Skipping:
    """What is prepared, launched and counted; the sample at `place` is put back."""

    def __init__(self, prepared: Prepared, place: tuple[int, int, int] | None = None) -> None:
        self._prepared, self._place = prepared, place
        self.launches = 0

    def launch(self, image: Any, out: Any, stream: Any = None) -> None:
        """Filter, but for one sample."""
        self.launches += 1
        before = None if self._place is None else out[self._place]
        self._prepared.launch(image, out, stream)
        if self._place is not None:
            out[self._place] = before


def skipping_serial(place: tuple[int, int, int]) -> Variant:
    """Return `cpu-serial` without one of its samples."""
    serial = variant("cpu-serial")
    return replace(serial, prepare=lambda *given: Skipping(serial.prepare(*given), place))
