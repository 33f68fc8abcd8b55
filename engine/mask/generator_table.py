"""The generators and their parameters: sliders, spellings, help and documents follow from this table.

A spelling is the key, the sides and the numbers in their order, `gaussian:9x5:1.5`; those left out have their
defaults. `engine.mask.generators` has the function of each. No NumPy in here: lists need none.
"""

from typing import NamedTuple

LARGEST_SIDE = 63


def number_text(value: float) -> str:
    """Return the shortest digits that read back to the same float64, whole numbers without `.0`."""
    # Beyond 2^53 whole numbers are written with an exponent, as repr does.
    return str(int(value)) if value.is_integer() and abs(value) < 2.0**53 else repr(value)


class MaskParameter(NamedTuple):
    """A number that a generator takes."""

    name: str
    title: str
    about: str
    least: float
    most: float
    default: float = 0.0
    unit: str = ""
    part_of_side: float = 0.0  # where not 0, the default is that part of the longest side: 6 is a sixth
    # Between values that are allowed: 1 for whole numbers, 2 for odd ones; 0 for all.
    step: int = 0

    def default_in(self, longest_side: int) -> float:
        """Return the default in a mask whose longest side has so many cells."""
        default = longest_side / self.part_of_side if self.part_of_side else self.default
        return max(self.least, min(self.most, default))

    def default_for(self, longest_side: int) -> float:
        """Return the default with the digits that a spelling shows: 1.67, not 1.6666666666666667."""
        return float(f"{self.default_in(longest_side):.3g}")


class Generator(NamedTuple):
    """A way to make masks from a few numbers; `sides` are one parameter (square) or two."""

    key: str
    title: str
    about: str
    example: str
    sides: tuple[MaskParameter, ...]
    numbers: tuple[MaskParameter, ...] = ()

    @property
    def parameters(self) -> tuple[MaskParameter, ...]:
        """Sides, then numbers: the order in a spelling."""
        return self.sides + self.numbers

    @property
    def form(self) -> str:
        """How a spelling of it looks: `gaussian:ROWSxCOLUMNS:SIGMA`."""
        sides = "x".join(side.name.upper() for side in self.sides)
        return ":".join((self.key, sides, *(number.name.upper() for number in self.numbers)))

    def spelling(self, values: dict[str, float]) -> str:
        """Return the spelling of the mask with these values of all parameters."""
        sides = [f"{values[side.name]:.0f}" for side in self.sides]
        text = sides[0] if len(set(sides)) == 1 else "x".join(sides)
        return ":".join((self.key, text, *(number_text(values[number.name]) for number in self.numbers)))


def _side(name: str, title: str, about: str, least: int = 1, step: int = 1) -> MaskParameter:
    return MaskParameter(name, title, about, least, LARGEST_SIDE, 9.0, "cells", step=step)


def _sigma(
    about: str = "Standard deviation: how wide the bell is.", part_of_side: float = 6.0, least: float = 0.1
) -> MaskParameter:
    return MaskParameter("sigma", "Sigma", about, least, 100.0, unit="pixels", part_of_side=part_of_side)


def _angle(about: str) -> MaskParameter:
    return MaskParameter("angle", "Angle", about, -180.0, 180.0, unit="°")


_ROWS = _side("rows", "Rows", "Rows of the mask.")
_COLUMNS = _side("columns", "Columns", "Columns of the mask; as many as rows where left out.")
_SIDE = _side("side", "Side", "Rows and columns of the mask.")
_ODD_SIDE = _side("side", "Side", "Rows and columns of the mask, an odd number.", 3, step=2)

GENERATORS: dict[str, Generator] = {
    generator.key: generator
    for generator in (
        Generator("box", "Box", "The mean of all cells: smooths, and leaves squares.", "box:7x3",
                  (_ROWS, _COLUMNS)),
        Generator("gaussian", "Gaussian", "A bell: smooths alike in all directions.", "gaussian:9:1.5",
                  (_ROWS, _COLUMNS), (_sigma(),)),
        Generator("disk", "Disc", "The mean of a round area: a lens out of focus.", "disk:7", (_SIDE,)),
        Generator("motion", "Motion blur", "The mean along a line: a camera that moved.", "motion:9:45",
                  (_side("length", "Length", "Length of the line."),),
                  (_angle("Direction of the movement, counter-clockwise from the right."),)),
        Generator("unsharp", "Unsharp mask", "Adds what a Gaussian takes away: sharpens.", "unsharp:7:1:1.5",
                  (_ODD_SIDE,),
                  (_sigma("Standard deviation: how coarse the detail is that is sharpened."),
                   MaskParameter("amount", "Amount", "How much of that detail is added.", 0.0, 10.0, 1.0))),
        Generator("edge", "Oriented edge", "The slope of a smoothed picture in one direction.", "edge:7:30:1",
                  (_side("side", "Side", "Rows and columns of the mask.", 2),),
                  (_angle("Where the picture gets brighter, counter-clockwise from the right."), _sigma())),
        Generator("log", "Laplacian of Gaussian", "Spots and edges of one size, with zeros on the edges.",
                  "log:9:1.4", (_ODD_SIDE,), (_sigma(),)),
        Generator("dog", "Difference of Gaussians", "A bell less a wider one: spots and edges of one size.",
                  "dog:11:1.4:1.6", (_SIDE,),
                  (_sigma("Standard deviation of the narrow bell.", 10.0),
                   MaskParameter("ratio", "Ratio", "How many times wider the other bell is.",
                                 1.01, 10.0, 1.6))),
        Generator("gabor", "Gabor", "Waves under a bell: stripes of one width and direction.",
                  "gabor:15:6:45:3", (_SIDE,),
                  (MaskParameter("wavelength", "Wavelength", "Distance from stripe to stripe.", 2.0, 100.0,
                                 unit="pixels", part_of_side=2.0),
                   _angle("Direction across the stripes, counter-clockwise from the right."),
                   _sigma(least=0.5),
                   MaskParameter("phase", "Phase", "0: a bright stripe in the middle, 90: a step.",
                                 -180.0, 180.0, 0.0, "°"),
                   MaskParameter("aspect", "Aspect", "Below 1 the bell is longer along the stripes.",
                                 0.1, 10.0, 1.0))),
    )
}  # fmt: skip

EXAMPLES = ", ".join(generator.example for generator in GENERATORS.values())
