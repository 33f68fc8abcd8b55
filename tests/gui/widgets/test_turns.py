import time

from PySide6.QtCore import QCoreApplication, QEvent, QObject, QTimer

from gui.page.slot import PAUSE_MS, Turns


def test_that_jobs_run_once_each_in_order_with_the_event_loop_between_them(qtbot):
    turns, log = Turns(), []

    def first():
        log.append("first")
        # What is asked for during a turn waits for its own.
        turns.ask(third)
        QTimer.singleShot(0, lambda: log.append("window"))

    def second():
        log.append("second")

    def third():
        log.append("third")

    for job in (first, second, first, second):
        turns.ask(job)
    assert log == []
    qtbot.waitUntil(lambda: "third" in log)
    assert log == ["first", "window", "second", "third"]


def test_that_a_job_that_fails_does_not_hold_up_the_next(qtbot):
    turns, log = Turns(), []

    def fail():
        raise ValueError("on purpose")

    turns.ask(fail)
    turns.ask(lambda: log.append("next"))
    with qtbot.captureExceptions() as raised:
        qtbot.waitUntil(lambda: bool(log))
    assert [str(error) for _, error, _ in raised] == ["on purpose"]


def test_that_the_next_job_waits_for_what_the_one_before_it_has_set_off(qtbot):
    turns, log = Turns(), []
    layout, paint = (QEvent.Type(QEvent.registerEventType()) for _ in range(2))

    class Panel(QObject):
        def event(self, event):
            if event.type() == layout:
                # Longer than the pause, and something follows it in turn.
                end = time.perf_counter() + 2 * PAUSE_MS / 1e3
                while time.perf_counter() < end:
                    pass
                log.append("layout")
                QCoreApplication.postEvent(self, QEvent(paint))
            elif event.type() == paint:
                log.append("paint")
            return super().event(event)

    panel = Panel()
    turns.ask(lambda: (log.append("first"), QCoreApplication.postEvent(panel, QEvent(layout))))
    turns.ask(lambda: log.append("second"))
    qtbot.waitUntil(lambda: "second" in log)
    assert log == ["first", "layout", "paint", "second"]
