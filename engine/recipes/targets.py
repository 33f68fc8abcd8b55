"""What a recipe can be copied as: menus, tests and documents follow this table."""

from collections.abc import Callable
from typing import NamedTuple

from engine.recipes.array_code import c_array, cupy_code, opencv_code, scipy_code
from engine.recipes.command import command_line
from engine.recipes.engine_code import engine_code
from engine.recipes.recipe import Recipe


class Target(NamedTuple):
    """A form of text: its key, its title in menus, a sentence, and what writes it.

    `write` raises an EngineError for a recipe that cannot be said in it. `is_exact`: what it makes has every
    bit of what the window saves.
    """

    key: str
    title: str
    sentence: str
    write: Callable[[Recipe], str]
    is_exact: bool = False


TARGETS = (
    Target(
        "command",
        "Command line",
        "The command that writes the file that Save result would write.",
        command_line,
        is_exact=True,
    ),
    Target(
        "python",
        "Python",
        "A script with Haloscope's engine that writes the same file.",
        engine_code,
        is_exact=True,
    ),
    Target("opencv", "OpenCV", "A Python script with OpenCV: the same up to rounding.", opencv_code),
    Target("scipy", "SciPy", "A Python script with SciPy: the same up to rounding.", scipy_code),
    Target("cupy", "CuPy", "A Python script with CuPy on a GPU: the same up to rounding.", cupy_code),
    Target("c", "C array", "The mask as it is applied, as an array of C with its anchor.", c_array),
)
