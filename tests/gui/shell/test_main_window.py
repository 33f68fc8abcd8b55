import json
import re
from dataclasses import replace

import pytest
from PySide6.QtCore import QMimeData, QPointF, QRect, QSize, Qt, QUrl
from PySide6.QtGui import QDropEvent, QFontMetrics, QScreen
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QDockWidget,
    QLabel,
    QMenu,
    QScrollArea,
    QToolButton,
    QWidget,
)

from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.host.protocol import Run
from gui.engine_link.engine_start import StartedEngine
from gui.page.messages import Message, Severity
from gui.shell.main_window import MainWindow
from gui.style.metrics import number_font, small_font
from gui.style.theme import apply_theme, current_theme
from gui.widgets.elided_label import ElidedLabel
from tests.gui.fake_engine import FakeEngineClient
from tests.gui.made_window import OpenedWindow
from tests.made_runs import make_failure, make_result


@pytest.fixture(autouse=True)
def _light_again(qapp):
    yield
    apply_theme(qapp, "light")


def shown(window: QWidget, kind: type) -> list[QWidget]:
    return [widget for widget in window.findChildren(kind) if widget.isVisible() and widget.width() > 0]


def width_of_words(widget: QWidget) -> int:
    """Pixels that the words need, and the icon beside them."""
    if isinstance(widget, ElidedLabel):
        # Cut with … on purpose, and whole in the tooltip.
        return 0
    if isinstance(widget, QLabel) and (widget.wordWrap() or Qt.mightBeRichText(widget.text())):
        return 0
    text = widget.currentText() if isinstance(widget, QComboBox) else widget.text()
    if isinstance(widget, QToolButton) and widget.toolButtonStyle() == Qt.ToolButtonStyle.ToolButtonIconOnly:
        return widget.iconSize().width()
    width = max(widget.fontMetrics().horizontalAdvance(line.replace("&", "")) for line in text.split("\n"))
    beside = Qt.ToolButtonStyle.ToolButtonTextBesideIcon
    has_icon = (
        isinstance(widget, QToolButton) and widget.toolButtonStyle() == beside and not widget.icon().isNull()
    )
    return width + (widget.iconSize().width() if has_icon else 0)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [(1024, 640), (1280, 800), (1600, 1000)])
def test_that_the_window_fits_and_no_word_is_cut(open_window, size, theme):
    window = open_window(size, theme).window
    assert (window.width(), window.height()) == size
    assert window.page.minimumSizeHint().width() <= window.page.width(), "cut at the right"
    assert current_theme().name == theme
    for kind in (QAbstractButton, QComboBox, QLabel):
        for widget in shown(window, kind):
            text = widget.currentText() if isinstance(widget, QComboBox) else widget.text()
            assert widget.width() >= width_of_words(widget), text
            assert widget.height() >= widget.fontMetrics().ascent() or not text, text


def scroll_bars(panel: QWidget) -> list[str]:
    """Names of the scroll areas of a panel that hide something above or below."""
    return [
        area.objectName() for area in panel.findChildren(QScrollArea) if area.verticalScrollBar().maximum()
    ]


@pytest.mark.parametrize("device", ["auto", "simulator"])
def test_that_mask_and_kernel_panel_need_no_scrolling_at_the_size_of_a_small_screen(
    open_window, qtbot, device
):
    haloscope = open_window()
    haloscope.workspace.change(device=device)
    haloscope.actions["run_all"].trigger()
    qtbot.waitUntil(lambda: haloscope.results.rowCount() and not haloscope.state.running)
    page = haloscope.window.first_page
    assert page.kernel_panel.breakdown.isVisible()
    assert page.mask_panel.apply_controls.offset_field.isVisible()
    QApplication.processEvents()
    assert scroll_bars(page.mask_panel) == scroll_bars(page.kernel_panel) == []


def mnemonics(menu) -> list[str]:
    letters = re.findall(r"&(\w)", " ".join(action.text().replace("&&", "") for action in menu.actions()))
    return [letter.casefold() for letter in letters]


def test_that_no_two_entries_of_a_menu_have_the_same_letter(open_window):
    window = open_window().window
    for menu in (window.menuBar(), *window.menuBar().findChildren(QMenu)):
        assert len(set(mnemonics(menu))) == len(mnemonics(menu)), mnemonics(menu)


def test_that_the_page_has_all_its_docks_in_view(open_window):
    window = open_window().window
    docks = shown(window, QDockWidget)
    assert {dock.objectName() for dock in docks} == {"mask", "kernel", "time", "speed-up", "results"}
    widths = {dock.objectName(): dock.width() for dock in docks}
    assert min(widths["mask"], widths["kernel"]) >= 240, widths
    assert window.first_page.surface.width() >= 400


def test_that_each_plot_comes_once_and_after_the_first_paint(open_window):
    haloscope = open_window()
    haloscope.finish()
    kinds = [type(widget).__name__ for widget in haloscope.window.findChildren(QWidget)]
    assert kinds.count("MetricPlot") == 2


def test_that_every_control_of_the_frame_has_a_tooltip_and_a_name(open_window):
    window = open_window().window
    for bar in (window.top_bar, window.page_bar, window.status_line):
        for button in shown(bar, QAbstractButton):
            assert button.toolTip(), button.text()
            assert button.accessibleName(), button.text()


def test_that_run_all_fills_the_table_and_the_status_line(open_window, qtbot):
    haloscope = open_window()
    haloscope.actions["run_all"].trigger()
    qtbot.waitUntil(lambda: haloscope.results.rowCount() == 3)
    qtbot.waitUntil(lambda: not haloscope.state.running)
    assert "verified" in haloscope.window.status_line.last_run
    assert haloscope.actions["export_csv"].isEnabled()


def test_that_cancel_can_only_be_chosen_while_there_is_something_to_stop(open_window, qtbot):
    haloscope = open_window()
    haloscope.link._client.automatic = False
    assert not haloscope.actions["cancel"].isEnabled()
    haloscope.actions["run"].trigger()
    assert haloscope.actions["cancel"].isEnabled()
    assert not haloscope.actions["run"].isEnabled()
    haloscope.actions["cancel"].trigger()
    qtbot.waitUntil(lambda: not haloscope.state.running)
    assert not haloscope.actions["cancel"].isEnabled()
    assert haloscope.actions["run"].isEnabled()


def dropped(window, path):
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    event = QDropEvent(
        QPointF(10, 10),
        Qt.DropAction.CopyAction,
        data,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    window.dropEvent(event)


def test_that_a_dropped_picture_is_opened(open_window, qtbot, tmp_path):
    haloscope = open_window()
    dropped(haloscope.window, tmp_path / "photo.png")
    qtbot.waitUntil(lambda: haloscope.workspace.picture.title == "photo.png")
    assert "photo.png" in haloscope.window.windowTitle()


def test_that_a_dropped_session_is_taken_up(open_window, qtbot, tmp_path):
    haloscope = open_window()
    haloscope.workspace.change(border=Border.WRAP, block=Block(8, 8))
    haloscope.window.first_page.files.save_session(tmp_path / "work.json")
    haloscope.workspace.change(border=Border.ZERO, block=None)
    dropped(haloscope.window, tmp_path / "work.json")
    qtbot.waitUntil(lambda: haloscope.workspace.settings.border is Border.WRAP)
    assert haloscope.workspace.settings.block == Block(8, 8)


def test_that_what_cannot_be_opened_is_told_and_the_window_goes_on(open_window, qtbot, tmp_path):
    haloscope = open_window()
    dropped(haloscope.window, tmp_path / "missing.png")
    qtbot.waitUntil(haloscope.window.message_bar.isVisible)
    assert "missing.png cannot be opened" in haloscope.window.message_bar.text
    haloscope.actions["run"].trigger()
    qtbot.waitUntil(lambda: haloscope.results.rowCount() == 1)


def test_that_layout_and_theme_are_kept(open_window, tmp_path):
    path = tmp_path / "preferences.json"
    first = open_window(preferences_path=path)
    first.preferences.themes.actions()[1].trigger()
    first.window.findChild(QDockWidget, "speed-up").close()
    first.window.close()
    assert json.loads(path.read_text())["theme"] == "dark"
    second = open_window(theme="", preferences_path=path)
    assert current_theme().name == "dark"
    assert not second.window.findChild(QDockWidget, "speed-up").isVisible()
    second.actions["reset_layout"].trigger()
    assert second.window.findChild(QDockWidget, "speed-up").isVisible()


def test_that_bad_preferences_are_told_once_and_the_defaults_used(open_window, tmp_path):
    path = tmp_path / "preferences.json"
    path.write_text('{"version": 1, "geometry": "zz"}')
    haloscope = open_window(theme="", preferences_path=path)
    assert "preferences.json.bak" in haloscope.window.message_bar.text
    assert path.with_suffix(".json.bak").exists()


def test_that_a_layout_of_another_version_leaves_the_default_one(open_window, tmp_path):
    path = tmp_path / "preferences.json"
    path.write_text(
        json.dumps({"version": 1, "geometry": "00", "layouts": {"explore": "00ff", "gone": "00"}})
    )
    window = open_window(theme="", preferences_path=path).window
    assert len(shown(window, QDockWidget)) == 5


@pytest.mark.parametrize("name", ["open", "save", "open_session", "save_session", "load_mask", "save_mask"])
def test_that_file_dialogs_do_not_stop_the_window(open_window, qtbot, name):
    haloscope = open_window()
    haloscope.actions[name].trigger()
    dialog = haloscope.files.dialog
    qtbot.waitUntil(dialog.isVisible)
    dialog.reject()


def test_that_the_suggested_name_says_picture_and_mask(open_window):
    haloscope = open_window()
    haloscope.actions["save"].trigger()
    assert haloscope.files.dialog.selectedFiles()[0].endswith("astronaut-sharpen.png")
    haloscope.files.dialog.reject()


@pytest.mark.parametrize("name", ["about", "shortcuts", "documentation"])
def test_that_help_opens_beside_the_window(open_window, qtbot, name):
    haloscope = open_window()
    haloscope.actions[name].trigger()
    (dialog,) = [
        w for w in haloscope.window.children() if w.isWidgetType() and w.isWindow() and w.isVisible()
    ]
    assert dialog.windowTitle() == haloscope.actions[name].iconText()
    dialog.reject()


def test_that_a_dropped_mask_is_taken_up(open_window, tmp_path):
    haloscope = open_window()
    haloscope.window.first_page.files.save_mask(tmp_path / "mask.json")
    (tmp_path / "other.csv").write_text("1,2\n3,4\n")
    dropped(haloscope.window, tmp_path / "other.csv")
    assert haloscope.workspace.mask.shape == (2, 2)
    dropped(haloscope.window, tmp_path / "mask.json")
    assert haloscope.workspace.mask.shape == (3, 3)
    (tmp_path / "words.txt").write_text("hello")
    dropped(haloscope.window, tmp_path / "words.txt")
    assert "words.txt" in haloscope.window.message_bar.text


@pytest.mark.parametrize("entry", ["Load mask…", "Save mask…"])
def test_that_the_menu_of_the_mask_opens_the_dialogs(open_window, entry):
    haloscope = open_window()
    menu = haloscope.window.first_page.mask_panel.more_button.menu()
    next(action for action in menu.actions() if action.text() == entry).trigger()
    assert "mask" in haloscope.files.dialog.windowTitle()
    haloscope.files.dialog.reject()


@pytest.mark.parametrize("text", ["", "[1, 2]", '{"format": "haloscope-session", "version": 1', "\0\1"])
def test_that_a_broken_session_is_told_and_nothing_changes(open_window, tmp_path, text):
    haloscope = open_window()
    before = haloscope.workspace.settings, haloscope.workspace.mask
    (tmp_path / "work.json").write_text(text)
    dropped(haloscope.window, tmp_path / "work.json")
    assert "work.json" in haloscope.window.message_bar.text
    assert (haloscope.workspace.settings, haloscope.workspace.mask) == before


def test_that_run_says_why_it_cannot_be_chosen(open_window, qtbot):
    haloscope = open_window()
    haloscope.link._client.automatic = False
    haloscope.actions["run"].trigger()
    assert "Esc" in haloscope.actions["run"].toolTip()
    haloscope.actions["cancel"].trigger()
    qtbot.waitUntil(lambda: not haloscope.state.running)
    assert "reference" in haloscope.actions["run"].toolTip()
    assert "Esc" not in haloscope.actions["run"].toolTip()


def test_that_a_block_that_is_being_typed_belongs_to_the_run(open_window, qtbot):
    haloscope = open_window(unavailable={})
    haloscope.workspace.change(variant="naive", device="simulator", block=Block(16, 16))
    box = haloscope.window.first_page.kernel_panel.block.width_box
    haloscope.window.activateWindow()
    box.setFocus()
    box.selectAll()
    qtbot.keyClicks(box, "8")
    qtbot.keyClick(haloscope.window, Qt.Key.Key_R, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: haloscope.results.rowCount() == 1)
    assert haloscope.results.results()[0].block == Block(8, 16)
    assert haloscope.window.focusWidget() is box


def test_that_no_name_is_asked_for_a_result_that_is_not_of_these_settings(open_window):
    haloscope = open_window()
    haloscope.link._client.automatic = False
    haloscope.workspace.change(border=Border.WRAP)
    haloscope.actions["save"].trigger()
    assert haloscope.files.dialog is None
    assert "earlier result" in haloscope.window.message_bar.text


@pytest.mark.parametrize("by", ["button", "menu"])
def test_that_copying_results_is_told(open_window, qtbot, by):
    haloscope = open_window()
    haloscope.actions["run"].trigger()
    qtbot.waitUntil(lambda: haloscope.results.rowCount() == 1 and not haloscope.state.running)
    if by == "menu":
        haloscope.actions["copy_results"].trigger()
    else:
        haloscope.window.first_page.results_panel.table.copy()
    assert haloscope.window.message_bar.text == "1 row copied."


def test_that_the_longest_title_stands_whole_beside_a_time(open_window):
    haloscope = open_window()
    kernels = haloscope.window.first_page.kernel_panel.kernels
    title = QFontMetrics(small_font()).horizontalAdvance("Separable, global memory (L0)")
    time = QFontMetrics(number_font()).horizontalAdvance("0.0123 ms")
    bar = kernels.verticalScrollBar().sizeHint().width()
    # The shape before it, a gap between, and one behind.
    assert 28 + title + 8 + time + 8 <= kernels.width() - 2 * kernels.frameWidth() - bar


def test_that_a_refused_run_is_told_without_the_name_of_its_variant_twice(open_window, qtbot):
    haloscope = open_window()
    client = haloscope.link._client
    client.automatic = False
    haloscope.actions["run"].trigger()
    asked = client.waiting(Run)[0]
    reply = client._reply(asked.request)
    failure = f"variant '{reply.result.variant}': row 50 is nan. Use another."
    client._take(asked).future.set_result(
        replace(reply, result=replace(reply.result, failure=failure, timing=None))
    )
    qtbot.waitUntil(lambda: not haloscope.state.running)
    assert (
        haloscope.window.message_bar.text == f"{reply.result.title} gave no time. Row 50 is nan. Use another."
    )


def test_that_in_a_narrow_window_the_zoom_steps_make_room_and_come_back(open_window):
    haloscope = open_window((1024, 640))
    toolbar = haloscope.window.first_page.picture_view.toolbar
    names = {button.accessibleName() for button in shown(toolbar, QToolButton)}
    assert names >= {"Split", "Fit", "100 %"}
    assert "Zoom in" not in names
    haloscope.window.resize(1280, 800)
    QApplication.processEvents()
    assert {"Zoom in", "Zoom out"} <= {button.accessibleName() for button in shown(toolbar, QToolButton)}
    assert toolbar.zoom_text.width() >= toolbar.zoom_text.fontMetrics().horizontalAdvance("12800 %")


@pytest.mark.parametrize("what", ["mask size", "block", "border value"])
def test_that_ctrl_z_in_a_number_field_undoes_the_last_edit(open_window, qtbot, what):
    haloscope = open_window()
    haloscope.workspace.change(border=Border.CONSTANT, variant="naive", device="simulator")
    page = haloscope.window.first_page
    field = {
        "mask size": page.mask_panel.size_controls.rows_box,
        "block": page.kernel_panel.block.width_box,
        "border value": page.mask_panel.apply_controls.value_field,
    }[what]
    page.mask_panel.size_controls.rows_box.stepUp()
    assert haloscope.workspace.mask.shape == (5, 5)
    haloscope.window.activateWindow()
    field.setFocus()
    qtbot.keyClick(field, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert haloscope.workspace.mask.shape == (3, 3)
    qtbot.keyClick(field, Qt.Key.Key_Y, Qt.KeyboardModifier.ControlModifier)
    assert haloscope.workspace.mask.shape == (5, 5)
    # While something is typed, the keys are the field's.
    field.selectAll()
    qtbot.keyClicks(field, "9")
    qtbot.keyClick(field, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert haloscope.workspace.mask.shape == (5, 5)


def test_that_the_window_of_the_first_start_fits_the_screen_with_its_frame(qapp, qtbot, monkeypatch):
    screen = QRect(0, 0, 1280, 800)
    monkeypatch.setattr(QScreen, "availableSize", lambda _: screen.size())
    monkeypatch.setattr(QScreen, "availableGeometry", lambda _: screen)
    monkeypatch.setattr(MainWindow, "frameGeometry", lambda w: w.geometry().adjusted(-4, -30, 4, 4))
    engine = StartedEngine(lambda **callbacks: FakeEngineClient(**callbacks))
    haloscope = OpenedWindow(qapp, engine)
    qtbot.addWidget(haloscope.window)
    with qtbot.waitSignal(haloscope.window.painted):
        haloscope.window.show()
    assert haloscope.window.size() == QSize(1272, 766)
    haloscope.link.shutdown()


def test_that_a_message_does_not_move_the_picture(open_window):
    haloscope = open_window()
    canvas = haloscope.window.first_page.surface
    before = canvas.size(), canvas.view.transform
    haloscope.messages.show(Message("test", Severity.ERROR, "It failed", "for a reason " * 30))
    QApplication.processEvents()
    assert haloscope.window.message_bar.isVisible()
    assert (canvas.size(), canvas.view.transform) == before


def test_that_the_simulator_is_offered_with_a_small_picture_where_there_is_no_gpu(open_window, qtbot):
    haloscope = open_window(unavailable={})
    haloscope.previews.simulator_wanted.emit()
    qtbot.waitUntil(lambda: haloscope.workspace.settings.device == "simulator")
    assert haloscope.workspace.picture.sample == "impulse"


def test_that_the_selected_row_is_the_run_of_breakdown_and_work_model(open_window, qtbot):
    haloscope = open_window()
    haloscope.actions["run_all"].trigger()
    qtbot.waitUntil(lambda: haloscope.results.rowCount() == 3 and not haloscope.state.running)
    page = haloscope.window.first_page
    assert page.kernel_panel.breakdown.title.startswith("Run 3: naive")
    page.results_panel.table.selectRow(0)
    assert page.kernel_panel.breakdown.title == "Run 1: cpu-serial"
    assert "cpu-serial" in page.kernel_panel.work.toolTip()


def test_that_the_status_line_names_the_run_that_the_speed_up_is_against(open_window):
    haloscope = open_window()
    line = haloscope.window.status_line
    haloscope.results.add(make_result("cpu-serial", 20.0))
    haloscope.results.add(make_result("tiled", 0.04))
    assert line._figure.text() == "500× vs cpu-serial"
    assert line._figure.toolTip() == "Against run 1 (cpu-serial), same problem."
    haloscope.results.add(make_failure("tiled"))
    assert (line._figure.text(), line._figure.toolTip()) == ("", "")
