"""The real window and the real engine, whose process is killed: all is answered, the window stays usable."""

import os
import signal

import pytest

from bench.kills.bench_window import BenchWindow
from engine.mask.mask import Mask
from tests.engine.host import faulty_hosts

pytestmark = pytest.mark.slow

PATIENCE_S = 60.0
NOTHING, DEADLY = Mask([[1]]), Mask([[1, 2]])


@pytest.fixture
def start_window(qapp, monkeypatch):
    """Start a window with a picture and its preview; nothing of it is left at the end."""
    started = []

    def start(serve):
        monkeypatch.setattr("engine.host.link.serve", serve)
        window = BenchWindow(qapp)
        started.append(window)
        window.show_mask(NOTHING)
        window.haloscope.window.first_page.pictures.open_sample("camera")
        assert window.wait(lambda: window.shows_the_job, PATIENCE_S), window.describe()
        return window

    yield start
    for window in started:
        window.close()
        window.haloscope.window.deleteLater()
        assert window.segments() == []
        assert window.client.unanswered() == []


def goes_on(window, number):
    """Whether all is answered and a further preview comes out right."""
    if not window.wait(lambda: window.is_at_rest, PATIENCE_S):
        return False
    window.show_mask(Mask([[number, 1, -2]]))
    return window.wait(lambda: window.shows_the_job, PATIENCE_S) and window.result_is_right()


@pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="the system does not list its shared memory")
def test_that_the_window_goes_on_after_kills_before_a_segment_has_a_size(start_window, monkeypatch, tmp_path):
    last_segment = tmp_path / "the next segment is the last"
    monkeypatch.setenv(faulty_hosts.LAST_SEGMENT, str(last_segment))
    window = start_window(faulty_hosts.die_at_an_empty_segment)
    explore = window.haloscope.window.first_page
    for number, start in enumerate(
        (
            lambda: window.show_mask(Mask([[3, 4]])),
            lambda: explore.pictures.open_sample("camera"),
            explore.runs.run,
            explore.runs.run_every_variant,
        )
    ):
        last_segment.touch()
        start()
        assert window.wait(lambda: not last_segment.exists(), PATIENCE_S)
        assert goes_on(window, number), (number, window.describe())
    explore.pictures.save_result(tmp_path / "saved.png")
    os.kill(window.client.host_pid, signal.SIGKILL)
    assert goes_on(window, 99), window.describe()
    # An end while a picture is opened is said of that picture.
    assert len(window.lost) == 4


def test_that_a_preview_that_always_ends_the_engine_is_tried_twice(start_window):
    window = start_window(faulty_hosts.end_in_real_previews)
    window.show_mask(DEADLY)
    words = "The engine's process ended twice in the same work"
    messages = window.haloscope.messages

    def is_reported():
        return messages.newest is not None and messages.newest.what == words

    # The answer reaches the window after the signals of the two ends.
    assert window.wait(is_reported, PATIENCE_S), window.describe()
    assert messages.newest.remedy.startswith("It is not tried again until you change")
    # A third host is up, and has been asked for everything that it is to be asked for.
    assert window.wait(lambda: window.is_at_rest, PATIENCE_S), window.describe()
    window.show_mask(NOTHING)
    assert window.wait(lambda: window.shows_the_job, PATIENCE_S), window.describe()
    assert len(window.lost) == 2


def test_that_escape_stops_a_preview_that_ended_the_engine_once(start_window):
    window = start_window(faulty_hosts.end_in_real_previews)
    window.show_mask(DEADLY)
    # A new engine is up in 0.2 s, before the work counts as slow and its action can be chosen.
    assert window.wait(lambda: len(window.lost) == 1, PATIENCE_S)
    window.haloscope.window.cancel()
    assert window.wait(lambda: window.is_at_rest, PATIENCE_S)
    window.wait(lambda: len(window.lost) > 1, 0.1)
    assert len(window.lost) == 1
