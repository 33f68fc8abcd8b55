"""The real window and the real engine, whose process is killed: everything is answered, and the window goes on."""

import os
import signal

import pytest

from bench.kills.bench_window import BenchWindow
from engine.mask.mask import Mask
from tests.engine.host import faulty_hosts

PATIENCE_S = 60.0
NOTHING, DEADLY = Mask([[1]]), Mask([[1, 2]])


@pytest.fixture
def start_window(qapp):
    """Start a window with a picture and its preview; nothing of it is left at the end."""
    started = []

    def start():
        window = BenchWindow(qapp)
        started.append(window)
        window.show_mask(NOTHING)
        window.haloscope.window.first_page.pictures.open_sample("camera")
        assert window.wait(lambda: window.shows_the_job, PATIENCE_S), window.describe()
        return window

    yield start
    for window in started:
        window.close()
        assert window.blocks() == []
        assert window.client.unanswered() == []


def goes_on(window, number):
    """Whether all is answered and a further preview comes out right."""
    if not window.wait(lambda: window.is_at_rest, PATIENCE_S):
        return False
    window.show_mask(Mask([[number, 1, -2]]))
    return window.wait(lambda: window.shows_the_job, PATIENCE_S) and window.result_is_right()


@pytest.mark.skipif(
    not os.path.isdir("/dev/shm"), reason="an empty block can be seen only where there is a list"
)
def test_that_the_window_goes_on_after_kills_before_a_block_has_a_size(start_window, monkeypatch, tmp_path):
    monkeypatch.setattr("engine.host.link.serve", faulty_hosts.die_at_an_empty_block)
    last_block = tmp_path / "the next block is the last"
    monkeypatch.setenv(faulty_hosts.LAST_BLOCK, str(last_block))
    window = start_window()
    haloscope = window.haloscope
    for number, start in enumerate(
        (
            lambda: window.show_mask(Mask([[3, 4]])),
            lambda: haloscope.window.first_page.pictures.open_sample("camera"),
            haloscope.window.first_page.runs.run,
            haloscope.window.first_page.runs.run_every_variant,
        )
    ):
        last_block.touch()
        start()
        assert window.wait(lambda: not last_block.exists(), PATIENCE_S)
        assert goes_on(window, number), (number, window.describe())
    haloscope.window.first_page.pictures.save_result(tmp_path / "saved.png")
    os.kill(window.client.host_pid, signal.SIGKILL)
    assert goes_on(window, 99), window.describe()
    assert len(window.lost) == 5


def test_that_a_preview_that_always_ends_the_engine_is_tried_twice_and_said_so(start_window, monkeypatch):
    monkeypatch.setattr("engine.host.link.serve", faulty_hosts.end_in_previews)
    window = start_window()
    window.show_mask(DEADLY)
    assert window.wait(lambda: len(window.lost) == 2, PATIENCE_S)
    # A third host is up, and has been asked for everything that it is to be asked for.
    assert window.wait(lambda: window.is_at_rest, PATIENCE_S)
    message = window.haloscope.messages.newest
    assert message.what == "The engine's process ended twice in the same work"
    assert message.remedy.startswith("It is not tried again until you change")
    window.show_mask(NOTHING)
    assert window.wait(lambda: window.shows_the_job, PATIENCE_S)
    assert len(window.lost) == 2


def test_that_escape_stops_a_preview_that_ended_the_engine_once(start_window, monkeypatch):
    monkeypatch.setattr("engine.host.link.serve", faulty_hosts.end_in_previews)
    window = start_window()
    cancel = window.haloscope.actions["cancel"]
    window.show_mask(DEADLY)
    assert window.wait(lambda: len(window.lost) == 1 and cancel.isEnabled(), PATIENCE_S)
    cancel.trigger()
    assert window.wait(lambda: window.is_at_rest, PATIENCE_S)
    window.wait(lambda: len(window.lost) > 1, 0.1)
    assert len(window.lost) == 1
