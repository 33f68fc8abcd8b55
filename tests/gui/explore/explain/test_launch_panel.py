"""The panel Launch: live while the block is edited, for absent GPUs, in words where there is none."""

import pytest
from msgspec.structs import replace

from engine.errors import BadValue, Reason
from engine.explain.launches import Architecture
from engine.explain.messages import CompiledLaunchRequest, LaunchRequest
from engine.geometry.block import Block
from gui.explore.explain.launch_panel import LaunchPanel
from gui.explore.explain.selection import Selection
from tests.gui.fake_engine import is_kind
from tests.gui.made_window import panel_of
from tests.made_runs import make_result

AT_ONCE, COMPILED = (LaunchRequest,), (CompiledLaunchRequest,)


TILED = {"variant": "tiled", "block": Block(32, 8)}


@pytest.fixture
def panel(explained, bench):
    """The panel on a bench whose engine answers at once."""
    return explained(bench, LaunchPanel, **TILED)


def test_that_numbers_say_what_limits_the_occupancy_or_words_why_there_are_none(panel, bench):
    assert panel.numbers.shown == {
        "Grid": "2 × 5 × 3, 30 blocks",
        "Threads per block": "256, 8 warps",
        "Registers per thread": "60",
        "Shared memory": "1,728 bytes",
        "Resident blocks": "4, limited by registers",
        "Occupancy": "50.0 %, 32 of 64 warps",
        "Waves": "0.0568, the last 5.68 % full",
        "Halo redundancy": "1.69 cells per result",
        "Idle threads": "32.5 %",
    }
    assert panel.sentence.text() == (
        "Registers limit the occupancy to 50.0 %. It would be 62.5 % with 48 registers per thread."
    )
    panel.state.selection.choose_gpu(Architecture(7, 5))
    bench.settle()
    assert panel.numbers.shown["Occupancy"] == "100 %, 32 of 32 warps"
    panel.state.selection.compare_with("naive")
    bench.settle()
    shown = panel.numbers.shown
    assert "(naive: 0 bytes)" in shown["Shared memory"]
    assert "naive" not in shown["Threads per block"]
    assert panel.passes.isHidden()
    bench.change(variant="separable-l1")
    assert [panel.passes.itemText(at) for at in range(panel.passes.count())] == ["Pass 1", "Pass 2"]
    before = panel.numbers.shown
    panel.passes.setCurrentIndex(1)
    panel.passes.activated.emit(1)
    assert panel.numbers.shown != before
    for fields, words in (
        (
            {"variant": "cpu-serial"},
            "CPU, one thread runs on the CPU, which has no launches and no blocks of threads.",
        ),
        ({"variant": "fft", "block": None}, "Fourier transform (cuFFT) has no kernels of ours."),
        ({"variant": "auto", "block": None}, "Automatic has not chosen a kernel for this picture yet."),
        ({"variant": "tiled", "block": Block(64, 64)}, "the limit is 1,024 threads per block"),
    ):
        bench.change(**fields)
        assert words in panel.stack.text


def test_that_the_first_answer_comes_before_the_kernel_is_compiled_or_fails(slow_bench, explained):
    panel = explained(slow_bench, LaunchPanel, **TILED)
    assert panel.stack.text == "Finding out what the kernel takes of a GPU."
    slow_bench.answer_all(AT_ONCE)
    assert panel.numbers.shown["Registers per thread"] == "compiling …"
    assert panel.numbers.shown["Occupancy"] == "at most 100 %, 64 of 64 warps"
    slow_bench.answer_all(COMPILED)
    assert panel.numbers.shown["Registers per thread"] == "60"
    panel = explained(slow_bench, LaunchPanel, **TILED)
    slow_bench.answer_all(AT_ONCE)
    slow_bench.fail(BadValue("the kernel", "it is refused here", "Choose another."), COMPILED)
    assert "it is refused here" in panel.note.text()
    assert panel.numbers.shown["Registers per thread"] == "not known"


def test_that_registers_of_an_earlier_block_are_left_out(slow_bench, explained):
    panel = explained(slow_bench, LaunchPanel, **TILED)
    slow_bench.answer_all(AT_ONCE)
    (first,) = slow_bench.fake.waiting(COMPILED)
    slow_bench.change(block=Block(4, 4))
    slow_bench.answer_all(AT_ONCE)
    slow_bench.answer(first)
    assert panel.numbers.shown["Registers per thread"] == "compiling …"


def test_that_one_kernel_is_compiled_at_a_time_and_none_during_a_run(slow_bench, explained):
    explained(slow_bench, LaunchPanel, **TILED)
    slow_bench.state.set_running(True)
    slow_bench.answer_all(AT_ONCE)
    assert not slow_bench.fake.waiting(COMPILED)
    slow_bench.state.set_running(False)
    assert len(slow_bench.fake.waiting(COMPILED)) == 1
    for width in (4, 8, 16):
        slow_bench.answer_all(AT_ONCE)
        slow_bench.change(block=Block(width, 4))
    slow_bench.answer_all(AT_ONCE)
    assert len(slow_bench.fake.waiting(COMPILED)) == 1
    slow_bench.answer(COMPILED)
    (last,) = slow_bench.fake.waiting(COMPILED)
    assert last.request.job.block == Block(16, 4)


def test_that_every_panel_explains_the_selected_kernel_or_run(haloscope, qtbot):
    page = haloscope.window.page_of("explore")
    for name in ("launch", "tile", "code", "ablation"):
        panel_of(page, name, qtbot)
    for key in ("cached", "naive"):
        page.selection.select(key)
        for panel in (page.launch, page.tile, page.code):
            panel.watch(True)
        qtbot.waitUntil(lambda key=key: page.tile.answer is not None and page.tile.answer.variant == key)
        qtbot.waitUntil(lambda key=key: page.code.answer is not None and page.code.answer.variant == key)
        asked = [one for one in haloscope.link._client.seen if is_kind(one, AT_ONCE)][-1]
        assert (asked.job.variant, page.ablation.selection.kernel) == (key, key)
    # What runs is still what the settings say.
    assert page.workspace.settings.variant == "auto"
    page.results.add(make_result("cached", 2.0))
    page.results.add(make_result("tiled", 1.0))
    assert page.selection.kernel == "tiled"
    page.results.describe(page.results.results()[0])
    assert page.selection.kernel == "cached"
    page.selection.select("auto")
    page.workspace.change(variant="naive")
    assert page.selection.kernel == "naive"
    page.selection.select("cached")
    page.clear_results()
    assert page.selection.kernel == "naive", "no run is left whose kernel it would be"


def test_that_what_automatic_chose_for_another_operation_is_no_kernel_of_a_mask(bench):
    selection = Selection(bench.workspace, bench.state, bench.results)
    bench.open()
    chosen = selection.job.variant
    bench.workspace.choose("median")
    bench.settle()
    found = replace(
        bench.state.last_result, variant="cpu-median", chosen_because=Reason("one", "The only one")
    )
    bench.state.filtered.emit(found)
    bench.workspace.choose("")
    assert selection.job.variant == chosen != "cpu-median"
