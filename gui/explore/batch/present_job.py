"""What the page does now, as words of the command line and in a sentence: the job of a batch."""

from dataclasses import replace
from importlib import import_module
from pathlib import Path

from msgspec import structs

from engine.device_info import AUTO, SIMULATOR
from engine.geometry.layout import Layout
from engine.mask.files import save_mask
from engine.recipes.command import option_words
from engine.recipes.recipe import Source
from gui.explore.chain.step_rows import title_of_step
from gui.explore.copy_as import recipe_of
from gui.explore.mask.preset_names import shown_title
from gui.explore.run_words import border_words, operation_words
from gui.explore.workspace import Workspace


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
