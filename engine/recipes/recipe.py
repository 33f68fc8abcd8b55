"""`Recipe`: a picture and everything that is done with it, as one value; a command line, Python."""

import json
import os
import shlex
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import PurePath
from subprocess import list2cmdline

import numpy as np
from msgspec import structs

from engine.device_info import AUTO
from engine.errors import BadValue
from engine.geometry.block import Layout
from engine.geometry.border import Border
from engine.mask.generator_table import number_text
from engine.mask.presets import presets
from engine.mask.text import format_mask
from engine.work.steps import Chain, MaskStep, OperationStep, PictureRequest

# What a picture that is in no file is called in the texts.
UNSAVED = "picture.png"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The picture, as far as it has to be known: its file (empty: it is in none), samples and channels."""

    path: str = ""
    dtype: str = "uint8"
    channels: int = 3  # without the alpha
    has_alpha: bool = False
    in_parts: bool = False  # whether it stays in its file, because it is too large for memory

    @property
    def name(self) -> str:
        """The name of its file as it is written; refuses one whose bytes are no text."""
        try:
            self.path.encode()
        except UnicodeEncodeError as error:
            shown = ascii(PurePath(self.path).name)
            why = "some bytes of the name are no characters, so it cannot be written as text"
            raise BadValue(f"The name of {shown}", why, "Rename the file, and open it again.") from error
        return self.path or UNSAVED

    @property
    def hint(self) -> str:
        """What has to be done before the text works; empty where it works at once."""
        return "" if self.path else f"This picture is in no file yet: save it as {UNSAVED} first."


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """A picture, what is done with it, with masks as they were typed, and the file that is written."""

    source: Source
    request: PictureRequest
    output: str  # name of the file to write
    patch_path: str = ""
    host: str = ""  # the server that computes, as ssh calls it; empty for this machine

    @property
    def notes(self) -> list[str]:
        """What a person has to know of the picture and of where it is computed; each becomes a comment."""
        where = f"In the window it was computed on {as_comment(self.host)}; this computes here."
        return [note for note in (self.source.hint, where if self.host else "") if note]

    @property
    def filter(self) -> MaskStep:
        """The mask, where that is all that is done."""
        step = self.request.filter
        assert step is not None
        return step

    @property
    def chain(self) -> Chain | None:
        """The steps, where there are several."""
        return self.request.chain if self.request.step is None else None

    @property
    def where(self) -> dict[str, str]:
        """How it is computed, by the names of options: what is not left to the program."""
        request = self.request
        options = {
            "variant": request.variant,
            "block": AUTO if request.block is None else f"{request.block.x}x{request.block.y}",
            "device": request.device,
            "layout": AUTO if request.layout is Layout.PITCHED else str(request.layout),
        }
        return {name: text for name, text in options.items() if text != AUTO}

    @property
    def preset(self) -> str:
        """Key of the preset that the mask is; empty where it is none."""
        return next((known.key for known in presets() if known.mask == self.filter.mask), "")

    @property
    def summary(self) -> str:
        """What is done, in a line of plain characters, for comments."""
        if self.chain is not None:
            return as_comment(f"{self.chain.title or 'Chain'}: {self.chain.text}.")
        step, mask = self.filter, self.filter.mask
        name = mask.name or "Custom mask"
        how = "convolved (the mask is rotated by 180°)" if step.flip else "correlated"
        normalised = ", divided by its sum" if step.normalise else ""
        return as_comment(
            f"{name}, {mask.rows} × {mask.columns}{normalised}, {how} with border {step.border}."
        )

    def refuse_operation(self, target: str) -> None:
        """Refuse another operation than a mask, which a target cannot say."""
        if self.chain is not None and target == "a C array":
            why = "it has several steps, and an array has one mask"
            raise BadValue("A chain as a C array", why, "Select one step alone, or copy it as Python.")
        if self.request.operation is not None:
            what, why = f"{self.request.operation.operation} as {target}", "only a mask can be written for it"
            raise BadValue(what, why, "Copy it as a command line or as Python.")

    def refuse_parts(self, target: str) -> None:
        """Refuse a picture that is too large for memory, which only the command filters."""
        if self.source.in_parts:
            what, why = f"This picture as {target}", "it is read in parts, and this needs all of it in memory"
            raise BadValue(what, why, "Copy it as a command line: `filter` takes any size.")


def as_comment(text: str) -> str:
    """Return a text on one line that no comment of Python, a shell or C ends in."""
    line = "".join(letter if letter.isprintable() else " " for letter in text)
    return " ".join(line.split()).replace("*/", "* /").rstrip("\\")


def float32_text(value: float) -> str:
    """Return the shortest digits that read back to the same float32, also by way of float64."""
    exact = np.float32(value)
    text = str(exact)
    return text if np.float32(float(text)) == exact else repr(float(exact))


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
        # The table of chains takes a while to import, and masks do without.
        files = import_module("engine.work.chain_files")
        document = {"format": files.FORMAT, "version": files.VERSION, **files.entry_of(recipe.chain)}
        how = ["--chain", file or json.dumps(document, ensure_ascii=False, allow_nan=False)]
    elif (operation := recipe.request.operation) is not None:
        how = ["--operation", operation.operation]
        how += [word for name, value in operation.settings for word in ("--set", f"{name}={value}")]
        how += ["--patch", recipe.patch_path] if recipe.patch_path else []
    else:
        how = _mask_words(recipe, file)
    where = [word for name, value in recipe.where.items() for word in (f"--{name}", value)]
    return [*how, *where]


def _mask_words(recipe: Recipe, file: str) -> list[str]:
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
    if recipe.request.chain.range != "clip" and recipe.source.dtype != "float32":
        arguments += ["--range", recipe.request.chain.range]
    if recipe.request.result_type != "float32":
        arguments += ["--result-type", recipe.request.result_type]
    return arguments


def engine_code(recipe: Recipe) -> str:
    """Return a script that writes the bytes that the window's Save writes; where, as of `command_line`."""
    recipe.refuse_parts("Python")
    read = f"picture = engine.open_image({recipe.source.name!r})"
    begin = [*(f"# {note}" for note in recipe.notes), "import engine", "", read]
    if recipe.chain is not None:
        body = _chained(recipe, recipe.chain)
    elif (operation := recipe.request.operation) is not None:
        body = _operated(recipe, operation)
    else:
        body = _filtered(recipe)
    return "\n".join([*begin, *body, ""])


def _chained(recipe: Recipe, chain: Chain) -> list[str]:
    steps = import_module("engine.work.chain_files").entry_of(chain)["steps"]
    # Of its own `auto` takes a GPU; the window and the command keep chains on the CPU.
    on_cpu = structs.replace(recipe.request, device="cpu")
    request = on_cpu if recipe.request.device == AUTO else recipe.request
    where = _where(replace(recipe, request=request))
    return [
        "steps = [",
        *(f"    {step!r}," for step in steps),
        "]",
        f"found = engine.chain({', '.join(['picture', 'steps', *where])})",
        f"result = engine.finished_picture(picture, found.values, picture.dtype, {chain.range!r})",
        f"engine.save_image(result, {recipe.output!r})",
    ]


def _filtered(recipe: Recipe) -> list[str]:
    options = [f"border={str(recipe.filter.border)!r}"] * (recipe.filter.border is not Border.ZERO)
    if recipe.filter.border.takes_value:
        options.append(f"cval={recipe.filter.cval!r}")
    if recipe.request.result_type != "float32":
        options.append(f"result={recipe.request.result_type!r}")
    call = "engine.convolve" if recipe.filter.flip else "engine.correlate"
    arguments = ", ".join(["picture", "mask", *options, *_where(recipe)])
    mask = f"engine.preset({recipe.preset!r})"
    if not recipe.preset:
        typed = recipe.filter.mask
        rows = ",\n     ".join(repr(row) for row in typed.weights.tolist())
        mask = f"engine.Mask(\n    [{rows}],\n    anchor={typed.anchor!r},\n    offset={typed.offset!r},\n)"
    return [
        f"mask = {mask}{'.normalised()' * recipe.filter.normalise}",
        f"values = {call}({arguments})",
        f"result = engine.finished_picture(picture, values, picture.dtype, {recipe.request.chain.range!r})",
        f"engine.save_image(result, {recipe.output!r})",
    ]


def _operated(recipe: Recipe, step: OperationStep) -> list[str]:
    patch = recipe.patch_path
    options = ["patch=patch"] * bool(patch) + [f"{name}={value!r}" for name, value in step.settings]
    arguments = ", ".join(["picture", repr(step.operation), *options, *_where(recipe)])
    return [
        *[f"patch = engine.open_image({patch!r})"] * bool(patch),
        f"found = engine.operate({arguments})",
        "print(found.numbers, found.mark)  # where a patch was found is not drawn, as in the window",
        "if found.picture is not None:  # the counts of a histogram are found.counts",
        "    result = engine.finished_picture(picture, found.picture, picture.dtype)",
        f"    engine.save_image(result, {recipe.output!r})",
    ]


def _where(recipe: Recipe) -> list[str]:
    block = recipe.request.block
    sides = {} if block is None else {"block": (block.x, block.y)}
    return [f"{name}={value!r}" for name, value in (recipe.where | sides).items()]
