import threading

import pytest

from gui.page.messages import Messages
from gui.shell import crash_log
from gui.shell.unexpected import UnexpectedErrors


@pytest.fixture
def errors(qapp, monkeypatch):
    monkeypatch.setattr("sys.excepthook", None)
    monkeypatch.setattr("threading.excepthook", None)
    errors = UnexpectedErrors(Messages())
    errors.install()
    return errors


@pytest.fixture
def log(monkeypatch, tmp_path):
    path = tmp_path / "crash.log"
    with path.open("w") as file:
        monkeypatch.setattr(crash_log, "_file", file)
        yield path


def test_that_an_error_in_a_slot_is_told_without_a_traceback_and_logged_with_one(errors, log, qapp):
    try:
        raise ValueError("the slot failed")
    except ValueError as error:
        errors.catch(type(error), error, error.__traceback__)
    qapp.processEvents()
    message = errors._messages.newest
    assert message.why == "ValueError: the slot failed"
    assert "Traceback" not in message.what + message.why + message.remedy
    assert "Traceback" in log.read_text()


def test_that_an_error_in_a_thread_is_told(errors, log, qtbot):
    with qtbot.waitSignal(errors.happened):
        thread = threading.Thread(target=lambda: [][1])
        thread.start()
        thread.join()
    qtbot.waitUntil(lambda: errors._messages.newest is not None)
    assert "IndexError" in errors._messages.newest.why


def test_that_the_crash_log_is_where_the_system_keeps_logs(tmp_path_factory):
    assert crash_log.log_path().is_relative_to(tmp_path_factory.getbasetemp())


def test_that_without_a_place_for_the_log_errors_go_to_stderr(monkeypatch, capsys):
    monkeypatch.setattr(crash_log, "_file", None)
    crash_log.note_error(ValueError("nowhere"))
    assert "ValueError: nowhere" in capsys.readouterr().err
