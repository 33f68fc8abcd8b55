"""What the status line says of the last run, or of what is missing before one."""

from typing import Any

from engine.device_info import SIMULATOR
from engine.results.columns import layout_suffix
from engine.results.measurement import Measurement
from engine.results.quantities import ms_text

EARLIER = "for an earlier problem"
"""For runs whose picture, mask or parameters have changed since."""


def run_sentence(result: Measurement[Any], *, is_earlier: bool = False) -> str:
    """Return the last run with its time and its proof."""
    last = f"Last run, {EARLIER}" if is_earlier else "Last run"
    name = f"{result.title}{layout_suffix(result)}"
    if result.device == SIMULATOR and not result.failure:
        return f"{last}: {name}, {result.status}; simulated, so its times mean nothing"
    if result.kernel_ms is None:
        return f"{last}: {name}: {result.status}"
    return f"{last}: {name}, {ms_text(result.kernel_ms)}, {result.status}"


def no_run_sentence(engine_is_ready: bool, has_picture: bool) -> str:
    """Return what is missing before a kernel can be run, else what to press."""
    if not has_picture:
        return "No run yet: open a picture first (Ctrl+O)."
    if not engine_is_ready:
        return "No run yet: kernels run once the engine is up."
    return "No run yet: press Run (Ctrl+R) to measure and verify."
