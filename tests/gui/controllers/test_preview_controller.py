import pytest

from engine.border import Border
from engine.errors import BadValue
from engine.host.protocol import CheckVariants, Preview


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
