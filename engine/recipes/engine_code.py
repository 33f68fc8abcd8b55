"""A recipe as Python that calls the engine."""

from dataclasses import replace
from importlib import import_module

from msgspec import structs

from engine.device_info import AUTO
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.recipes.recipe import Recipe
from engine.work.steps import Chain, OperationStep


def engine_code(recipe: Recipe) -> str:
    """Return a script that writes the bytes that the window's Save writes; where, as of `command_line`."""
    recipe.refuse_parts("Python")
    begin = [f"# {note}" for note in recipe.notes] + [
        "import engine",
        "",
        f"picture = engine.open_image({recipe.source.name!r})",
    ]
    if recipe.chain is not None:
        body = _chained(recipe, recipe.chain)
    else:
        operation = recipe.asked.operation
        body = _filtered(recipe) if operation is None else _operated(recipe, operation)
    return "\n".join([*begin, *body, ""])


def _chained(recipe: Recipe, chain: Chain) -> list[str]:
    steps = import_module("engine.work.chain_files").entry_of(chain)["steps"]
    # Of its own `auto` takes a GPU; the window and the command keep chains on the CPU.
    asked = structs.replace(recipe.asked, device="cpu") if recipe.asked.device == AUTO else recipe.asked
    where = _where(replace(recipe, asked=asked))
    return [
        "steps = [",
        *(f"    {step!r}," for step in steps),
        "]",
        f"found = engine.chain({', '.join(['picture', 'steps', *where])})",
        f"result = engine.finished_picture(picture, found.values, picture.dtype, {recipe.range_mode!r})",
        f"engine.save_image(result, {recipe.output!r})",
    ]


def _filtered(recipe: Recipe) -> list[str]:
    options = [f"border={str(recipe.filter.border)!r}"] * (recipe.filter.border is not Border.ZERO)
    if recipe.filter.border.takes_value:
        options.append(f"cval={recipe.filter.cval!r}")
    if recipe.asked.result_type != "float32":
        options.append(f"result={recipe.asked.result_type!r}")
    call = "engine.convolve" if recipe.filter.flip else "engine.correlate"
    given = ", ".join(["picture", "mask", *options, *_where(recipe)])
    return [
        f"mask = {_mask(recipe)}",
        f"values = {call}({given})",
        f"result = engine.finished_picture(picture, values, picture.dtype, {recipe.range_mode!r})",
        f"engine.save_image(result, {recipe.output!r})",
    ]


def _mask(recipe: Recipe) -> str:
    text = f"engine.preset({recipe.preset!r})" if recipe.preset else _weights(recipe.filter.mask)
    return f"{text}.normalised()" if recipe.filter.normalise else text


def _weights(mask: Mask) -> str:
    rows = ",\n     ".join(repr(row) for row in mask.weights.tolist())
    return f"engine.Mask(\n    [{rows}],\n    anchor={mask.anchor!r},\n    offset={mask.offset!r},\n)"


def _operated(recipe: Recipe, step: OperationStep) -> list[str]:
    patch = recipe.patch_path
    read = [f"patch = engine.open_image({patch!r})"] if patch else []
    options = ["patch=patch"] * bool(patch) + [f"{name}={value!r}" for name, value in step.settings]
    given = ", ".join(["picture", repr(step.operation), *options, *_where(recipe)])
    return [
        *read,
        f"found = engine.operate({given})",
        "print(found.numbers, found.mark)  # where a patch was found is not drawn, as in the window",
        "if found.picture is not None:  # the counts of a histogram are found.counts",
        "    result = engine.finished_picture(picture, found.picture, picture.dtype)",
        f"    engine.save_image(result, {recipe.output!r})",
    ]


def _where(recipe: Recipe) -> list[str]:
    block = recipe.asked.block
    sides = {} if block is None else {"block": (block.x, block.y)}
    return [f"{name}={value!r}" for name, value in (recipe.where | sides).items()]
