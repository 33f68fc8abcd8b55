"""The small square buttons of the mask panel."""

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QToolButton

from gui.style.icons import icon
from gui.style.metrics import GRID

_SIDE = 3 * GRID + 4
_ICON = 2 * GRID + 2


def tool_button(icon_name: str, name: str, tooltip: str) -> QToolButton:
    """Return a button with an icon, a name for screen readers and a tooltip that teaches."""
    button = QToolButton()
    button.setIcon(icon(icon_name))
    button.setIconSize(QSize(_ICON, _ICON))
    button.setFixedSize(_SIDE, _SIDE)
    button.setAutoRaise(True)
    button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    button.setAccessibleName(name)
    button.setToolTip(tooltip)
    return button
