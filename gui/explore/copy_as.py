"""What the page does, elsewhere: Edit > Copy as a command line, as Python, as C; and the job of a batch."""

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from msgspec import structs
from PySide6.QtCore import QObject, QSize
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLabel, QPlainTextEdit, QWidget

from engine.device_info import AUTO, SIMULATOR
from engine.errors import EngineError
from engine.geometry.block import Layout
from engine.host.protocol import TiledScreen
from engine.image.formats import offered_suffixes
from engine.image.open import sample_path
from engine.mask.text import save_mask
from engine.recipes.programs import PROGRAMS, AsProgram, as_program
from engine.recipes.recipe import Recipe, Source, option_words
from engine.recipes.targets import TARGETS, Target
from engine.work.steps import PictureRequest, one_step
from gui.explore.chain.chain_actions import title_of_step
from gui.explore.jobs import engine_step, written_chain
from gui.explore.preview_controller import Display
from gui.explore.run_words import border_words, operation_words
from gui.explore.state import values_of
from gui.explore.workspace import Workspace
from gui.page.actions import Entry
from gui.page.contract import Services
from gui.style.metrics import GRID, code_font, scaled_font
from gui.widgets.panel_parts import column, named, quiet_label

SOURCE = "copy as"
_KEYS = {"command": "Ctrl+Alt+K", "python": "Ctrl+Alt+P"}
ENTRIES = [
    Entry(f"copy_as:{target.key}", target.title, f"Copy as {target.title}. {target.sentence}",
          _KEYS.get(target.key, ""), "", "&Edit", 20, "Copy &as", target.key)
    for target in TARGETS
]  # fmt: skip


class CopyAs(QObject):
    """Brings the actions, and puts the text into the clipboard."""

    def __init__(
        self, services: Services, workspace: Workspace, display: Display, stem: Callable[[], str]
    ) -> None:
        super().__init__(services.actions)
        self._state, self._messages = services.state, services.messages
        self._workspace, self._display, self._stem = workspace, display, stem
        for action, target in zip(services.actions.add(ENTRIES), TARGETS, strict=True):
            action.triggered.connect(lambda _on, target=target: self.copy(target))

    def copy(self, target: Target) -> None:
        """Copy the page in this form; a message says what was copied, or why this form cannot hold it."""
        server, shown = self._state.machine, self._state.last_result
        try:
            recipe = recipe_of(self._workspace, self._stem(), server.destination if server else "")
            is_chosen = recipe.request.variant == AUTO and recipe.chain is None
            if target.is_exact and is_chosen and shown is not None and not self._display.is_earlier:
                # The kernel that made what is shown: elsewhere Automatic may choose another one, and kernels
                # of a GPU differ in the last bits. The steps of a chain keep their own.
                recipe = replace(recipe, request=recipe.request.changed(variant=shown.variant))
            text = target.write(recipe)
        except EngineError as error:
            self._messages.show_error(SOURCE, error)
            return
        QGuiApplication.clipboard().setText(text)
        lines = len(text.splitlines())
        self._messages.note(SOURCE, f"{target.title}: copied, {lines} line{'s' * (lines != 1)}")


def recipe_of(workspace: Workspace, stem: str = "result", host: str = "", *, whole: bool = False) -> Recipe:
    """Return what the page does with its picture: of a chain what is shown, or with `whole` all of it.

    `stem` is the name of the result without its suffix, `host` the server that computes. Raises EngineError
    where the steps form no chain.
    """
    picture, settings = workspace.picture, workspace.settings
    source = Source()
    if picture is not None:
        source = Source(
            path=str(sample_path(picture.sample)) if picture.sample else picture.path,
            dtype=picture.dtype,
            channels=picture.channels,
            has_alpha=picture.alpha is not None,
            in_parts=isinstance(picture.screen, TiledScreen),
        )
    # PNG holds no float32, and of what is too large for memory TIFF is written in parts.
    suffix = ".tif" if source.dtype == "float32" or source.in_parts else offered_suffixes()[0]
    where = values_of(("device", "layout"), settings)
    if workspace.is_chain:
        whole = whole or workspace.shows_whole
        chain = written_chain(workspace.state, workspace.range_mode, whole=whole)
        request = PictureRequest(chain=chain, **where)
    else:
        request = one_step(engine_step(workspace.step), **where)
        request = structs.replace(request, chain=structs.replace(request.chain, range=workspace.range_mode))
        if workspace.is_filtering:
            request = structs.replace(request, result_type=settings.result_type)
    return Recipe(
        source=source,
        request=request,
        output=f"{stem}{suffix}",
        patch_path="" if workspace.is_filtering else settings.patch_path,
        host=host,
    )


def job_words(workspace: Workspace, folder: Path) -> list[str]:
    """Return the options of `filter` and `batch` that do what the page does now; of a chain all of it.

    The mask or the chain is written into `folder`, as a file that keeps every digit. The simulator takes
    small pictures only: where it is chosen, device and kernel are left to `auto`. Raises EngineError where
    the steps form no chain.
    """
    # The pictures are others than the one that is open.
    recipe = replace(recipe_of(workspace, whole=True), source=Source())
    if recipe.request.device == SIMULATOR:
        request = structs.replace(recipe.request, device=AUTO, layout=Layout.PITCHED)
        request = request if request.step is None else request.changed(variant=AUTO, block=None)
        recipe = replace(recipe, request=request)
    file = folder / ("mask.json" if recipe.chain is None else "chain.json")
    if recipe.chain is not None:
        import_module("engine.work.chain_files").save_chain(recipe.chain, file)
    elif recipe.request.filter is not None:
        save_mask(recipe.filter.mask, file)
    return option_words(recipe, str(file))


def job_sentence(workspace: Workspace) -> str:
    """Say what the page does now: "Sharpen, 3 × 3, zero border"."""
    settings, state = workspace.settings, workspace.state
    if workspace.is_chain:
        steps = ", then ".join(title_of_step(step) for step in state.steps if step.on)
        return f"{state.title}: {steps}" if state.title else steps
    if not workspace.is_filtering:
        return operation_words(workspace)
    size = f"{workspace.mask.rows} × {workspace.mask.columns}"
    parts = [workspace.step.mask_title, size, border_words(workspace)]
    parts += ["convolution"] * settings.flip + ["divided by its sum"] * settings.normalise
    parts += [f"range {workspace.range_mode}"] * (workspace.range_mode != "clip")
    return ", ".join(parts)


_DONE = "Flip, border, anchor and output type here are now as there. Undo takes it back."
_MARGIN = 2 * GRID
_SIZE = QSize(70 * GRID, 30 * GRID)


class ProgramDialog(QDialog):
    """The line of code, and in two sentences what the program does otherwise."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("As another program would")
        self.title, self.differs = QLabel(), QLabel(wordWrap=True)
        self.title.setFont(scaled_font(1.0, bold=True))
        self.code = named(QPlainTextEdit(readOnly=True, tabChangesFocus=True), "Line of code")
        self.code.setFont(code_font())
        done = quiet_label(_DONE, small=True, wraps=True)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        self.copy_button = buttons.addButton("Copy", QDialogButtonBox.ButtonRole.ActionRole)
        self.copy_button.setToolTip("Copy the line of code.")
        self.copy_button.clicked.connect(lambda: QGuiApplication.clipboard().setText(self.code.toPlainText()))
        buttons.rejected.connect(self.reject)
        parts = (self.title, self.differs, (self.code, 1), done, buttons)
        self.setLayout(column(*parts, margins=(_MARGIN, _MARGIN, _MARGIN, _MARGIN)))
        self.resize(_SIZE)

    def show_program(self, other: AsProgram) -> None:
        self.title.setText(other.program.title)
        self.differs.setText(other.program.differs)
        self.code.setPlainText(other.code)
        self.show()
        self.raise_()
        self.copy_button.setFocus()


PROGRAM_SOURCE = "as another program"
PROGRAM_ENTRIES = [
    Entry(f"as_program:{program.key}", program.title,
          f"Set flip, border and output type as {program.title} has them, and show its line of code.",
          "", "", "&Mask", 20, "As anot&her program would", program.key)
    for program in PROGRAMS
]  # fmt: skip


class OtherPrograms(QObject):
    """Brings an action for each program; its dialog stays beside the window, and follows the next choice."""

    def __init__(self, services: Services, workspace: Workspace, parent_widget: QWidget) -> None:
        super().__init__(parent_widget)
        self._workspace, self._messages, self._parent_widget = workspace, services.messages, parent_widget
        self.dialog: ProgramDialog | None = None
        self.actions: list[QAction] = services.actions.add(PROGRAM_ENTRIES)
        for action, program in zip(self.actions, PROGRAMS, strict=True):
            action.triggered.connect(lambda _on, key=program.key: self.choose(key))

    def choose(self, key: str) -> None:
        """Do what a program would, as one step that can be undone; a message says why it cannot be done."""
        workspace, picture = self._workspace, self._workspace.picture
        try:
            other = as_program(
                key,
                workspace.mask,
                normalise=workspace.settings.normalise and workspace.step.can_normalise,
                dtype=picture.dtype if picture else "uint8",
                channels=picture.channels if picture else 3,
            )
        except EngineError as error:
            self._messages.show_error(PROGRAM_SOURCE, error)
            return
        self._messages.clear(PROGRAM_SOURCE)
        settings = other.settings
        if workspace.settings.variant != AUTO:
            # The chosen kernel may not write 8 bit; clipped float32 results are saved as the same bytes.
            settings = settings | {"result_type": "float32"}
        workspace.set_mask(other.mask, f"As {other.program.title} would", **settings)
        if self.dialog is None:
            self.dialog = ProgramDialog(self._parent_widget)
        self.dialog.show_program(other)
