"""The whole window, and its controllers without any widget, around a fake engine."""

from concurrent.futures import Future
from dataclasses import fields, replace

from PySide6.QtCore import QCoreApplication, QEvent, QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent
from PySide6.QtWidgets import QDialog
from shiboken6 import delete

from engine.errors import EngineError
from engine.host.protocol import OpenPicture
from engine.host.request import Preview
from engine.mask.presets import preset
from gui.engine_link.engine_link import EngineLink
from gui.engine_link.engine_start import StartedEngine
from gui.engine_link.engine_state import EngineState
from gui.explore.files import ExploreFiles
from gui.explore.parts import FIRST_MASK
from gui.explore.picture.layers import ViewMode
from gui.explore.picture.picture_controller import PictureController
from gui.explore.preview_controller import ComputingMessages, Display, PreviewController
from gui.explore.results.blocks_panel import BlockCells
from gui.explore.results.results_model import ResultsModel
from gui.explore.run_controller import RunController
from gui.explore.sessions import Sessions
from gui.explore.state import EditedStep, PictureSource, State
from gui.explore.workspace import Workspace
from gui.network.page import FIRST_DIGIT
from gui.page.actions import Actions
from gui.page.contract import Services
from gui.page.files import FileDialogs
from gui.page.jobs import JobQueue, deliver
from gui.page.messages import Messages
from gui.page.slot import Slot
from gui.shell.app import Haloscope
from gui.shell.closing import Closing, Recovery
from gui.shell.machines import Machines
from gui.shell.menus import ENTRIES, PageActions
from tests.gui.fake_engine import FakeEngineClient, is_kind

_PARTS = {
    "explore": "workspace results display pictures previews runs commands cells blocks_panel",
    "matrices": "matmul",
    "network": "network",
    "course": "course courses",
}
_PAGE_OF = {name: key for key, names in _PARTS.items() for name in names.split()}


def panel_of(page, name, qtbot):
    """Look at a panel; return it once it has been made."""
    page.bring_to_front(name)
    content = page.panel(name).content
    qtbot.waitUntil(content.isVisible)
    if not isinstance(content, Slot):
        return content
    qtbot.waitUntil(lambda: content.is_complete)
    return content.widget


def made(page, name):
    """Return a panel, made if it was never visible."""
    slot = page.panel(name).content
    slot.fill()
    if slot.isVisible():
        slot.widget.show()
    return slot.widget


def shown_page(window, key, qtbot):
    """Show a page; return it once all that is seen of it has been made."""
    window.show_page(key)
    page = window.page
    # A page that is shown shows slots of its own.
    qtbot.waitUntil(lambda: page.isVisible() and all(slot.is_complete for slot in window.findChildren(Slot)))
    return page


def drop(haloscope, *paths, text="", url=""):
    """Drop files, or a text or an address from another program."""
    data = QMimeData()
    urls = [QUrl.fromLocalFile(str(path)) for path in paths] + ([QUrl(url)] if url else [])
    if urls:
        data.setUrls(urls)
    if text:
        data.setText(text)
    left, nothing = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    haloscope.window.dropEvent(QDropEvent(QPointF(10, 10), Qt.DropAction.CopyAction, data, left, nothing))


def save_session(haloscope, path, qtbot):
    """Save a session; return its path once it is there."""
    haloscope.window.first_page.files.save_session(path)
    qtbot.waitUntil(lambda: path.exists() and not haloscope.window.unsaved)
    return path


def all_actions(menu):
    """Return the actions of a menu and of the menus in it, without those that only open one."""
    inner = {action: action.menu() for action in menu.actions()}
    return [one for action, menu in inner.items() for one in (all_actions(menu) if menu else [action])]


class OpenedWindow(Haloscope):
    """`haloscope.workspace` is that of the page Explore, and so on; pages are built when first needed."""

    def reset(self, bot):
        """Show the page Explore as at first: its picture, settings, view and panels; no runs, no messages."""
        page, fake = self.window.first_page, self.link._client
        for dialog in self.window.findChildren(QDialog):
            dialog.close()
        fake.automatic, fake.unavailable, fake.save_notes = True, fake.first_unavailable, ()
        self.window.cancel()
        self.link._written_beside.clear()
        while fake.asked:
            fake.answer()
        # A window that waited for what is written closes now.
        QCoreApplication.processEvents()
        self.window.show()
        self.window.show_page("explore")
        self.results.take_out(self.results.kept)
        page.selection.select(self.workspace.settings.variant)
        self.workspace.select(None)
        self.workspace.show_whole(False)
        first = PictureSource("", "astronaut")
        self.workspace.begin_with(State((EditedStep.of(preset(FIRST_MASK)),), source=first))
        page.picture_view.set_mode(ViewMode.SPLIT)
        page.picture_view.canvas.view.fit()
        page.picture_view.canvas.show_scene(channel=None)
        bot.waitUntil(lambda: self.workspace.picture.sample == "astronaut" and bool(self.state.last_result))
        bot.waitUntil(lambda: not page.display.is_earlier and not fake.asked)
        self.actions["reset_layout"].trigger()
        for name in ("mask", "results"):
            page.bring_to_front(name)
        page.undo_stack.clear()
        if "course" in self.window._entered:
            self.course._known.clear()
        for key in {"matrices", "network"}.intersection(self.window._entered):
            self._reset_runs(key, bot)
        self.messages.clear(*self.messages._messages)
        fake.seen.clear()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)

    def start_again(self, bot, folder):
        """Begin as a new program does, in this window; its work is kept in a folder, or not at all."""
        if self.recovery is not None:
            delete(self.recovery)
        self.reset(bot)
        delete(self.closing)
        self.recovery = Recovery(self.window, self.messages, folder) if folder is not None else None
        self.closing = Closing(self.window, self.link, self.state, self.messages, self.recovery)
        if self.recovery is not None:
            self.recovery.look()

    def crash(self):
        """Leave the work that is kept as a crash does: without its lock held."""
        self.recovery._writer.end()
        self.recovery._lock.unlock()
        self.recovery._lock = None

    def _reset_runs(self, key, bot):
        """Leave a page that was shown with its first settings and drawing, and without runs."""
        page = self.window.page_of(key)
        state = page._runs
        state.take_out(state.kept)
        first = type(state.settings)()
        state.change(**{field.name: getattr(first, field.name) for field in fields(first)})
        if not page._was_shown:
            return
        if key == "network":
            state.release_cell()
            state.drawing.clear()
            state.undo_stack.clear()
            state.drawing.start_with(FIRST_DIGIT, state.facts.digits[FIRST_DIGIT])
        state.undo_stack.clear()
        page.restore_default()
        bot.waitUntil(lambda: bool(state.results()) and page.is_complete)

    def __getattr__(self, name):
        if name not in _PAGE_OF:
            raise AttributeError(name)
        return getattr(self.window.page_of(_PAGE_OF[name]), name)


def settle():
    """Deliver every queued signal and every timer of 0 ms, without waiting for time to pass."""
    for _ in range(20):
        QCoreApplication.sendPostedEvents(None, QEvent.Type.MetaCall)
        QCoreApplication.processEvents()


def _fake_action(name):
    """Return a method that has the fake engine do something, and lets all that follows happen."""

    def do(self, *given):
        getattr(self.fake, name)(*given)
        self.settle()

    return do


def page_on(bench, kind, bot):
    """Put a page of a kind on a bench, not shown yet, as `bench.page`."""
    actions = Actions()
    actions.add(ENTRIES)
    PageActions(actions, bench.state, bench.link)
    bench.page = kind(replace(bench.services, actions=actions))
    bot.addWidget(bench.page)
    return bench


class AtOnce:
    """Does work at once, instead of a `Background`."""

    def do(self, work, done, failed):
        """Do work; then call `done` with what it returned, or `failed` with the error."""
        future = Future()
        try:
            future.set_result(work())
        except EngineError as error:
            future.set_exception(error)
        deliver(future, done, failed)


class Bench:
    """Controllers and state around a fake engine, without any widget."""

    def __init__(self, **options):
        self.engine = StartedEngine(lambda **callbacks: FakeEngineClient(**callbacks, **options))
        self.fake = self.engine.client
        self.workspace = Workspace(preset("sharpen"))
        self.state = EngineState()
        self.messages = Messages()
        self.results = ResultsModel()
        self.link = EngineLink(self.engine, self.state)
        self.machines = Machines(self.link, self.state, self.messages, ())
        self.display = Display(self.workspace, self.state, self.link.keeper)
        self.small_pictures = []
        self.jobs = JobQueue(self.state, self.link)
        parts = self.messages, self.link, self.state, FileDialogs(), self.jobs
        self.services = services = Services(None, *parts)
        helped = self.workspace, lambda: self.small_pictures.append("taken")
        self.behind = ComputingMessages(services, None, *helped)
        self.pictures = PictureController(self.workspace, services, self.display)
        computing = self.workspace, services, self.behind, self.display
        self.previews = PreviewController(*computing)
        self.cells = BlockCells(self.results)
        self.runs = RunController(*computing, self.cells)
        self.sessions = Sessions(self.workspace, self.results, services, AtOnce())
        self.files = ExploreFiles(services, self.workspace, self.pictures, self.sessions)

    settle = staticmethod(settle)

    def asked(self, kind):
        """Return what the engine was asked of a kind, oldest first."""
        return [one for one in self.fake.seen if is_kind(one, kind)]

    def jobs_asked(self, kind):
        """Return the jobs of what the engine was asked of a kind; a request without one is its own."""
        return [getattr(one, "job", one) for one in self.asked(kind)]

    def change(self, **fields):
        """Change settings of the workspace."""
        self.workspace.change(**fields)
        self.settle()

    # What the fake engine does, with all that follows.
    answer, answer_all, fail = map(_fake_action, ("answer", "answer_all", "fail"))
    tell, lose, become_ready = map(_fake_action, ("tell", "lose", "become_ready"))

    def open(self, name="photo.png"):
        """Open a picture and show its preview."""
        automatic, self.fake.automatic = self.fake.automatic, True
        self.pictures.open_sample(name)
        self.settle()
        self.fake.automatic = automatic
        assert self.workspace.picture is not None
        assert not self.fake.waiting(OpenPicture) + self.fake.waiting(Preview)


def place_of(canvas, row, column):
    """Return the point of a canvas where the middle of a pixel lies, one device pixel per point."""
    x, y = canvas.view.transform.to_pane(column + 0.5, row + 0.5)
    return QPoint(int(x), int(y))


def wait(qtbot, condition):
    """Wait for what the engine computes in this process; its code may have to be compiled first."""
    qtbot.waitUntil(condition, timeout=60_000)
