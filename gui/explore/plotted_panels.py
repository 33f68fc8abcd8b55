"""What the page imports after the first paint: its panels with plots, since pyqtgraph takes 0.2 to 0.5 s."""

from collections.abc import Callable, Mapping
from typing import Any

from PySide6.QtWidgets import QWidget

from gui.explore.ablation.ablation_panel import AblationPanel
from gui.explore.blocks.blocks_panel import BlocksPanel
from gui.explore.launch.launch_panel import LaunchPanel
from gui.explore.results.metric_plot import MetricPlot
from gui.explore.roofline.roofline_panel import RooflinePanel
from gui.explore.why.why_panel import WhyPanel

__all__ = ["LATE_PANELS", "BlocksPanel", "MetricPlot"]

LATE_PANELS: Mapping[str, Callable[[Any], QWidget]] = {
    "launch": LaunchPanel,
    "why": WhyPanel,
    "roofline": RooflinePanel,
    "ablation": AblationPanel,
}
"""Those that are made of their state when they are first looked at, by the names of their docks."""
