from PySide6.QtCore import QTimer

from gui.widgets.turns import Turns


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
