"""The panels with plots that explain, by the names of their docks; each is made of its state."""

from collections.abc import Callable, Mapping
from typing import Any

from PySide6.QtWidgets import QWidget

from gui.explore.launch.launch_panel import LaunchPanel
from gui.explore.roofline.roofline_panel import RooflinePanel
from gui.explore.why.why_panel import WhyPanel

PANELS: Mapping[str, Callable[[Any], QWidget]] = {
    "launch": LaunchPanel,
    "why": WhyPanel,
    "roofline": RooflinePanel,
}
