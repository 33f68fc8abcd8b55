"""A recipe as Python for OpenCV, SciPy or CuPy: the same sum, in float64, within the bound of rounding.

The mask is written as it is applied, in float32 as the kernels have it. What a library has no word for is
written out with NumPy: a border that it lacks is padding, and the range of the result is arithmetic.

`TARGETS` has all that a recipe can be copied as: menus, tests and documents follow it.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from msgspec import structs

from engine.errors import BadValue
from engine.geometry.border import Border
from engine.recipes.recipe import Recipe, as_comment, command_line, engine_code, float32_text
from engine.work.steps import PICTURE, CombineStep, MaskStep, one_step


class _Library(NamedTuple):
    """How a script for a library is written; `sums` has the words of `_filtering` in braces."""

    title: str
    imports: tuple[str, ...]
    lacks: tuple[Border, ...]
    sums: str


# fmt: off
_LIBRARIES = {
    "opencv": _Library(
        # `filter2D` refuses BORDER_WRAP, and its constant is always 0.
        "OpenCV", ("import cv2",), (Border.CONSTANT, Border.WRAP),
        "cv2.filter2D({picture}, cv2.CV_64F, mask, "
        "anchor={anchor}, delta={delta}, borderType={type}){inside}",
    ),
    "scipy": _Library(
        "SciPy", ("from scipy import ndimage",), (), "ndimage.correlate(picture, {weights}, {mode}){offset}",
    ),
    "cupy": _Library(
        # What CuPy calls wrap has had two meanings.
        "CuPy", ("import cupy as cp", "from cupyx.scipy import ndimage"), (Border.WRAP,),
        "cp.asnumpy(ndimage.correlate(cp.asarray({picture}), cp.asarray({weights}), {mode})){inside}{offset}",
    ),
}
# fmt: on


def _filtering(library: _Library, recipe: Recipe) -> list[str]:
    """Return the lines that make `values` of `picture` with a mask; a border that is lacking is padding."""
    mask, border, lines = recipe.filter.applied, recipe.filter.border, list[str]()
    (up, left), colours = mask.anchor, recipe.source.channels > 1
    rows = ",\n     ".join(
        f"[{', '.join(float32_text(weight) for weight in row)}]" for row in mask.weights32.tolist()
    )
    lines += ["mask = np.array(", f"    [{rows}],", "    dtype=np.float32,", ").astype(np.float64)"]
    words = {"picture": "picture", "inside": ""}
    if border in library.lacks:
        sides = [(up, mask.rows - 1 - up), (left, mask.columns - 1 - left), *[(0, 0)] * colours]
        value = f", constant_values={float32_text(recipe.filter.cval)}" if border.takes_value else ""
        lines += [
            f"# Border {border} is made by NumPy: the library has none that is the same.",
            f"padded = np.pad(picture, {tuple(sides)}, mode={_named(border, 'NumPy')!r}{value})",
        ]
        inside = f"[{up} : {up} + picture.shape[0], {left} : {left} + picture.shape[1]]"
        words, border = {"picture": "padded", "inside": inside}, Border.ZERO
    # SciPy's origin is counted from the middle.
    origin = (up - mask.rows // 2, left - mask.columns // 2, *[0] * colours)
    cval = f", cval={float32_text(recipe.filter.cval)}" if border.takes_value else ""
    words |= {
        "weights": "mask[..., np.newaxis]" if colours else "mask",
        "anchor": f"({left}, {up})",
        "delta": float32_text(mask.offset),
        "offset": f" + {float32_text(mask.offset)}" if mask.offset else "",
        "mode": f"mode={_named(border, 'SciPy')!r}{cval}, origin={origin}",
        "type": f"cv2.{border.elsewhere.get('OpenCV', ('border_constant',))[0].upper()}",
    }
    return [*lines, f"values = {library.sums.format_map(words)}"]


def _named(border: Border, library: str) -> str:
    return "constant" if border.has_ghost_cells else border.elsewhere[library][0]


def _script(key: str, recipe: Recipe) -> str:
    library, source = _LIBRARIES[key], recipe.source
    recipe.refuse_operation(library.title)
    recipe.refuse_parts(library.title)
    imports, read, write = _reading(recipe, library.imports)
    lines = partial(_filtering, library)
    is_ours = recipe.where.keys() & {"variant", "block", "device"}
    elsewhere = ["# Kernel, block and device are Haloscope's: the library chooses its own."] * bool(is_ours)
    return "\n".join(
        [
            f"# {recipe.summary}",
            *[f"# {source.hint}"] * bool(source.hint),
            *elsewhere,
            *imports,
            "",
            f"picture = {read}",
            "dtype, picture = picture.dtype, picture.astype(np.float64)",
            *(lines(recipe) if recipe.chain is None else chain_blocks(recipe, library.title, lines)),
            *_result(recipe),
            write,
            "",
        ]
    )


def _reading(recipe: Recipe, own: tuple[str, ...]) -> tuple[tuple[str, ...], str, str]:
    """Return what is imported, and how a picture is read, upright and without its alpha, and written."""
    source, output = recipe.source, recipe.output
    is_grey = source.channels == 1
    # OpenCV 5 reads no TIFF of float32.
    if "import cv2" in own and source.dtype != "float32":
        flags = f"cv2.IMREAD_{'GRAYSCALE' if is_grey else 'COLOR'} | cv2.IMREAD_ANYDEPTH"
        note = "" if is_grey else "  # blue before red, without alpha"
        read = f"cv2.imread({source.name!r}, {flags}){note}"
        return (*own, "import numpy as np"), read, f"cv2.imwrite({output!r}, result)"
    # Pillow has no RGB of 16 bit.
    if source.dtype == "uint8":
        opened = f"ImageOps.exif_transpose(Image.open({source.name!r}))"
        return (
            ("import numpy as np", "from PIL import Image, ImageOps", *own),
            f"np.asarray({opened}.convert({('L' if is_grey else 'RGB')!r}))",
            f"Image.fromarray(result).save({output!r})",
        )
    # The alpha is the last channel.
    colours = "[..., 0]" if is_grey else "[..., :3]"
    reader, writer = _library_of(source.name), _library_of(output)
    photometric = ", photometric='rgb'" * (not is_grey and writer == "tifffile")
    return (
        (*(f"import {name}" for name in sorted({reader, writer})), "import numpy as np", *own),
        f"{reader}.imread({source.name!r}){colours if source.has_alpha else ''}",
        f"{writer}.imwrite({output!r}, result{photometric})",
    )


def _library_of(path: str) -> str:
    return "tifffile" if path.lower().endswith((".tif", ".tiff")) else "imagecodecs"


def _result(recipe: Recipe) -> list[str]:
    """Return how values become samples of the picture's type, as the window's Save does."""
    if recipe.source.dtype == "float32":
        return ["result = values.astype(dtype)"]
    white = int(np.iinfo(recipe.source.dtype).max)
    before = {
        "absolute": ["shown = np.abs(values)"],
        "offset": [f"shown = values + {(white + 1) // 2}"],
        "rescale": [
            "low, high = values.min(), values.max()",
            f"shown = (values - low) / (high - low) * {white} if low < high else np.zeros_like(values)",
        ],
    }
    shown = "shown" if recipe.request.chain.range in before else "values"
    rounded = f"result = np.clip(np.rint({shown}), 0, {white}).astype(dtype)  # half to even"
    return [*before.get(recipe.request.chain.range, []), rounded]


_COMBINED = {
    "add": "{0} + {1}",
    "subtract": "{0} - {1}",
    "magnitude": "np.sqrt({0} ** 2 + {1} ** 2)",
    "maximum": "np.maximum({0}, {1})",
    "blend": "{0} + {weight!r} * ({1} - {0})",
}


def chain_blocks(recipe: Recipe, target: str, filtering: Callable[[Recipe], list[str]]) -> list[str]:
    """Return the lines that make `values` of `picture`; `results` has what each step made.

    `filtering` returns the lines of one mask; refused is another operation, which a target cannot say.
    """
    chain = recipe.chain
    assert chain is not None
    nodes = chain.nodes()
    ids = [PICTURE, *(node.step.id for node in nodes)]
    lines = [f"results = {{{PICTURE!r}: picture}}", "values = picture"]
    for node in nodes:
        step, reads = node.step, [f"results[{ids[at + 1]!r}]" for at in node.inputs]
        lines += ["", f"# {as_comment(f'{step.id}: {step.title}')}"]
        if isinstance(step, MaskStep):
            one = replace(recipe, request=one_step(structs.replace(step, input="")))
            lines += [f"picture = {reads[0]}", *filtering(one)]
        elif isinstance(step, CombineStep):
            lines.append(f"values = {_COMBINED[step.how].format(*reads, weight=step.weight)}")
        else:
            why = "only masks and what combines two results can be written for it"
            what = f"step {step.id} ({step.title}) as {target}"
            raise BadValue(what, why, "Copy it as a command line or as Python.")
        lines.append(f"results[{step.id!r}] = values")
    return [*lines, ""]


def c_array(recipe: Recipe) -> str:
    """Return the mask as it is applied: the weights as the kernels have them, its anchor, what is added."""
    recipe.refuse_operation("a C array")
    mask, border = recipe.filter.applied, recipe.filter.border
    rows = ",\n".join(
        f"    {{{', '.join(f'{float32_text(weight)}f' for weight in row)}}}"
        for row in mask.weights32.tolist()
    )
    lines = [
        f"/* {recipe.summary}",
        "   As it is applied: result[y][x] = mask_offset + sum over m, n of",
        "   mask[m][n] * picture[y + m - mask_anchor[0]][x + n - mask_anchor[1]].",
        f"   {border.sentence} */",
        f"static const float mask[{mask.rows}][{mask.columns}] = {{\n{rows}\n}};",
        f"static const int mask_anchor[2] = {{{mask.anchor[0]}, {mask.anchor[1]}}}; /* row, column */",
        f"static const float mask_offset = {float32_text(mask.offset)}f;",
    ]
    if border.takes_value:
        lines.append(f"static const float mask_outside = {float32_text(recipe.filter.cval)}f;")
    return "\n".join([*lines, ""])


class Target(NamedTuple):
    """A form of text: its key, its title in menus, a sentence, and what writes it.

    `write` raises an EngineError for a recipe that it cannot write. `is_exact`: what it makes has every
    bit of what the window saves.
    """

    key: str
    title: str
    sentence: str
    write: Callable[[Recipe], str]
    is_exact: bool = False


# fmt: off
TARGETS = (
    Target("command", "Command line", "The command that writes the file that Save result would write.",
           command_line, is_exact=True),
    Target("python", "Python", "A script with Haloscope's engine that writes the same file.",
           engine_code, is_exact=True),
    Target("opencv", "OpenCV", "A Python script with OpenCV: the same up to rounding.",
           partial(_script, "opencv")),
    Target("scipy", "SciPy", "A Python script with SciPy: the same up to rounding.",
           partial(_script, "scipy")),
    Target("cupy", "CuPy", "A Python script with CuPy on a GPU: the same up to rounding.",
           partial(_script, "cupy")),
    Target("c", "C array", "The mask as it is applied, as an array of C with its anchor.", c_array),
)
# fmt: on
