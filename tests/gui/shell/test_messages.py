import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton, QToolButton

from engine.errors import CodeNotKept, ImageReadError
from gui.engine_link.engine_state import EngineState
from gui.page.contract import PageStatus
from gui.page.messages import Messages, Severity, WindowMessage
from gui.shell.bars import MessageBar, StatusLine
from tests.gui.fake_engine import READY


@pytest.fixture
def messages(qapp):
    return Messages()


@pytest.fixture
def bar(messages, qtbot):
    bar = MessageBar(messages)
    qtbot.addWidget(bar)
    return bar


def test_that_a_newer_message_replaces_an_older_and_dismissed_shows_it_again(bar, messages, qtbot):
    assert bar.isHidden()
    error = ImageReadError("photo.png cannot be opened", "the file is empty", "choose another")
    messages.show_error("open", error)
    assert bar.text == "photo.png cannot be opened. The file is empty. Choose another."
    messages.show(WindowMessage("a", Severity.WARNING, "First"))
    messages.show(WindowMessage("b", Severity.ERROR, "Second"))
    assert bar.text == "Second."
    qtbot.mouseClick(bar.findChild(QToolButton), Qt.MouseButton.LeftButton)
    assert bar.text == "First."
    for _ in range(2):
        qtbot.mouseClick(bar.findChild(QToolButton), Qt.MouseButton.LeftButton)
    assert bar.isHidden()
    done = []
    messages.show(WindowMessage("a", Severity.INFO, "<b>x</b>.png cannot be opened"))
    assert "&lt;b&gt;x&lt;/b&gt;.png" in bar._text.text()
    messages.show(
        WindowMessage("a", Severity.WARNING, "Lost", action="Again", act=lambda: done.append("again"))
    )
    assert messages.count == 1
    qtbot.mouseClick(bar.findChild(QPushButton), Qt.MouseButton.LeftButton)
    assert (done, bar.isHidden()) == (["again"], True)
    messages.show(WindowMessage("mask", Severity.ERROR, "no mask"))
    messages.show(WindowMessage("open", Severity.INFO, "photo.png"))
    messages.forget_errors()
    assert (messages.newest.source, messages.count) == ("open", 1)


def test_that_a_message_is_shown_where_it_belongs(bar, messages):
    explore, course, matrices = "a page", "another page", "a third page"
    messages.show_page(course)
    messages.show(WindowMessage("open", Severity.ERROR, "Said on this page"))
    messages.on(explore).show(WindowMessage("preview", Severity.ERROR, "Of the page Explore"))
    assert bar.text == "Said on this page."
    messages.show_page(explore)
    assert bar.text == "Of the page Explore."
    messages.show_page(matrices)
    assert bar.isHidden()
    messages.everywhere.show(WindowMessage("engine", Severity.ERROR, "The engine ended"))
    for page in (explore, course, matrices):
        messages.show_page(page)
        assert bar.text == "The engine ended."


def test_that_only_information_expires_also_under_an_error(bar, messages):
    for severity in Severity:
        messages.show(WindowMessage("a", severity, "Saved"))
        # Also one that comes back from under another message.
        messages.show(WindowMessage("b", Severity.ERROR, "It failed"))
        messages.clear("b")
        bar._expiry.timeout.emit()
        assert bar.isHidden() == (severity is Severity.INFO)
        messages.clear("a")
    for source in "abc":
        messages.show(WindowMessage(source, Severity.INFO, "Saved"))
    messages.show(WindowMessage("d", Severity.ERROR, "It failed"))
    bar._expiry.timeout.emit()
    assert (bar.text, messages.count) == ("It failed.", 1)


def test_that_a_cache_that_keeps_nothing_is_told_once_however_many_hosts_notice_it(make_bench):
    bench = make_bench()
    warning = CodeNotKept("Compiled code cannot be kept in /full", "the disk is full", "Mend that.")
    bench.fake.notice(warning)
    bench.settle()
    message = bench.messages.newest
    assert (message.severity, message.what, message.why) == (Severity.INFO, warning.what, warning.why)
    bench.messages.clear(message.source)
    bench.fake.notice(warning)
    bench.settle()
    assert bench.messages.newest is None


def test_that_the_status_line_says_what_the_engine_is_and_how_far_slow_work_is(qtbot, show_widget):
    state = EngineState()
    line = show_widget(StatusLine(state))
    state.set_ready(READY)
    assert line._engine.text() == "Engine: CPU, 2 cores, ready"
    line.show_page(PageStatus(device="simulator"))
    assert line._engine.text() == "Engine: CUDA simulator, ready"
    state.set_status("lost: it crashed (SIGSEGV)")
    assert "SIGSEGV" in line._engine.text()
    line.resize(500, line.sizeHint().height())
    line.show_page(PageStatus("It failed. " * 40))
    assert line.last.toolTip() == line.last.text()
    assert line.width() == 500
    state._slow_timer.setInterval(1)
    state.set_task("run", "verifying", 0.25)
    assert not line._bar.isVisible()
    qtbot.waitUntil(line._bar.isVisible)
    assert (line._stage.text(), line._bar.value()) == ("verifying", 250)
    state.end_task("run")
    assert not line._bar.isVisible()
    assert line.last.isVisible()
    # Short work is never shown as slow.
    state.set_task("preview", "filtering")
    state.end_task("preview")
    assert not state._slow_timer.isActive()
