import pytest
from PySide6.QtCore import QEvent, QObject

from engine.errors import BadValue, DeviceUnavailable
from engine.geometry.border import Border
from engine.host.protocol import OpenPicture
from engine.host.request import Check, Preview
from engine.mask.mask import Mask
from engine.work.steps import MaskStep
from gui.engine_link.engine_link import EngineLink
from gui.engine_link.engine_state import SLOW_MS
from gui.explore import preview_controller
from gui.explore.preview_controller import USE_PART

REFUSAL = BadValue("naive cannot run", "there is no GPU", "Choose the simulator.")


def previews(bench):
    """Return the previews that have not been answered."""
    return bench.fake.waiting(Preview)


def borders(bench):
    return [asked.request.job.filter.border for asked in previews(bench)]


def wrap_then_mirror(bench):
    """Ask for a preview, then for another one while the first is being made; return the first."""
    bench.change(border=Border.WRAP)
    (old,) = previews(bench)
    bench.change(border=Border.MIRROR)
    return old


def refuse(bench):
    """Choose another border and have its preview refused."""
    bench.change(border=Border.WRAP)
    bench.fail(REFUSAL, Preview)


@pytest.fixture
def impatient(monkeypatch, make_bench):
    """A slow bench whose previews are slow from the beginning; after one was stopped, none is."""
    monkeypatch.setattr(preview_controller, "PATIENCE_MS", 1)
    monkeypatch.setattr(preview_controller, "PATIENCE_GROWTH", 1_000_000)
    bench = make_bench(automatic=False)
    bench.open()
    return bench


def test_that_a_replaced_result_is_released_after_the_next_preview(bench):
    assert bench.state.last_result is not None
    assert bench.state.availability["cpu-serial"].reason is None
    assert bench.state.availability["tiled"].reason
    old = bench.state.last_result.values.name
    released_in_signal = []
    bench.state.filtered.connect(lambda _: released_in_signal.append(old in bench.fake.released))
    bench.change(border=Border.WRAP)
    assert released_in_signal == [False]
    assert old in bench.fake.released
    aged = []
    bench.state.result_aged.connect(lambda: aged.append(bench.state.result_is_earlier))
    for border in (Border.ZERO, Border.MIRROR):
        bench.change(border=border)
    assert aged == [], "a quick preview labels no result as earlier"


def test_that_edits_in_one_turn_make_one_preview_and_a_stale_one_is_dropped_or_stopped(slow_bench):
    shown = slow_bench.state.last_result
    for border in (Border.REPLICATE, Border.CONSTANT, Border.WRAP):
        slow_bench.workspace.change(border=border)
    slow_bench.settle()
    for border in (Border.MIRROR, Border.REFLECT):
        slow_bench.change(border=border)
    assert borders(slow_bench) == [Border.WRAP]
    before = set(slow_bench.fake.created)
    slow_bench.answer(Preview)
    assert slow_bench.state.last_result is shown
    (stale,) = slow_bench.fake.created - before
    assert stale in slow_bench.fake.released
    assert borders(slow_bench) == [Border.REFLECT]
    slow_bench.answer(Preview)
    slow_bench.change(device="simulator")
    (old,) = previews(slow_bench)
    assert "simulator" in slow_bench.state.stage
    slow_bench.change(border=Border.WRAP)
    assert old.request in slow_bench.fake.cancelled, "one of the simulator"
    assert borders(slow_bench) == [Border.WRAP]


def test_that_an_edit_is_computed_before_the_window_paints_what_it_changed(haloscope, qtbot, monkeypatch):
    order = []
    ask = EngineLink.ask

    def noted(link, asked):
        order.append(type(asked.request).__name__)
        return ask(link, asked)

    class Paints(QObject):
        def eventFilter(self, watched, event):  # noqa: N802
            if event.type() == QEvent.Type.Paint:
                order.append("paint")
            return False

    panel, paints = haloscope.window.first_page.kernel_panel.kernels, Paints()
    panel.viewport().installEventFilter(paints)
    monkeypatch.setattr(EngineLink, "ask", noted)
    panel.viewport().update()
    haloscope.workspace.set_mask(Mask([[0.25, 0.5, 0.25]]))
    qtbot.waitUntil(lambda: "paint" in order and "Preview" in order)
    assert order.index("Preview") < order.index("paint")
    assert order.index("Preview") < order.index("Check")


def test_that_only_a_preview_waits_for_the_end_of_a_run(slow_bench):
    slow_bench.fake.answer_all((Check, MaskStep))
    slow_bench.state.set_running(True)
    slow_bench.change(border=Border.WRAP, device="simulator")
    assert not previews(slow_bench)
    assert [asked.request.job.device for asked in slow_bench.fake.waiting((Check, MaskStep))] == ["simulator"]
    slow_bench.state.set_running(False)
    slow_bench.settle()
    assert borders(slow_bench) == [Border.WRAP]


def test_that_a_failed_preview_is_reported_until_one_succeeds_unless_a_newer_one_is_wanted(slow_bench):
    refuse(slow_bench)
    assert slow_bench.messages.newest.remedy == REFUSAL.remedy
    slow_bench.change(border=Border.ZERO)
    slow_bench.answer(Preview)
    assert slow_bench.messages.newest is None
    wrap_then_mirror(slow_bench)
    slow_bench.fail(REFUSAL, Preview)
    assert slow_bench.messages.newest is None
    assert borders(slow_bench) == [Border.MIRROR]


def test_that_a_slow_preview_is_not_made_twice_when_an_edit_is_undone(slow_bench):
    slow_bench.change(border=Border.WRAP)
    for fraction in (0.0, 0.4):
        slow_bench.tell("compiling", fraction, Preview)
        assert (slow_bench.state.stage, slow_bench.state.fraction) == ("compiling", fraction)
    slow_bench.answer(Preview)
    assert not slow_bench.state.busy
    slow_bench.change(border=Border.ZERO)
    slow_bench.answer(Preview)
    wrap_then_mirror(slow_bench)
    slow_bench.change(border=Border.WRAP)
    slow_bench.answer(Preview)
    assert not previews(slow_bench)
    assert not slow_bench.state.busy


def test_that_a_new_host_is_asked_for_the_preview_that_was_lost_unless_the_person_stopped_it(slow_bench):
    slow_bench.change(border=Border.WRAP)
    slow_bench.lose()
    assert not previews(slow_bench)
    slow_bench.become_ready()
    assert borders(slow_bench) == [Border.WRAP]
    slow_bench.previews.cancel()
    slow_bench.become_ready()
    assert not previews(slow_bench)
    assert not slow_bench.state.busy
    slow_bench.change(border=Border.MIRROR)
    assert borders(slow_bench) == [Border.MIRROR]


def test_that_a_slow_preview_that_is_not_wanted_any_more_is_stopped(impatient, qtbot):
    old = wrap_then_mirror(impatient)
    qtbot.waitUntil(lambda: old.request in impatient.fake.cancelled)
    impatient.settle()
    assert borders(impatient) == [Border.MIRROR]
    impatient.answer(Preview)
    assert impatient.messages.newest is None
    assert not impatient.state.busy
    # One that has long been slow is stopped by the first edit.
    impatient.change(border=Border.WRAP)
    (late,) = previews(impatient)
    qtbot.wait(5)
    assert impatient.fake.cancelled == [old.request]
    impatient.change(border=Border.MIRROR)
    assert impatient.fake.cancelled == [old.request, late.request]


def test_that_what_stays_after_a_refused_preview_is_an_earlier_result_or_this_one(slow_bench):
    for border in (Border.ZERO, Border.MIRROR):
        assert not slow_bench.state.result_is_earlier
        refuse(slow_bench)
        assert slow_bench.state.result_is_earlier
        slow_bench.change(border=border)
        assert slow_bench.state.result_is_earlier == (border is Border.MIRROR)
        slow_bench.answer(Preview)
        assert not slow_bench.state.result_is_earlier
    refuse(slow_bench)
    slow_bench.pictures.open_sample("other.png")
    slow_bench.answer(OpenPicture)
    assert slow_bench.state.last_result is None
    assert not slow_bench.state.result_is_earlier


@pytest.mark.parametrize("why", ["slow", "run", "stopped", "lost"])
def test_that_a_result_is_an_earlier_one_while_no_preview_comes(slow_bench, qtbot, why):
    timer = slow_bench.display._age_timer
    assert timer.interval() == SLOW_MS
    timer.setInterval(1)
    slow_bench.state.set_running(why == "run")
    slow_bench.change(border=Border.WRAP)
    if why == "stopped":
        slow_bench.previews.cancel()
    if why == "lost":
        slow_bench.fake.lose()
    qtbot.waitUntil(lambda: slow_bench.state.result_is_earlier)


def test_that_a_kernel_that_needs_a_gpu_that_is_not_there_offers_the_simulator(slow_bench):
    slow_bench.change(variant="naive")
    slow_bench.fail(DeviceUnavailable("naive", "there is no GPU"), Preview)
    message = slow_bench.messages.newest
    assert message.action == USE_PART
    message.act()
    assert slow_bench.small_pictures == ["taken"]
    slow_bench.change(variant="cpu-serial")
    slow_bench.fail(BadValue("cpu-serial", "the mask is too large"), Preview)
    assert slow_bench.messages.newest.action == ""
