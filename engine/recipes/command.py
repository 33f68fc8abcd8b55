"""A recipe as a command line, quoted for a POSIX shell or for Windows."""

import json
import os
import shlex
from importlib import import_module
from subprocess import list2cmdline

from engine.mask.generator_table import number_text
from engine.mask.text import format_mask
from engine.recipes.recipe import Recipe
from engine.work.steps import Chain, OperationStep


def command_line(recipe: Recipe, system: str = os.name) -> str:
    """Return the command that writes the bytes that the window's Save writes.

    Quoted for `cmd` and PowerShell where `system` is "nt", else for a POSIX shell. With `auto` the bytes are
    the same where that chooses the same kernel: without a GPU always.
    """
    output = recipe.output if not recipe.output.startswith("-") else f"./{recipe.output}"
    arguments = [recipe.source.name, output, *option_words(recipe)]
    is_windows = system == "nt"
    line = f"python main.py filter {list2cmdline(arguments) if is_windows else shlex.join(arguments)}\n"
    return "".join(f"{'rem' if is_windows else '#'} {note}\n" for note in recipe.notes) + line


def option_words(recipe: Recipe, file: str = "") -> list[str]:
    """Return the options of `filter` and `batch`; a `file` has the mask or chain, else it is written out."""
    if recipe.chain is not None:
        how = ["--chain", file or json.dumps(_document(recipe.chain), ensure_ascii=False, allow_nan=False)]
    else:
        operation = recipe.asked.operation
        how = _mask(recipe, file) if operation is None else _operation(recipe, operation)
    where = [word for name, value in recipe.where.items() for word in (f"--{name}", value)]
    return [*how, *where]


def _document(chain: Chain) -> dict[str, object]:
    # The table of chains takes a while to import, and masks do without.
    files = import_module("engine.work.chain_files")
    return {"format": files.FORMAT, "version": files.VERSION, **files.entry_of(chain)}


def _mask(recipe: Recipe, file: str) -> list[str]:
    mask, preset = recipe.filter.mask, recipe.preset
    arguments = ["--mask", file or preset or format_mask(mask, "line")]
    if not (file or preset):
        if mask.anchor != (mask.rows // 2, mask.columns // 2):
            arguments += ["--anchor", f"{mask.anchor[0]},{mask.anchor[1]}"]
        if mask.offset:
            arguments += ["--offset", number_text(mask.offset)]
    arguments += ["--flip"] * recipe.filter.flip + ["--normalize"] * recipe.filter.normalise
    arguments += ["--border", str(recipe.filter.border)]
    if recipe.filter.border.takes_value:
        arguments += ["--cval", number_text(recipe.filter.cval)]
    # Values of a float32 picture are saved as they are.
    if recipe.range_mode != "clip" and recipe.source.dtype != "float32":
        arguments += ["--range", recipe.range_mode]
    if recipe.asked.result_type != "float32":
        arguments += ["--result-type", recipe.asked.result_type]
    return arguments


def _operation(recipe: Recipe, step: OperationStep) -> list[str]:
    arguments = ["--operation", step.operation]
    for name, value in step.settings:
        arguments += ["--set", f"{name}={value}"]
    return [*arguments, "--patch", recipe.patch_path] if recipe.patch_path else arguments
