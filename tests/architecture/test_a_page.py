"""What a page costs: a folder with `build`, and a line in `PAGES`. The contract tells the frame the rest."""

import ast
import sys
from pathlib import Path
from types import ModuleType

import grimp
import pytest
from grimp import Layer
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMenu

from engine.course.paper import CourseKernel
from engine.tasks.product.problem import MatrixProduct, ProductGrid
from gui.page.actions import Entry
from gui.page.contract import Page, PageEntry, PageStatus, Tool
from gui.page.jobs import RequestedRun
from gui.shell import main_window
from gui.shell.pages import PAGES
from tests.architecture.test_contracts import CONTRACTS
from tests.gui.conftest import light_again, open_window, rest_is_kept  # noqa: F401 - fixtures
from tests.gui.made_window import shown_page

GUI = Path(main_window.__file__).parents[1]
WORK = ProductGrid(MatrixProduct(4, 4, 4), (2,), "auto")


class ToyPage(Page):
    """Runs something, and brings an action, a tool and a sentence."""

    def __init__(self, services):
        super().__init__()
        self.services = services
        self.replies = []
        self.loaded = None
        self.saved = 0
        what = "toy_again", "Toy a&gain", "Do the toy's work again.", "Ctrl+Alt+T"
        (again,) = services.actions.add([Entry(*what, menu="&Run", section=10)])
        again.triggered.connect(self.run)
        self.tools = (Tool(again),)

    @property
    def status(self):
        words = {"run_does": "Does the toy's work.", "caption": "A toy", "document": "toy.txt"}
        sentence, has = f"Toy: {len(self.replies)} done.", bool(self.replies)
        return PageStatus(sentence, device="simulator", has_results=has, **words)

    def run(self):
        self.services.jobs.begin(
            "toy", [RequestedRun("Toy", WORK, self._replied)], self.services.messages.on(self)
        )

    def save_results(self):
        self.saved += 1

    def take(self, intent):
        is_mine = isinstance(intent, CourseKernel) and intent.variant == "toy"
        self.loaded = intent if is_mine else self.loaded
        return is_mine

    def _replied(self, reply):
        self.replies.append(reply)
        self.status_changed.emit()


@pytest.fixture
def toy(open_window, monkeypatch):  # noqa: F811
    """A window with one page more; returns it with the page's entry."""
    module = ModuleType("toy_page")
    module.build = ToyPage
    monkeypatch.setitem(sys.modules, "toy_page", module)
    entry = PageEntry("toy-of-a-test", "Toy", "A page of a test.", "puzzle-outline", "toy_page")
    PAGES.append(entry)
    yield open_window()
    PAGES.remove(entry)


def titles(menu):
    return [action.text().replace("&", "") for action in menu.actions()]


def test_that_a_page_is_found_wherever_pages_are_chosen(toy, qtbot):
    window = toy.window
    number = len(PAGES) - 1
    assert window.page_bar.actions()[number].text() == "Toy"
    pages = next(menu for menu in window.menuBar().findChildren(QMenu) if menu.title() == "Pag&es")
    assert titles(pages) == [entry.title for entry in PAGES]
    qtbot.keyClick(window, Qt.Key(Qt.Key.Key_1 + number), Qt.KeyboardModifier.AltModifier)
    assert isinstance(window.page, ToyPage)
    assert window.page_bar.actions()[number].isChecked()


def test_that_the_frame_shows_what_the_page_tells_it(toy, qtbot):
    window = toy.window
    shown_page(window, "toy-of-a-test", qtbot)
    assert window.status_line.last.text() == "Toy: 0 done."
    assert "CUDA simulator" in window.status_line._engine.text()
    assert window.windowTitle() == "toy.txt — Haloscope"
    assert window.top_bar.caption.text() == "A toy"
    assert "Does the toy's work." in toy.actions["run"].toolTip()
    assert not toy.actions["run_all"].isEnabled()
    run_menu = next(menu for menu in window.menuBar().findChildren(QMenu) if menu.title() == "&Run")
    assert "Toy again" in titles(run_menu)
    (tool,) = [button for button in window.top_bar._tools[window.page] if button.isVisible()]
    assert tool.defaultAction() is toy.actions["toy_again"]
    window.show_page("explore")
    assert not tool.isVisible()


def test_that_the_actions_of_the_frame_reach_the_work_of_the_page(toy, qtbot):
    window, engine = toy.window, toy.link._client
    window.show_page("toy-of-a-test")
    page = window.page
    engine.automatic = False
    qtbot.keyClick(window, Qt.Key.Key_R, Qt.KeyboardModifier.ControlModifier)
    assert toy.state.running
    (asked,) = engine.waiting(ProductGrid)
    engine.tell("half of it", 0.5, asked)
    qtbot.waitUntil(lambda: toy.state.stage == "Toy: half of it")
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: not toy.state.running)
    assert engine.cancelled == [WORK]
    engine.automatic = True
    qtbot.keyClick(window, Qt.Key.Key_F5)
    qtbot.waitUntil(lambda: not toy.state.running)
    assert window.status_line.last.text() == "Toy: 1 done."
    assert len(page.replies) == 1


def test_that_its_results_are_saved_by_the_actions_of_the_frame(toy, qtbot):
    shown_page(toy.window, "toy-of-a-test", qtbot)
    save = toy.actions["save_results"]
    assert not save.isEnabled()
    assert "no results on this page" in save.toolTip()
    toy.actions["run"].trigger()
    qtbot.waitUntil(save.isEnabled)
    qtbot.keyClick(toy.window, Qt.Key.Key_E, Qt.KeyboardModifier.ControlModifier)
    assert toy.window.page.saved == 1
    toy.window.show_page("explore")
    assert not save.isEnabled()


def test_that_a_page_that_takes_an_intent_is_shown(toy):
    intent = CourseKernel("a toy", "", "toy")
    assert toy.window.offer(intent)
    assert isinstance(toy.window.page, ToyPage)
    assert toy.window.page.loaded is intent
    assert not toy.window.offer(CourseKernel("nothing", "", "no such variant"))


@pytest.fixture(scope="module")
def imports():
    """Who imports whom in the window, those of types and within functions too."""
    return grimp.build_graph("gui", cache_dir=None)


PACKAGES = {entry.module.rpartition(".")[0].removeprefix("gui.") for entry in PAGES}


def test_that_pages_stand_side_by_side_between_the_shell_and_what_they_share(imports):
    """The layers of the window in pyproject.toml, with the packages of the pages between shell and page."""
    (contract,) = (one for one in CONTRACTS if one.get("containers") == ["gui"])
    shell, *below = contract["layers"]
    children = {child.removeprefix("gui.") for child in imports.find_children("gui")}
    unknown = children - {shell, *below} - PACKAGES
    assert not unknown, "A package is a page (gui/shell/pages.py) or a layer (pyproject.toml)."
    layers = [shell, Layer(*PACKAGES, independent=True), *below]
    wrong = imports.find_illegal_dependencies_for_layers(layers, containers={"gui"})
    assert not [f"{found.importer} -> {found.imported}" for found in wrong]


def test_that_the_frame_has_no_key_of_a_page():
    """A page's own words are its own: only the frame must not ask which page it has."""
    keys = {entry.key for entry in PAGES}
    found = [
        f"{path.relative_to(GUI)}:{node.lineno}"
        for path in sorted([*(GUI / "shell").glob("*.py"), *(GUI / "page").glob("*.py")])
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in keys and path.name != "pages.py"
    ]
    assert found == []


def test_that_the_shell_imports_nothing_of_a_page(imports):
    """The layers let it, as the list of pages stands there: but it names modules, and imports none."""
    packages = {f"gui.{package}" for package in PACKAGES}
    assert not [one for one in packages if imports.find_shortest_chain("gui.shell", one, as_packages=True)]
