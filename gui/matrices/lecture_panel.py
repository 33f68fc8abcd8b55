"""The lecture on products of matrices: its formula and numbers, and those of the device here."""

from PySide6.QtWidgets import QFrame, QTextBrowser

from engine.device_info import AUTO
from engine.results.quantities import digits_text
from engine.tasks.product.lecture import (
    BYTES_PER_ACCESS,
    LECTURE_BANDWIDTH_GB_S,
    LECTURE_DEVICE,
    PRINTED_GFLOPS_TILE_16,
    bandwidth_limited_gflops,
)
from gui.engine_link.engine_state import EngineState
from gui.matrices.matmul_state import MatmulState
from gui.style.metrics import GRID
from gui.style.theme import Theme, current_theme, theme_notifier

_LECTURE_TILE = 16


class LecturePanel(QTextBrowser):
    """CGMA, the limit that bandwidth sets, and why a device may do better."""

    def __init__(self, matmul: MatmulState, engine_state: EngineState) -> None:
        super().__init__()
        self._matmul = matmul
        self._engine_state = engine_state
        self.setFrameShape(QFrame.Shape.NoFrame)
        # The ground is that of the panel.
        self.viewport().setAutoFillBackground(False)
        self.setAccessibleName("What the lecture says")
        matmul.settings_changed.connect(self._show)
        engine_state.ready_changed.connect(self._show)
        theme_notifier().changed.connect(self._show)
        self._show()

    def _show(self) -> None:
        self.setHtml(_lecture_html(current_theme(), *self._device()))

    def _device(self) -> tuple[str, float | None]:
        """Return the name and the bandwidth of the device that is chosen; of the first one for Automatic."""
        chosen = self._matmul.settings.device
        for device in self._engine_state.devices:
            if device.bandwidth_gb_s is not None and chosen in (AUTO, device.key):
                return device.title, device.bandwidth_gb_s
        return "", None


def _lecture_html(theme: Theme, device: str, bandwidth_gb_s: float | None) -> str:
    bandwidths = [(LECTURE_DEVICE, LECTURE_BANDWIDTH_GB_S)]
    if bandwidth_gb_s is not None:
        bandwidths.append((device, bandwidth_gb_s))
    rows = "".join(_row(name, bandwidth) for name, bandwidth in bandwidths)
    formula = f"GFLOPS ≤ bandwidth ÷ {BYTES_PER_ACCESS} bytes × CGMA"
    close = f"margin-top: {GRID}px; margin-bottom: {GRID}px;"
    return f"""
<p style="{close}"><b>CGMA</b>, compute to global memory access: operations per load from global memory.</p>
<p style="{close}"><b>matmul-naive</b> loads an element of M and one of N for a multiplication and an
addition: CGMA&nbsp;1.</p>
<p style="{close}"><b>matmul-tiled</b> shares each loaded element among the T threads of a row or column of
its T&nbsp;x&nbsp;T block: CGMA&nbsp;T.</p>
<p style="{close}">Memory feeds no more operations than</p>
<p style="{close} background:{theme.raised}"><b>&nbsp;{formula}</b></p>
<table cellspacing="0" cellpadding="3">
<tr style="color:{theme.muted}"><td></td><td align="right">&nbsp;GB/s</td><td align="right">&nbsp;naive</td>
<td align="right">&nbsp;T = {_LECTURE_TILE}</td></tr>{rows}</table>
<p style="{close}">The lecture prints {PRINTED_GFLOPS_TILE_16:g} for T = {_LECTURE_TILE}, a misprint.</p>
<p style="{close}">Caches are left out: where L1 and L2 serve most loads, a kernel reaches more. With large
tiles it is shared memory and arithmetic that limit it.</p>
<p style="{close} color:{theme.muted}">COSC 407, CUDA Memories and Performance Revisited.</p>"""


def _row(name: str, bandwidth_gb_s: float) -> str:
    cells = (
        digits_text(bandwidth_gb_s, 3 if bandwidth_gb_s < 100 else 4),
        digits_text(bandwidth_limited_gflops(1.0, bandwidth_gb_s), 3),
        digits_text(bandwidth_limited_gflops(float(_LECTURE_TILE), bandwidth_gb_s), 4),
    )
    return f"<tr><td>{name}</td>{''.join(f'<td align=right>&nbsp;&nbsp;{cell}</td>' for cell in cells)}</tr>"
