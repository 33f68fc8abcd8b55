"""Asks whether the result of the whole chain is meant, or that of the step that is shown."""

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMessageBox, QWidget

from gui.explore.chain.step_rows import title_of_step
from gui.explore.state import State


def ask_which(state: State, parent: QWidget | None, chosen: Callable[[bool], None]) -> QMessageBox:
    """Ask, not modally for the program; `chosen` is called with True for the chain, and not after Cancel."""
    number, count = state.selected + 1, len(state.steps)
    box, role = QMessageBox(parent), QMessageBox.ButtonRole
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.setWindowTitle("Save the result")
    box.setText(f"<b>Save the result of the chain, or of step {number}?</b>")
    box.setInformativeText(
        f"The picture shows the result of step {number} of {count}, {title_of_step(state.step)}."
    )
    chain = box.addButton("&Chain", role.AcceptRole)
    chain.setToolTip("Show the result of the last step, and save it.")
    step = box.addButton(f"&Step {number}", role.ActionRole)
    step.setToolTip("Save what the picture shows.")
    box.addButton("Cancel", role.RejectRole)
    box.setDefaultButton(chain)
    chain.clicked.connect(lambda: chosen(True))
    step.clicked.connect(lambda: chosen(False))
    box.open()
    return box
