import pytest

from engine.errors import BadValue, DeviceUnavailable
from engine.geometry.border import Border
from engine.host.protocol import CheckVariants, OpenPicture, Preview
from gui.explore import preview_controller


def previews(bench):
    return bench.fake.waiting(Preview)


def test_that_a_preview_follows_the_first_picture(bench):
    assert bench.state.last_result is not None
    assert bench.state.availability["cpu-serial"].reason == ""
    assert bench.state.availability["tiled"].reason


def test_that_edits_in_one_turn_make_one_preview(slow_bench):
    for border in (Border.WRAP, Border.MIRROR, Border.REFLECT):
        slow_bench.workspace.change(border=border)
    slow_bench.settle()
    assert [asked.request.job.border for asked in previews(slow_bench)] == [Border.REFLECT]


def test_that_only_one_preview_is_in_flight_and_the_newest_follows_it(slow_bench):
    for border in (Border.WRAP, Border.MIRROR, Border.REFLECT):
        slow_bench.workspace.change(border=border)
        slow_bench.settle()
    (first,) = previews(slow_bench)
    assert first.request.job.border is Border.WRAP
    slow_bench.fake.answer(first)
    slow_bench.settle()
    (newest,) = previews(slow_bench)
    assert newest.request.job.border is Border.REFLECT


def test_that_a_stale_preview_is_dropped_and_its_memory_given_back(slow_bench):
    shown = slow_bench.state.last_result
    slow_bench.workspace.change(border=Border.WRAP)
    slow_bench.settle()
    slow_bench.workspace.change(border=Border.MIRROR)
    slow_bench.settle()
    before = set(slow_bench.fake.created)
    slow_bench.fake.answer(previews(slow_bench)[0])
    slow_bench.settle()
    assert slow_bench.state.last_result is shown
    (stale,) = slow_bench.fake.created - before
    assert stale in slow_bench.fake.released


def test_that_the_replaced_result_is_given_back_after_the_views_have_the_new_one(bench, qtbot):
    old = bench.state.last_result.values.name
    released_in_signal = []
    bench.state.filtered.connect(lambda _: released_in_signal.append(old in bench.fake.released))
    bench.workspace.change(border=Border.WRAP)
    bench.settle()
    assert released_in_signal == [False]
    assert old in bench.fake.released


def test_that_a_preview_waits_for_the_end_of_a_run(slow_bench):
    slow_bench.state.set_running(True)
    slow_bench.workspace.change(border=Border.WRAP)
    slow_bench.settle()
    assert not previews(slow_bench)
    slow_bench.state.set_running(False)
    slow_bench.settle()
    assert [asked.request.job.border for asked in previews(slow_bench)] == [Border.WRAP]


def test_that_availability_is_asked_for_even_while_a_run_goes_on(slow_bench):
    slow_bench.fake.answer_all(CheckVariants)
    slow_bench.state.set_running(True)
    slow_bench.workspace.change(device="simulator")
    slow_bench.settle()
    assert [asked.request.job.device for asked in slow_bench.fake.waiting(CheckVariants)] == ["simulator"]


def test_that_a_failed_preview_is_told_until_one_succeeds(slow_bench):
    slow_bench.workspace.change(border=Border.WRAP)
    slow_bench.settle()
    error = BadValue("block 64 x 64", "it has 4,096 threads", "Use 32 x 32.")
    slow_bench.fake.fail(error, previews(slow_bench)[0])
    slow_bench.settle()
    assert slow_bench.messages.newest.remedy == "Use 32 x 32."
    slow_bench.workspace.change(border=Border.ZERO)
    slow_bench.settle()
    slow_bench.fake.answer(previews(slow_bench)[0])
    slow_bench.settle()
    assert slow_bench.messages.newest is None


def test_that_an_old_failure_is_not_told_when_something_newer_is_wanted(slow_bench):
    slow_bench.workspace.change(border=Border.WRAP)
    slow_bench.settle()
    slow_bench.workspace.change(border=Border.MIRROR)
    slow_bench.settle()
    slow_bench.fake.fail(BadValue("a", "b", "c"), previews(slow_bench)[0])
    slow_bench.settle()
    assert slow_bench.messages.newest is None
    assert len(previews(slow_bench)) == 1


@pytest.mark.parametrize("fraction", [0.0, 0.4])
def test_that_a_slow_preview_says_what_it_is_doing(slow_bench, fraction):
    slow_bench.workspace.change(border=Border.WRAP)
    slow_bench.settle()
    slow_bench.fake.tell("compiling", fraction, previews(slow_bench)[0])
    slow_bench.settle()
    assert (slow_bench.state.stage, slow_bench.state.fraction) == ("compiling", fraction)
    slow_bench.fake.answer(previews(slow_bench)[0])
    slow_bench.settle()
    assert not slow_bench.state.busy


def test_that_a_new_host_is_asked_for_the_preview_that_the_old_one_lost(slow_bench):
    slow_bench.workspace.change(border=Border.WRAP)
    slow_bench.settle()
    slow_bench.fake.lose()
    slow_bench.settle()
    assert not previews(slow_bench)
    slow_bench.fake.become_ready()
    slow_bench.settle()
    assert [asked.request.job.border for asked in previews(slow_bench)] == [Border.WRAP]


def test_that_a_preview_of_the_simulator_stops_when_a_newer_one_is_wanted(slow_bench):
    slow_bench.workspace.change(device="simulator")
    slow_bench.settle()
    (old,) = previews(slow_bench)
    assert "simulator" in slow_bench.state.stage
    slow_bench.workspace.change(border=Border.WRAP)
    slow_bench.settle()
    assert old.request in slow_bench.fake.cancelled
    (newest,) = previews(slow_bench)
    assert newest.request.job.border is Border.WRAP


def test_that_another_device_does_not_wait_for_the_simulator(slow_bench, monkeypatch):
    # A simulated kernel does not stop when it is asked to.
    monkeypatch.setattr(slow_bench.fake, "cancel", lambda future: None)
    slow_bench.workspace.change(device="simulator")
    slow_bench.settle()
    slow_bench.workspace.change(border=Border.WRAP)
    slow_bench.settle()
    slow_bench.workspace.change(device="cpu")
    slow_bench.settle()
    simulated, on_cpu = previews(slow_bench)
    assert on_cpu.request.job.device == "cpu"
    slow_bench.fake.answer(on_cpu)
    slow_bench.settle()
    shown = slow_bench.state.last_result
    before = set(slow_bench.fake.released)
    slow_bench.fake.answer(simulated)
    slow_bench.settle()
    assert slow_bench.state.last_result is shown
    assert set(slow_bench.fake.released) - before
    assert not slow_bench.state.busy


def wrap_then_mirror(bench):
    """Ask for a preview, then for another one while the first is being made; return the first."""
    bench.workspace.change(border=Border.WRAP)
    bench.settle()
    (old,) = previews(bench)
    bench.workspace.change(border=Border.MIRROR)
    bench.settle()
    return old


@pytest.fixture
def impatient(monkeypatch, make_bench):
    """A slow bench whose previews are slow from the beginning; after one was stopped, none is."""
    monkeypatch.setattr(preview_controller, "PATIENCE_MS", 1)
    monkeypatch.setattr(preview_controller, "PATIENCE_GROWTH", 1_000_000)
    bench = make_bench(automatic=False)
    bench.open()
    return bench


def test_that_a_slow_preview_that_is_not_wanted_any_more_is_stopped_and_the_newest_follows(impatient, qtbot):
    old = wrap_then_mirror(impatient)
    qtbot.waitUntil(lambda: old.request in impatient.fake.cancelled)
    impatient.settle()
    (newest,) = previews(impatient)
    assert newest.request.job.border is Border.MIRROR
    impatient.fake.answer(newest)
    impatient.settle()
    assert impatient.messages.newest is None
    assert not impatient.state.busy


def test_that_a_preview_that_has_long_been_slow_is_stopped_by_the_first_edit(impatient, qtbot):
    impatient.workspace.change(border=Border.WRAP)
    impatient.settle()
    (old,) = previews(impatient)
    qtbot.wait(5)
    assert not impatient.fake.cancelled
    impatient.workspace.change(border=Border.MIRROR)
    impatient.settle()
    assert impatient.fake.cancelled == [old.request]


def test_that_a_preview_is_stopped_once_however_long_that_takes(impatient, qtbot, monkeypatch):
    stopped = []
    monkeypatch.setattr(impatient.fake, "cancel", stopped.append)
    wrap_then_mirror(impatient)
    qtbot.waitUntil(lambda: bool(stopped))
    for border in (Border.REFLECT, Border.ZERO, Border.REPLICATE):
        impatient.workspace.change(border=border)
        impatient.settle()
    impatient.previews.cancel()
    assert len(stopped) == 1


def test_that_after_a_stopped_preview_the_next_has_more_time_until_one_is_shown(impatient, qtbot):
    wrap_then_mirror(impatient)
    qtbot.waitUntil(lambda: len(impatient.fake.cancelled) == 1)
    impatient.settle()
    for border in (Border.REFLECT, Border.ZERO, Border.REPLICATE):
        impatient.workspace.change(border=border)
        qtbot.wait(5)
        impatient.settle()
    assert len(impatient.fake.cancelled) == 1
    for _ in range(2):
        impatient.fake.answer(previews(impatient)[0])
        impatient.settle()
    assert not previews(impatient)
    wrap_then_mirror(impatient)
    qtbot.waitUntil(lambda: len(impatient.fake.cancelled) == 2)


def test_that_a_preview_is_not_made_twice_when_an_edit_is_taken_back(slow_bench):
    wrap_then_mirror(slow_bench)
    slow_bench.workspace.change(border=Border.WRAP)
    slow_bench.settle()
    slow_bench.fake.answer(previews(slow_bench)[0])
    slow_bench.settle()
    assert not previews(slow_bench)
    assert not slow_bench.state.busy


def test_that_a_lost_simulator_is_told_by_the_preview_that_it_held(slow_bench):
    slow_bench.workspace.change(device="simulator")
    slow_bench.settle()
    slow_bench.fake.lose_simulator()
    slow_bench.settle()
    assert "SIGKILL" in slow_bench.messages.newest.why
    assert slow_bench.state.is_ready
    assert not slow_bench.state.busy


def test_that_a_preview_that_the_person_stopped_is_not_begun_again_by_a_new_host(slow_bench):
    slow_bench.workspace.change(border=Border.WRAP)
    slow_bench.settle()
    slow_bench.previews.cancel()
    slow_bench.fake.become_ready()
    slow_bench.settle()
    assert not previews(slow_bench)
    assert not slow_bench.state.busy
    slow_bench.workspace.change(border=Border.MIRROR)
    slow_bench.settle()
    assert [asked.request.job.border for asked in previews(slow_bench)] == [Border.MIRROR]


NO_DEVICE = BadValue("naive cannot run", "there is no GPU", "Choose the simulator.")


def refuse(bench):
    """Choose another border and have its preview refused."""
    bench.workspace.change(border=Border.WRAP)
    bench.settle()
    bench.fake.fail(NO_DEVICE, previews(bench)[0])
    bench.settle()


def test_that_what_stays_after_a_refused_preview_is_an_earlier_result_until_a_newer_one_came(slow_bench):
    assert not slow_bench.state.result_is_earlier
    refuse(slow_bench)
    assert slow_bench.state.result_is_earlier
    slow_bench.workspace.change(border=Border.MIRROR)
    slow_bench.settle()
    assert slow_bench.state.result_is_earlier
    slow_bench.fake.answer(previews(slow_bench)[0])
    slow_bench.settle()
    assert not slow_bench.state.result_is_earlier


def test_that_a_result_is_no_earlier_one_once_its_settings_hold_again(slow_bench):
    refuse(slow_bench)
    slow_bench.workspace.change(border=Border.ZERO)
    slow_bench.settle()
    assert not slow_bench.state.result_is_earlier


def test_that_a_quick_preview_makes_nobody_read_of_an_earlier_result(bench):
    told = []
    bench.state.result_aged.connect(lambda: told.append(bench.state.result_is_earlier))
    for border in (Border.WRAP, Border.MIRROR):
        bench.workspace.change(border=border)
        bench.settle()
    assert told == []


@pytest.mark.parametrize("why", ["slow", "run", "stopped", "lost"])
def test_that_a_result_is_an_earlier_one_while_no_preview_comes(slow_bench, qtbot, why):
    slow_bench.state.set_running(why == "run")
    slow_bench.workspace.change(border=Border.WRAP)
    slow_bench.settle()
    if why == "stopped":
        slow_bench.previews.cancel()
    if why == "lost":
        slow_bench.fake.lose()
    qtbot.waitUntil(lambda: slow_bench.state.result_is_earlier)


def test_that_another_picture_has_no_earlier_result(slow_bench):
    refuse(slow_bench)
    slow_bench.pictures.open_sample("other.png")
    slow_bench.fake.answer(slow_bench.fake.waiting(OpenPicture)[0])
    slow_bench.settle()
    assert slow_bench.state.last_result is None
    assert not slow_bench.state.result_is_earlier


def test_that_a_kernel_that_needs_a_gpu_that_is_not_there_offers_the_simulator(slow_bench):
    wanted = []
    slow_bench.previews.simulator_wanted.connect(lambda: wanted.append(True))
    slow_bench.workspace.change(variant="naive")
    slow_bench.settle()
    slow_bench.fake.fail(DeviceUnavailable("naive", "there is no GPU"), previews(slow_bench)[0])
    slow_bench.settle()
    message = slow_bench.messages.newest
    assert message.action == "Use the simulator with a small picture"
    message.act()
    assert wanted
    slow_bench.workspace.change(variant="cpu-serial")
    slow_bench.settle()
    slow_bench.fake.fail(BadValue("cpu-serial", "the mask is too large"), previews(slow_bench)[0])
    slow_bench.settle()
    assert slow_bench.messages.newest.action == ""
