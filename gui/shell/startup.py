"""Measures the time from process start to the first paint and to the first result on the screen."""

import json
from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtWidgets import QApplication, QWidget

from engine.errors import EngineError
from engine.files.standard_streams import log, print_answer
from gui.shell.main_window import MainWindow

LONGEST_WAIT_MS = 60_000
FAILED = 4

Age = Callable[[], tuple[float, str]]


class _PaintWatch(QObject):
    """Calls back once, after the next paint of a widget is on the screen."""

    def __init__(self, widget: QWidget, then: Callable[[], None]) -> None:
        super().__init__(widget)
        self._widget = widget
        self._then = then
        widget.installEventFilter(self)
        widget.update()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Paint:
            self._widget.removeEventFilter(self)
            QTimer.singleShot(0, self._then)
        return False


def measure_startup(app: QApplication, window: MainWindow, age: Age) -> int:
    """Show the window, write one line of JSON on stdout, close, and return the exit status.

    Raises EngineError where there is no result, such as of a picture that cannot be opened.
    """
    times: dict[str, float | str | None] = {
        "first_paint_ms": None,
        "first_result_ms": None,
        "counted_from": age()[1],
        "uncertainty_ms": 10.0 if age()[1] == "process start" else 1.0,
    }

    def note(name: str) -> None:
        if times[name] is None:
            times[name] = round(age()[0], 1)

    errors: list[EngineError] = []

    def first_result() -> None:
        note("first_result_ms")
        app.quit()

    def settled(error: EngineError | None) -> None:
        if error is None and page.status.why_no_run:
            error = EngineError("There is no first result", page.status.why_no_run, "Add a picture.")
        if error is None:
            _PaintWatch(page.surface, first_result)
        else:
            errors.append(error)
            app.quit()

    window.painted.connect(lambda: QTimer.singleShot(0, lambda: note("first_paint_ms")))
    page = window.first_page
    page.settled.connect(settled)
    QTimer.singleShot(LONGEST_WAIT_MS, app.quit)
    window.show()
    app.exec()
    if errors:
        raise errors[0]
    status = print_answer(json.dumps(times, allow_nan=False))
    if times["first_result_ms"] is None:
        message = window.message_bar.text or "The engine did not answer within a minute."
        log(f"No result was shown: {message}")
        return FAILED
    return status
