"""The switch that shows recorded figures of a GPU, on each page that has some."""

from PySide6.QtWidgets import QToolButton

from gui.engine_link.engine_state import EngineState
from gui.widgets.panel_parts import text_button

RECORDED_TIP = (
    "Show what a GPU of another machine measured, beside the figures of this one and marked as recorded."
)
OFFER = "There is no GPU here: View > Recorded GPU (Ctrl+G) shows what another machine's GPU measured."
"""What a panel without figures of a GPU says where there is none."""


def recorded_button(state: EngineState) -> QToolButton:
    """Return the switch."""
    button = text_button(
        "device", "Recorded", "Show the figures of a recorded GPU", f"{RECORDED_TIP} (Ctrl+G)"
    )
    button.setCheckable(True)
    button.setChecked(state.shows_recorded)
    button.toggled.connect(state.show_recorded)
    state.recorded_changed.connect(lambda: button.setChecked(state.shows_recorded))
    return button
