"""What other programs do with a mask: their conventions, and the line of code that does it there.

The anchor is the cell of the mask, as it is typed, that lies on the pixel. Each entry of `PROGRAMS` names its
source. OpenCV, SciPy and ImageMagick were also run (`tests/engine/recipes/test_programs.py`); what is said of
ImageJ and GIMP is from their source code, of MATLAB from its reference.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from engine.errors import MaskError, UnknownName
from engine.geometry.border import Border
from engine.image.convert import full_scale_of
from engine.mask.generator_table import number_text
from engine.mask.mask import Mask


class Program(NamedTuple):
    """The conventions of a function of another program.

    `write` returns the line of code for the mask as it is given there and the number of channels. `differs`
    says in two sentences what the program does otherwise; `source` is where that stands.
    """

    key: str
    title: str
    border: Border
    write: Callable[[Mask, int], str]
    differs: str
    source: str
    flip: bool = False
    anchor_before: bool = False  # whether the anchor of an even size is (n - 1) // 2, and not n // 2
    rounds: bool = False  # whether the result has the picture's type
    divides: bool = False  # by the sum of the weights, as it begins
    takes_offset: bool = False
    most_side: int = 127
    is_centred: bool = False  # whether the anchor has to be the middle of an odd size


class AsProgram(NamedTuple):
    """A mask as another program takes it, the settings that do the same here, and the line of code."""

    program: Program
    mask: Mask
    settings: dict[str, Any]
    code: str


def as_program(key: str, mask: Mask, *, normalise: bool, dtype: str, channels: int) -> AsProgram:
    """Return what a program does with a mask.

    Parameters
    ----------
    key : str
        Of one of `PROGRAMS`.
    mask : Mask
        As it was typed; its anchor becomes the program's.
    normalise : bool
        Whether it is divided by its sum here.
    dtype : str
        Type of the picture's samples.
    channels : int
        Of the picture, 1 or 3.

    Raises
    ------
    UnknownName
        No such program.
    MaskError
        The program cannot take this mask.
    """
    program = next((known for known in PROGRAMS if known.key == key), None)
    if program is None:
        known_keys = ", ".join(known.key for known in PROGRAMS)
        raise UnknownName(f"program '{key}'", "its conventions are not known", f"Choose one of {known_keys}.")
    what = f"This mask in {program.title}"
    if mask.offset and not program.takes_offset:
        raise MaskError(what, "it has no offset for a filter", "Set Add offset to 0.")
    mask = _anchored(program, mask)
    if max(mask.shape) > program.most_side:
        why = f"its grid has {program.most_side} × {program.most_side} cells"
        raise MaskError(what, why, "Use a smaller mask.")
    given = mask.normalised() if normalise and not program.divides else mask
    if program.divides:
        normalise = mask.total != 0.0
        if program.key == "gimp" and mask.total <= 0.0:
            normalise, mask = False, _inverted(mask, dtype)
    settings = {
        "flip": program.flip,
        "border": program.border,
        "cval": 0.0,
        "normalise": normalise,
        "result_type": "same" if program.rounds else "float32",
    }
    if program.rounds:
        settings["range_mode"] = "clip"
    return AsProgram(program, mask, settings, program.write(given, channels))


def _anchored(program: Program, mask: Mask) -> Mask:
    """Return a mask with the anchor that a program takes; where that is the middle, of an odd size."""
    if program.is_centred:
        sides = [side + (side + 1) % 2 for side in mask.shape]
        return mask.with_anchor(None).resized(*sides).with_name(mask.name)
    if program.anchor_before:
        return mask.with_anchor(((mask.rows - 1) // 2, (mask.columns - 1) // 2))
    return mask.with_anchor(None)


def _inverted(mask: Mask, dtype: str) -> Mask:
    """Return a mask whose sum is not above 0 as GIMP has it: with half, or below 0 all, of white added."""
    white = full_scale_of(np.dtype(dtype))
    if mask.total == 0.0:
        return mask.with_offset(white / 2)
    return mask.divided_by(-mask.total).with_offset(white)


def _numpy(mask: Mask) -> str:
    return f"np.float32([[{_rows(mask, ', ', '], [')}]])"


def _rows(mask: Mask, cells: str, rows: str) -> str:
    return rows.join(cells.join(map(number_text, row)) for row in mask.weights.tolist())


def _added(mask: Mask) -> str:
    return f" + {number_text(mask.offset)}" if mask.offset else ""


def _gimp(mask: Mask, channels: int) -> str:
    """Return GEGL's command; its letter is the column and its digit the row, c3 being the middle."""
    top, left = 2 - mask.anchor[0], 2 - mask.anchor[1]
    cells = {"c3": 0.0} | {
        f"{'abcde'[left + column]}{top + row + 1}": weight
        for row, weights in enumerate(mask.weights.tolist())
        for column, weight in enumerate(weights)
        if weight
    }
    properties = " ".join(f"{name}={number_text(value)}" for name, value in sorted(cells.items()))
    return f"gegl in.png -o out.png -- gegl:convolution-matrix {properties}"


def _ndimage(function: str) -> Callable[[Mask, int], str]:
    def write(mask: Mask, channels: int) -> str:
        weights = f"{_numpy(mask)}{'[..., np.newaxis]' if channels > 1 else ''}"
        return f"result = ndimage.{function}(picture.astype(float), {weights}){_added(mask)}"

    return write


def _signal(mask: Mask, channels: int) -> str:
    one = f"signal.convolve2d({{}}.astype(float), {_numpy(mask)}, mode='same')"
    if channels == 1:
        return f"result = {one.format('picture')}{_added(mask)}"
    each = one.format("picture[..., channel]")
    return f"result = np.dstack([{each} for channel in range({channels})]){_added(mask)}"


def _conv2(mask: Mask, channels: int) -> str:
    one = f"conv2(double({{}}), [{_rows(mask, ' ', '; ')}], 'same')"
    if channels == 1:
        return f"result = {one.format('picture')}{_added(mask)};"
    each = ", ".join(one.format(f"picture(:, :, {channel})") for channel in range(1, channels + 1))
    return f"result = cat(3, {each}){_added(mask)};"


PROGRAMS = (
    Program(
        "imagej",
        "ImageJ, Convolve",
        Border.REPLICATE,
        lambda mask, channels: (
            f'run("Convolve...", "text1=[{_rows(mask, " ", chr(92) + "n")}{chr(92)}n] normalize");'
        ),
        rounds=True,
        divides=True,
        is_centred=True,
        differs="ImageJ correlates although it says Convolve, and divides by the sum unless Normalize Kernel "
        "is off. It takes odd sizes only (an even one gets a row or column of zeros), and rounds halves up.",
        source="ij/plugin/filter/Convolver.java and setPixels of ByteProcessor.java; "
        "https://imagej.net/ij/docs/menus/process.html#convolve",
    ),
    Program(
        "gimp",
        "GIMP, Convolution Matrix",
        Border.REPLICATE,
        _gimp,
        rounds=True,
        divides=True,
        is_centred=True,
        most_side=5,
        differs="GIMP correlates in linear light and weights colours by alpha, so that where neighbours "
        "differ, pictures of 8 bit come out other than here. It divides by the sum; where that is 0 it adds "
        "half of white, and below 0 it inverts.",
        source="operations/common/convolution-matrix.c of GEGL; "
        "https://docs.gimp.org/en/gimp-filter-convolution-matrix.html",
    ),
    Program(
        "opencv",
        "OpenCV, filter2D",
        Border.MIRROR,
        lambda mask, channels: (
            f"result = cv2.filter2D(picture, -1, {_numpy(mask)}"
            f"{f', delta={number_text(mask.offset)}' if mask.offset else ''})"
        ),
        rounds=True,
        takes_offset=True,
        differs="filter2D correlates, and mirrors the picture at its edge without repeating the last "
        "pixel. It rounds halves to even and clips, as here; above 11 × 11 it transforms, which may change a "
        "value by one.",
        source="https://docs.opencv.org/4.x/d4/d86/group__imgproc__filter.html",
    ),
    Program(
        "scipy-correlate",
        "SciPy, ndimage.correlate",
        Border.REFLECT,
        _ndimage("correlate"),
        takes_offset=True,
        differs="SciPy reflects the picture at its edge with the last pixel repeated. Of a picture of whole "
        "numbers it cuts off fractions and wraps around, so the line computes in float.",
        source="https://docs.scipy.org/doc/scipy/reference/generated/scipy.ndimage.correlate.html",
    ),
    Program(
        "scipy-convolve",
        "SciPy, ndimage.convolve",
        Border.REFLECT,
        _ndimage("convolve"),
        flip=True,
        takes_offset=True,
        differs="SciPy turns the mask by 180° and reflects the picture at its edge with the last pixel "
        "repeated. Of a picture of whole numbers it cuts off fractions and wraps around, so the line "
        "computes in float.",
        source="https://docs.scipy.org/doc/scipy/reference/generated/scipy.ndimage.convolve.html",
    ),
    Program(
        "scipy-signal",
        "SciPy, signal.convolve2d",
        Border.ZERO,
        _signal,
        flip=True,
        anchor_before=True,
        takes_offset=True,
        differs="convolve2d turns the mask by 180°, counts cells outside as 0, and takes one channel at a "
        "time. Without mode='same' its result is larger than the picture.",
        source="https://docs.scipy.org/doc/scipy/reference/generated/scipy.signal.convolve2d.html",
    ),
    Program(
        "imagemagick",
        "ImageMagick, -morphology Convolve",
        Border.REPLICATE,
        lambda mask, channels: (
            f"magick in.png -morphology Convolve "
            f"'{mask.columns}x{mask.rows}: {_rows(mask, ',', ' ')}' out.tif"
        ),
        flip=True,
        anchor_before=True,
        rounds=True,
        differs="ImageMagick (before version 7 the command is convert) turns the mask by 180°, and repeats "
        "the edge. It rounds to 16 bit and then to the picture's depth, halves up; written as PNG, version 6 "
        "cuts off fractions instead.",
        source="https://usage.imagemagick.org/convolve/ and MorphologyPrimitive of morphology.c",
    ),
    Program(
        "matlab-imfilter",
        "MATLAB, imfilter",
        Border.ZERO,
        lambda mask, channels: f"result = imfilter(picture, [{_rows(mask, ' ', '; ')}]);",
        anchor_before=True,
        rounds=True,
        differs="imfilter correlates and counts cells outside as 0, so that edges darken. It rounds halves "
        "away from 0 and clips to the picture's type.",
        source="https://www.mathworks.com/help/images/ref/imfilter.html",
    ),
    Program(
        "matlab-conv2",
        "MATLAB, conv2",
        Border.ZERO,
        _conv2,
        flip=True,
        takes_offset=True,
        differs="conv2 turns the mask by 180°, counts cells outside as 0, and takes one channel at a time. "
        "Its result is double: nothing is rounded or clipped.",
        source="https://www.mathworks.com/help/matlab/ref/conv2.html",
    ),
)
