"""The chain beside its steps: times, mergers; steps added, moved, removed; ready chains; chains as files."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu

from engine.mask.mask import Mask
from engine.results.text_forms import duration_text
from engine.work.messages import ListRequest, MergeRequest
from engine.work.operations.contract import OPERATIONS, ResultKind, pixel_alone
from engine.work.steps import MOST_STEPS, PICTURE
from gui.engine_link.engine_link import EngineLink, Newest, needs_no_message
from gui.explore.jobs import state_of, written_chain
from gui.explore.preview_controller import Display
from gui.explore.state import COMBINE, FIRST_ID, SHARED, EditedStep, State, StepSettings, values_of
from gui.explore.workspace import Workspace
from gui.page.actions import Entry
from gui.page.contract import Services
from gui.page.jobs import Background
from gui.style.metrics import follow

if TYPE_CHECKING:
    from engine.work.messages import Merger
    from engine.work.steps import Chain


def added(state: State, step: EditedStep) -> State:
    """Return the state with a step after the selected one, whose result it reads; it is selected."""
    shared, taken = values_of(SHARED, state.step.settings), {one.id for one in state.steps}
    free = next(name for at in range(1, len(taken) + 2) if (name := f"s{at}") not in taken)
    step = replace(step.with_settings(**shared), id=free)
    if step.operation == COMBINE:
        step = replace(step, input="", second=PICTURE)
    at = state.selected + 1
    return replace(state, steps=(*state.steps[:at], step, *state.steps[at:]), selected=at)


def combining(state: State) -> EditedStep:
    """Return a step that adds the picture to the result of the step before."""
    step = state.step.with_operation(COMBINE).with_settings(parameters={"how": "add"})
    return replace(step, on=True)


def removed(state: State) -> State:
    """Return the state without the selected step: who read it reads what it read. One step stays."""
    at, gone, steps = state.selected, state.step, list(state.steps)
    if len(steps) == 1:
        return state
    reads = reads_of(state, at)[0]
    for later, step in enumerate(steps[at + 1 :], start=at + 1):
        if step.input == gone.id or (later == at + 1 and not step.input):
            # The one before it is what is read without a name, too.
            before = steps[at - 1].id if at else PICTURE
            step = replace(step, input="" if later == at + 1 and reads == before else reads)
        if step.second == gone.id:
            step = replace(step, second=reads)
        steps[later] = step
    del steps[at]
    rest = replace(state, steps=tuple(steps), selected=min(at, len(steps) - 1))
    # A single step is the whole page, and reads the picture.
    only = rest.steps[0]
    if len(rest.steps) == 1 and only.operation != COMBINE:
        return State((replace(only, id=FIRST_ID, input="", on=True),), 0, rest.source)
    return rest


def why_not_moved(state: State, by: int) -> str:
    """Return why the selected step cannot move so far; empty if it can."""
    at = state.selected + by
    if not 0 <= at < len(state.steps):
        return "It is the first step." if by < 0 else "It is the last step."
    steps = list(state.steps)
    steps.insert(at, steps.pop(state.selected))
    known = {PICTURE, ""}
    for step in steps:
        for read in (step.input, step.second if step.operation == COMBINE else ""):
            if read not in known:
                numbers = [number_of(state, one) for one in (step.id, read)]
                return f"Step {numbers[0]} reads step {numbers[1]}, so it stays after it."
        known.add(step.id)
    return ""


def moved(state: State, by: int) -> State:
    """Return the state with the selected step so many places further down; as it is where that cannot be."""
    if why_not_moved(state, by):
        return state
    steps, at = list(state.steps), state.selected + by
    steps.insert(at, steps.pop(state.selected))
    return replace(state, steps=tuple(steps), selected=at)


def split(state: State, first: Mask, second: Mask) -> State:
    """Return the state with two masks, one after the other, that replace the selected step's."""
    step = state.step
    column, row = (
        step.with_mask(one, is_new=True).with_settings(flip=False, normalise=False) for one in (first, second)
    )
    both = added(state.with_step(column), replace(row, input=""))
    # Steps that read the one mask read the second of the two.
    begun, later = both.steps[: both.selected + 1], []
    for one in both.steps[both.selected + 1 :]:
        reads = values_of(("input", "second"), one)
        reads |= {name: both.step.id for name, id_ in reads.items() if id_ == step.id}
        later.append(replace(one, **reads))
    return replace(both, steps=(*begun, *later))


def with_inputs(state: State, input_: str, second: str) -> State:
    """Return the state in which the selected step reads others; the one before it without its name."""
    before = state.steps[state.selected - 1].id if state.selected else PICTURE
    return state.with_step(replace(state.step, input="" if input_ == before else input_, second=second))


def reads_of(state: State, at: int) -> tuple[str, ...]:
    """Return the ids of what a step reads, or PICTURE."""
    step = state.steps[at]
    first = step.input or (state.steps[at - 1].id if at else PICTURE)
    return (first, step.second) if step.operation == COMBINE else (first,)


def number_of(state: State, id_: str) -> int:
    """Return the place of a step, from 1."""
    return next((at for at, step in enumerate(state.steps, start=1) if step.id == id_), 0)


def title_of_step(step: EditedStep) -> str:
    """Return what a step does, in a few words."""
    parameters = step.settings.parameters
    if step.operation == COMBINE:
        how = parameters.get("how", "add")
        weight = f" {parameters.get('weight', 0.5):g}" if how == "blend" else ""
        return f"{how.capitalize()}{weight}"
    if step.operation:
        values = "".join(f", {name} {value}" for name, value in parameters.items())
        return f"{step.operation.replace('-', ' ').capitalize()}{values}"
    return step.mask_words


def reads_words(state: State, at: int) -> str:
    """Return what a step reads: from picture; from step 1 and step 2."""
    names = ["picture" if id_ == PICTURE else f"step {number_of(state, id_)}" for id_ in reads_of(state, at)]
    return f"from {' and '.join(names)}"


def new_step(step: EditedStep, operation: str) -> EditedStep:
    """Return a step that does an operation as it is at first; a mask begins as a copy of another step's."""
    begun = EditedStep(step.mask, step.title, settings=StepSettings(border=step.settings.border))
    return begun.with_operation(operation)


_PAUSE_MS = 300  # mergers are requested when edits have paused: previews come first


class ChainState(QObject):
    """What each step took, and which steps could become one mask; follows the workspace."""

    changed = Signal()  # `time_of` or `offer`

    def __init__(self, workspace: Workspace, display: Display, link: EngineLink) -> None:
        super().__init__()
        self.workspace, self._display, self._offers = workspace, display, Newest(link)
        self._took: dict[str, tuple[object, str]] = {}
        self.offer: Merger | None = None  # the merger that would be faster; None where there is none
        self._pause = QTimer(self, singleShot=True, interval=_PAUSE_MS)
        self._pause.timeout.connect(self._ask)
        display.timed.connect(self._note_times)
        workspace.job_changed.connect(self._follow)
        self._follow()

    def time_of(self, step: EditedStep) -> str:
        """Return what a step took when its result was last made; empty where that is not known."""
        settings, took = self._took.get(step.id, (None, ""))
        return took if settings == step.result_part else ""

    def switch(self, at: int) -> None:
        state = self.workspace.state
        step = state.steps[at]
        steps = (*state.steps[:at], replace(step, on=not step.on), *state.steps[at + 1 :])
        self.workspace.edit(replace(state, steps=steps), f"Step {at + 1} {'off' if step.on else 'on'}")

    def read(self, first: str, second: str) -> None:
        state = self.workspace.state
        self.workspace.edit(with_inputs(state, first, second), f"Inputs of step {state.selected + 1}")

    def merge(self) -> None:
        """Take the merger that is offered, as one step that can be undone."""
        if self.offer is not None:
            self.take(self.offer.chain, "Merge steps")

    def take(self, chain: "Chain", text: str) -> None:
        """Take the steps of a chain, as one step that can be undone."""
        self.workspace.edit(state_of(chain, self.workspace.state), text)

    def _note_times(self) -> None:
        steps = {step.id: step for step in self.workspace.state.steps}
        for one in self._display.step_times:
            if one.id in steps and one.ms is not None:
                self._took[one.id] = steps[one.id].result_part, duration_text(one.ms)
        self.changed.emit()

    def _follow(self) -> None:
        self._offers.forget()
        self._show_offers(())
        if self.workspace.is_chain:
            self._pause.start()

    def _ask(self) -> None:
        linear = [step for step in self.workspace.state.steps if step.operation in ("", COMBINE)]
        job = self.workspace.run_job() if self.workspace.is_chain and len(linear) > 1 else None
        # Why a chain cannot be computed, its preview says.
        if job is not None:
            self._offers.ask(MergeRequest(job), self._show_offers, lambda error: None)

    def _show_offers(self, offers: "tuple[Merger, ...]") -> None:
        before, self.offer = self.offer, next((one for one in offers if one.is_faster), None)
        if before != self.offer:
            self.changed.emit()


SOURCE = "chain"
CHAINS = ["Chains (*.json)", "All files (*)"]
CHAINS_AS = ["Haloscope chain (*.json)"]
_MENU = "&Chain"
_ADD, _READY = "&Add step", "Read&y chains"
# So many ready chains stand before a line in their menu.
_READY_GROUP = 8
ENTRIES = (
    Entry("add_step:mask", "&Mask", "Add a step after the selected one: a mask, which begins as a copy.",
          "Ctrl+Alt+A", "mask", _MENU, 10, _ADD),
    Entry("add_step:combine", "&Combine two results",
          "Add a step that makes one of two results: sum, difference, magnitude, maximum, blend.",
          "", "set-merge", _MENU, 10, _ADD, COMBINE),
    Entry("step_up", "Step &up", "Move the selected step up (Alt+Up in the list).", "", "arrow-up",
          _MENU, 20),
    Entry("step_down", "Step &down", "Move the selected step down (Alt+Down in the list).", "", "arrow-down",
          _MENU, 20),
    Entry("step_duplicate", "Du&plicate step", "Add a copy of the selected step.", "", "content-copy",
          _MENU, 20),
    Entry("step_switch", "S&witch step off or on",
          "A step that is off is passed by: its readers get what it reads.", "", "eye-outline", _MENU, 20),
    Entry("step_remove", "&Remove step", "Remove the selected step; its readers get what it reads.", "",
          "clear", _MENU, 20),
    Entry("chain_whole", "Show the whole &chain",
          "Show the result of the last step, whichever step is selected.", "", "format-vertical-align-bottom",
          _MENU, 25),
    Entry("open_chain", "Open chai&n…", "Open the steps of a chain from a file (docs/chains.md).", "", "open",
          _MENU, 30),
    Entry("save_chain", "Save c&hain…",
          "Save the steps as a file, which `filter --chain` and `batch` take.", "", "save", _MENU, 30),
)  # fmt: skip


def _chain_files() -> Any:
    # Not before it is wanted: it takes a while to import.
    return import_module("engine.work.chain_files")


class ChainActions(QObject):
    """Brings the actions, and keeps them enabled as the steps say."""

    def __init__(
        self, services: Services, chain: ChainState, stem: Callable[[], str], background: Background
    ) -> None:
        super().__init__(services.actions)
        self._actions, self._messages = (actions := services.actions), services.messages
        self._say = partial(self._messages.show_error, SOURCE)
        self._dialogs, self._link, self._list = services.files, services.link, Newest(services.link)
        self._chain, self._stem, self._background = chain, stem, background
        self._workspace = chain.workspace
        self._ready: list[QAction] = []
        mask, combine, *_others = actions.add(ENTRIES)
        operations = (
            Entry(f"add_step:{one.key}", one.title, f"Add a step after the selected one. {one.teaches}", "",
                  "", _MENU, 11 if one.window in (None, pixel_alone) else 12, _ADD, one.key)
            for one in OPERATIONS.values()
            if one.result is ResultKind.PICTURE and (one.of_cells is not None or one.key == "equalise")
        )  # fmt: skip
        self._adding = [mask, combine, *actions.add(operations)]
        for action in self._adding:
            operation = action.data() or ""
            action.triggered.connect(lambda _on, operation=operation: self.add(operation))
        now, edit = self._workspace, self._workspace.edit
        actions.connect_to(
            step_up=lambda: edit(moved(now.state, -1), "Move step up"),
            step_down=lambda: edit(moved(now.state, 1), "Move step down"),
            step_duplicate=lambda: edit(added(now.state, replace(now.step, input="")), "Duplicate step"),
            step_remove=lambda: edit(removed(now.state), f"Remove step {now.state.selected + 1}"),
            step_switch=lambda: chain.switch(now.state.selected),
            open_chain=lambda: self._dialogs.ask_to_open("Open a chain", CHAINS, self.open),
            save_chain=self._ask_to_save,
        )
        whole = actions["chain_whole"]
        whole.setCheckable(True)
        whole.triggered.connect(now.show_whole)
        now.shows_whole_changed.connect(lambda: whole.setChecked(now.shows_whole))
        follow(self._refresh, now.state_changed)

    def fill(self, menu: QMenu) -> None:
        """Put into a menu what begins or goes on with a chain."""
        menu.clear()
        menu.setToolTipsVisible(True)
        menu.addActions(self._adding)
        menu.addSeparator()
        ready = menu.addMenu("Ready chains")
        ready.setToolTipsVisible(True)
        ready.addActions(self._ready)
        ready.setEnabled(bool(self._ready))
        menu.addActions([self._actions["open_chain"], self._actions["save_chain"]])

    def add(self, operation: str) -> None:
        """Add a step after the selected one: a mask, an operation, or COMBINE."""
        state = self._workspace.state
        if len(state.steps) >= MOST_STEPS:
            self._messages.warn(SOURCE, f"A chain has at most {MOST_STEPS} steps", "", "Remove one first.")
            return
        step = combining(state) if operation == COMBINE else new_step(state.step, operation)
        after = added(state, step)
        self._workspace.edit(after, f"Add step: {title_of_step(after.step)}")

    def open(self, path: Path) -> None:
        """Open the chain of a file, as one step that can be undone; show what is wrong with it."""

        def show(chain: "Chain") -> None:
            self._messages.clear(SOURCE)
            self._chain.take(chain, f"Open {path.name}")

        self._background.do(lambda: _chain_files().load_chain(path), show, self._say)

    def save(self, path: Path) -> None:
        state, range_mode = self._workspace.state, self._workspace.range_mode
        self._background.do(
            lambda: _chain_files().save_chain(written_chain(state, range_mode), path),
            lambda _: self._messages.note(SOURCE, f"Chain saved as {path}"),
            self._say,
        )

    def _ask_to_save(self) -> None:
        title = self._workspace.state.title.lower().replace(" ", "-")
        name = f"{title or self._stem()}-chain.json"
        self._dialogs.ask_to_save("Save the chain", CHAINS_AS, name, lambda path, _filter: self.save(path))

    def ask_for_ready(self) -> None:
        """List the ready chains, if that has not been done. A first preview comes first."""
        if not self._ready and self._list.in_flight is None and not self._link.is_lost:
            self._list.ask(
                ListRequest("chains"),
                self._list_ready,
                lambda error: None if needs_no_message(error) else self._say(error),
            )

    def _list_ready(self, chains: "tuple[Chain, ...]") -> None:
        self._ready = self._actions.add(
            Entry(
                f"chain:{one.key}", one.title, one.about,
                menu=_MENU, section=10 + at // _READY_GROUP, submenu=_READY, data=one.key,
            )
            for at, one in enumerate(chains)
        )  # fmt: skip
        for action, one in zip(self._ready, chains, strict=True):
            action.triggered.connect(lambda _on, one=one: self._chain.take(one, f"Chain: {one.title}"))

    def _refresh(self) -> None:
        state = self._workspace.state
        alone = "" if len(state.steps) > 1 else "There is one step only."
        for name, by in (("step_up", -1), ("step_down", 1)):
            self._actions.allow(name, alone or why_not_moved(state, by))
        for name in ("step_remove", "step_switch", "chain_whole"):
            self._actions.allow(name, alone)
