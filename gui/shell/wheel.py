"""The mouse wheel scrolls; it changes a setting only where the person is at work on it."""

from PySide6.QtCore import QEvent, QObject, QPoint, Qt
from PySide6.QtGui import QWheelEvent, QWindow
from PySide6.QtWidgets import (
    QAbstractSlider,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QScrollBar,
    QTabBar,
    QWidget,
)


class WheelScrolls(QObject):
    """Keeps the wheel from controls without the focus, in every window of the program: their panel scrolls.

    A number box or a slider with the focus takes steps: its cursor or its frame shows that it does. A list
    that drops down and a bar of tabs never do. They keep the focus after a choice, when the person is done
    with them and scrolls on.

    It sees every event of the program (2 µs each), so it is made after the first paint, which is 15,000 of
    them.
    """

    def __init__(self, app: QApplication, parent: QObject) -> None:
        super().__init__(parent)
        app.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() != QEvent.Type.Wheel:
            return False
        assert isinstance(event, QWheelEvent)
        if isinstance(watched, QWindow):
            # A window has it before Qt gives the focus to what takes it by the wheel.
            _keep_focus(watched, event.position().toPoint())
            return False
        if not _is_control(watched) or _takes_steps(watched):
            return False
        # Qt offers it to the widgets around.
        event.ignore()
        return True


def _keep_focus(window: QWindow, point: QPoint) -> None:
    """Let the wheel give no focus to the control at this place of a window, from now on."""
    top = QWidget.find(window.winId())
    widget: QObject | None = top.childAt(point) if top is not None else None
    while isinstance(widget, QWidget) and not _is_control(widget):
        widget = widget.parent()
    if isinstance(widget, QWidget) and widget.focusPolicy() == Qt.FocusPolicy.WheelFocus:
        widget.setFocusPolicy(Qt.FocusPolicy.StrongFocus)


def _is_control(widget: QObject) -> bool:
    # A scroll bar is a slider too.
    return isinstance(widget, QAbstractSpinBox | QComboBox | QAbstractSlider | QTabBar) and not isinstance(
        widget, QScrollBar
    )


def _takes_steps(control: QObject) -> bool:
    return isinstance(control, QAbstractSpinBox | QAbstractSlider) and control.hasFocus()
