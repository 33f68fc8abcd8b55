"""What the page does, elsewhere: Edit > Copy as a command line, as Python, as C; and the job of a batch."""

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from msgspec import structs
from PySide6.QtCore import QObject
from PySide6.QtGui import QGuiApplication

from engine.device_info import AUTO, SIMULATOR
from engine.errors import EngineError
from engine.geometry.layout import Layout
from engine.host.tiles import TiledScreen
from engine.image.formats import offered_suffixes
from engine.image.open import sample_path
from engine.mask.text import save_mask
from engine.recipes.recipe import Recipe, Source, option_words
from engine.recipes.targets import TARGETS, Target
from engine.work.request import PictureRequest, one_step
from gui.explore.chain.chain_steps import engine_step, written_chain
from gui.explore.chain.step_rows import title_of_step
from gui.explore.display import Display
from gui.explore.mask.preset_names import shown_title
from gui.explore.run_words import border_words, operation_words
from gui.explore.workspace import Workspace
from gui.page.actions import Entry
from gui.page.contract import Services
from gui.page.messages import Message, Severity

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
        """Copy the page in this form; a message says what was copied, or why it cannot be said in it."""
        server = self._state.machine
        try:
            recipe = recipe_of(self._workspace, self._stem(), server.destination if server else "")
            text = target.write(self._with_kernel_used(recipe) if target.is_exact else recipe)
        except EngineError as error:
            self._messages.show_error(SOURCE, error)
            return
        QGuiApplication.clipboard().setText(text)
        lines = len(text.splitlines())
        size = "1 line" if lines == 1 else f"{lines} lines"
        self._messages.show(Message(SOURCE, Severity.INFO, f"{target.title}: copied, {size}"))

    def _with_kernel_used(self, recipe: Recipe) -> Recipe:
        """Name the kernel that made what is shown, where Automatic chose it: elsewhere it may choose another.

        Kernels of a GPU differ in the last bits. The steps of a chain keep their own.
        """
        shown, job = self._state.last_result, self._display.job
        is_present = job is not None and job == self._workspace.job()
        if recipe.asked.variant != AUTO or recipe.chain is not None or shown is None or not is_present:
            return recipe
        return replace(recipe, asked=recipe.asked.changed(variant=shown.variant))


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
    if workspace.is_chain:
        whole = whole or workspace.shows_whole
        chain = written_chain(workspace.state, workspace.range_mode, whole=whole)
        asked = PictureRequest(chain=chain, device=settings.device, layout=settings.layout)
    else:
        asked = one_step(engine_step(workspace.step), device=settings.device, layout=settings.layout)
        asked = structs.replace(asked, chain=structs.replace(asked.chain, range=workspace.range_mode))
        if workspace.is_filtering:
            asked = structs.replace(asked, result_type=settings.result_type)
    return Recipe(
        source=source,
        asked=asked,
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
    if recipe.asked.device == SIMULATOR:
        asked = structs.replace(recipe.asked, device=AUTO, layout=Layout.PITCHED)
        asked = asked if asked.step is None else asked.changed(variant=AUTO, block=None)
        recipe = replace(recipe, asked=asked)
    file = folder / ("mask.json" if recipe.chain is None else "chain.json")
    if recipe.chain is not None:
        import_module("engine.work.chain_files").save_chain(recipe.chain, file)
    elif recipe.asked.filter is not None:
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
    mask = workspace.mask
    parts = [
        shown_title(mask, workspace.mask_title),
        f"{mask.rows} × {mask.columns}",
        border_words(workspace),
    ]
    parts += ["convolution"] * settings.flip + ["divided by its sum"] * settings.normalise
    parts += [f"range {workspace.range_mode}"] * (workspace.range_mode != "clip")
    return ", ".join(parts)
