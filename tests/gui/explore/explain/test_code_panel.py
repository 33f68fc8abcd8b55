"""The panel Code: source under its story, listings beside it, diffs, search."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QGuiApplication

from engine.explain.launches import Architecture
from engine.explain.messages import CodeRequest
from engine.geometry.block import Block
from gui.explore.explain.code_panel import CodePanel
from gui.style.theme import DARK, LIGHT, apply_theme, contrast
from tests.gui.made_explained import FIRST_LINE
from tests.gui.made_window import panel_of
from tests.made_runs import make_result


@pytest.fixture
def panel(explained, bench):
    """The panel, with a tiled kernel of 32 x 8 threads."""
    return explained(bench, CodePanel, variant="tiled", block=Block(32, 8))


def choose(bench, box, title):
    """Choose the entry of a list that begins like this, as a person does."""
    box.setCurrentIndex(box.findText(title, Qt.MatchFlag.MatchStartsWith))
    box.activated.emit(box.currentIndex())
    bench.settle()


def compare(bench, panel, key):
    panel.state.selection.compare_with(key)
    bench.settle()


def row_of(view, text):
    return next(at for at, row in enumerate(view.rows) if text in row.text)


def test_that_a_listing_stands_beside_the_source_and_both_say_what_was_measured_of_two_kernels(bench, panel):
    choose(bench, panel.form, "PTX")
    assert panel.right.rows[0].text == "correlate_tiled: PTX for sm_90"
    assert "correlate_tiled" in panel.left.toPlainText()
    assert panel.counts.text.startswith("4 instructions: ")
    assert "per multiply-add" in panel.counts.text
    panel.left.choose(row_of(panel.left, "tile[i] = image[i]"))
    marked = [panel.right.rows[row].text.split()[0] for row in sorted(panel.right.marked)]
    assert marked == ["ld.global.f32", "fma.rn.f32"]
    assert panel.of_line.text().startswith(f"Line {FIRST_LINE + 6}: 2 instructions of PTX")
    panel.right.choose(row_of(panel.right, "st.global"))
    assert [panel.left.rows[row].number for row in panel.left.marked] == [FIRST_LINE + 8]
    assert panel.of_line.text() == (
        f"st.global.f32: store global; from line {FIRST_LINE + 8} of engine/variants/ladder/tiled.py."
    )
    panel.state.selection.choose_gpu(Architecture(7, 5))
    bench.settle()
    assert panel.right.rows[0].text.endswith("sm_75")
    compare(bench, panel, "naive")
    assert panel.heading.text() == "tiled → naive: run both, and what was measured stands here."
    bench.results.add(make_result("naive", 2.0))
    bench.results.add(make_result("tiled", 0.5))
    bench.settle()
    assert panel.heading.text().startswith("tiled → naive: 2.00 ms instead of 0.500 ms")
    choose(bench, panel.form, "PTX")
    assert panel.heading.text().startswith("tiled → naive: ")
    assert "ld.global.f32" in panel.left.toPlainText()


def test_that_a_text_is_found_and_the_source_under_its_story_copied_whole(qtbot, panel, bench):
    assert panel.story.text == "tiled: its title.\nIdea: What it does."
    assert panel.left.rows[row_of(panel.left, "@kernel_factory")].number == FIRST_LINE
    assert "correlate_tiled: engine/variants/ladder/tiled.py" in panel.left.toPlainText()
    panel.views.copy.click()
    assert QGuiApplication.clipboard().text() == panel.left.toPlainText()
    panel.left.setFocus()
    qtbot.keyClick(panel.left, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    assert panel.views.find_bar.isVisible()
    panel.views.find_bar.field.setText("tile[i]")
    places = [panel.left.textCursor().selectionStart()]
    for _ in range(2):
        qtbot.keyClick(panel.views.find_bar.field, Qt.Key.Key_Return)
        places.append(panel.left.textCursor().selectionStart())
    assert places[0] < places[1]
    assert places[2] == places[0], "round"
    assert panel.left.textCursor().selectedText() == "tile[i]"
    bench.workspace.choose("median")
    bench.settle()
    assert bench.asked(CodeRequest)[-1].job.operation is not None
    assert panel.heading.text() == "cpu-median, compiled for a made problem."


@pytest.mark.slow
def test_that_words_can_be_read_on_rows_that_are_lit(light_again, qapp, bench, panel):
    for theme in (LIGHT, DARK):
        apply_theme(qapp, theme.name)
        compare(bench, panel, "naive")
        words = theme.text, theme.muted, theme.good, theme.accent, theme.warning
        grounds = [panel.left.ground_of(row) for row in range(len(panel.left.rows))]
        panel.left.mark({2})
        grounds += [panel.left.ground_of(2)]
        assert min(contrast(QColor(word), ground) for word in words for ground in grounds) >= 4.5


def test_that_escape_in_the_search_stops_no_run(haloscope, qtbot):
    page, stopped = haloscope.window.page_of("explore"), []
    haloscope.workspace.change(variant="tiled", block=Block(8, 8))
    panel = panel_of(page, "code", qtbot)
    qtbot.waitUntil(lambda: page.code.answer is not None)
    haloscope.actions["cancel"].triggered.connect(lambda: stopped.append(True))
    haloscope.actions["cancel"].setEnabled(True)
    panel.views.search.click()
    qtbot.keyClick(panel.views.find_bar.field, Qt.Key.Key_Escape)
    assert not panel.views.find_bar.isVisible()
    assert not stopped
