"""What other programs do with a mask: their conventions, and the line of code that does it there.

The anchor is the cell of the mask, as it is typed, that lies on the pixel. Each entry of `PROGRAMS` names its
source. OpenCV, SciPy and ImageMagick were also run (`tests/engine/recipes/test_programs.py`); what is
stated of ImageJ and GIMP is from their source code, of MATLAB from its reference.
"""

from typing import Any, NamedTuple

import numpy as np

from engine.errors import MaskError, UnknownName
from engine.geometry.border import Border
from engine.image.convert import full_scale_of
from engine.mask.generator_table import number_text
from engine.mask.mask import Mask


class Program(NamedTuple):
    """The conventions of a function of another program.

    `line` is the line of code for the mask as it is written there, with the words of `_words` in braces,
    `of_colours` the same for several channels, where that is another one. `differs` says in two sentences
    what the program does otherwise; `source` is where that stands.
    """

    key: str
    title: str
    border: Border
    line: str
    differs: str
    source: str
    of_colours: str = ""
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
    """Return what a program, by its key in `PROGRAMS`, does with a mask as it was typed; its anchor is used.

    `normalise` says whether the mask is divided by its sum here, `dtype` is the type of the picture's
    samples, which has 1 or 3 `channels`. Raises UnknownName where there is no such program, MaskError where
    it cannot take this mask.
    """
    program = next((known for known in PROGRAMS if known.key == key), None)
    if program is None:
        known_keys = ", ".join(known.key for known in PROGRAMS)
        raise UnknownName(f"program '{key}'", "its conventions are not known", f"Choose one of {known_keys}.")
    what = f"This mask in {program.title}"
    if mask.offset and not program.takes_offset:
        raise MaskError(what, "it has no offset for a filter", "Set Add offset to 0.")
    if program.is_centred:
        sides = [side + (side + 1) % 2 for side in mask.shape]
        mask = mask.with_anchor(None).resized(*sides).with_name(mask.name)
    elif program.anchor_before:
        mask = mask.with_anchor(((mask.rows - 1) // 2, (mask.columns - 1) // 2))
    else:
        mask = mask.with_anchor(None)
    if max(mask.shape) > program.most_side:
        why = f"its grid has {program.most_side} × {program.most_side} cells"
        raise MaskError(what, why, "Use a smaller mask.")
    written = mask.normalised() if normalise and not program.divides else mask
    if program.divides:
        normalise = mask.total != 0.0
        if program.key == "gimp" and mask.total <= 0.0:
            # With half, or below 0 all, of white added.
            normalise, white = False, full_scale_of(np.dtype(dtype))
            divided = mask.divided_by(-mask.total) if mask.total else mask
            mask = divided.with_offset(white if mask.total else white / 2)
    types = {"result_type": "same", "range_mode": "clip"} if program.rounds else {"result_type": "float32"}
    settings = {"flip": program.flip, "border": program.border, "cval": 0.0, "normalise": normalise} | types
    line = program.of_colours if channels > 1 and program.of_colours else program.line
    return AsProgram(program, mask, settings, line.format_map(_words(written, channels)))


def _words(mask: Mask, channels: int) -> dict[str, str]:
    """Return a mask as programs write it, what is added, and loops over channels, by the names in `line`."""
    rows = [list(map(number_text, row)) for row in mask.weights.tolist()]
    offset, matlab = number_text(mask.offset), "; ".join(map(" ".join, rows))
    # The letter of GEGL's properties is the column and the digit the row, c3 being the middle.
    top, left = 2 - mask.anchor[0], 2 - mask.anchor[1]
    cells = {"c3": "0"} | {
        f"{'abcde'[left + column]}{top + row + 1}": text
        for row, texts in enumerate(rows)
        for column, text in enumerate(texts)
        if mask.weights[row, column] and max(mask.shape) <= 5
    }
    each = (
        f"conv2(double(picture(:, :, {number})), [{matlab}], 'same')" for number in range(1, channels + 1)
    )
    return {
        "numpy": f"np.float32([[{'], ['.join(map(', '.join, rows))}]])",
        "matlab": matlab,
        "imagej": "\\n".join(map(" ".join, rows)),
        "imagemagick": f"{mask.columns}x{mask.rows}: {' '.join(map(','.join, rows))}",
        "gegl": " ".join(f"{name}={text}" for name, text in sorted(cells.items())),
        "added": f" + {offset}" if mask.offset else "",
        "delta": f", delta={offset}" if mask.offset else "",
        "channels": str(channels),
        "conv2_of_each": ", ".join(each),
    }


_NDIMAGE = "result = ndimage.{}(picture.astype(float), {{numpy}}{}){{added}}"
_SIGNAL = "signal.convolve2d({}.astype(float), {{numpy}}, mode='same')"
# fmt: off
PROGRAMS = (
    Program(
        "imagej", "ImageJ, Convolve", Border.REPLICATE,
        'run("Convolve...", "text1=[{imagej}\\n] normalize");',
        rounds=True, divides=True, is_centred=True,
        differs="ImageJ correlates although it says Convolve, and divides by the sum unless Normalize Kernel "
        "is off. It takes odd sizes only (an even one gets a row or column of zeros), and rounds halves up.",
        source="ij/plugin/filter/Convolver.java and setPixels of ByteProcessor.java; "
        "https://imagej.net/ij/docs/menus/process.html#convolve",
    ),
    Program(
        "gimp", "GIMP, Convolution Matrix", Border.REPLICATE,
        "gegl in.png -o out.png -- gegl:convolution-matrix {gegl}",
        rounds=True, divides=True, is_centred=True, most_side=5,
        differs="GIMP correlates in linear light and weights colours by alpha, so that where neighbours "
        "differ, pictures of 8 bit come out other than here. It divides by the sum; where that is 0 it adds "
        "half of white, and below 0 it inverts.",
        source="operations/common/convolution-matrix.c of GEGL; "
        "https://docs.gimp.org/en/gimp-filter-convolution-matrix.html",
    ),
    Program(
        "opencv", "OpenCV, filter2D", Border.MIRROR,
        "result = cv2.filter2D(picture, -1, {numpy}{delta})",
        rounds=True, takes_offset=True,
        differs="filter2D correlates, and mirrors the picture at its edge without repeating the last "
        "pixel. It rounds halves to even and clips, as here; above 11 × 11 it transforms, which may change a "
        "value by one.",
        source="https://docs.opencv.org/4.x/d4/d86/group__imgproc__filter.html",
    ),
    Program(
        "scipy-correlate", "SciPy, ndimage.correlate", Border.REFLECT,
        _NDIMAGE.format("correlate", ""), of_colours=_NDIMAGE.format("correlate", "[..., np.newaxis]"),
        takes_offset=True,
        differs="SciPy reflects the picture at its edge with the last pixel repeated. Of a picture of whole "
        "numbers it cuts off fractions and wraps around, so the line computes in float.",
        source="https://docs.scipy.org/doc/scipy/reference/generated/scipy.ndimage.correlate.html",
    ),
    Program(
        "scipy-convolve", "SciPy, ndimage.convolve", Border.REFLECT,
        _NDIMAGE.format("convolve", ""), of_colours=_NDIMAGE.format("convolve", "[..., np.newaxis]"),
        flip=True, takes_offset=True,
        differs="SciPy turns the mask by 180° and reflects the picture at its edge with the last pixel "
        "repeated. Of a picture of whole numbers it cuts off fractions and wraps around, so the line "
        "computes in float.",
        source="https://docs.scipy.org/doc/scipy/reference/generated/scipy.ndimage.convolve.html",
    ),
    Program(
        "scipy-signal", "SciPy, signal.convolve2d", Border.ZERO,
        f"result = {_SIGNAL.format('picture')}{{added}}",
        of_colours=f"result = np.dstack([{_SIGNAL.format('picture[..., channel]')} "
        "for channel in range({channels})]){added}",
        flip=True, anchor_before=True, takes_offset=True,
        differs="convolve2d turns the mask by 180°, counts cells outside as 0, and takes one channel at a "
        "time. Without mode='same' its result is larger than the picture.",
        source="https://docs.scipy.org/doc/scipy/reference/generated/scipy.signal.convolve2d.html",
    ),
    Program(
        "imagemagick", "ImageMagick, -morphology Convolve", Border.REPLICATE,
        "magick in.png -morphology Convolve '{imagemagick}' out.tif",
        flip=True, anchor_before=True, rounds=True,
        differs="ImageMagick (before version 7 the command is convert) turns the mask by 180°, and repeats "
        "the edge. It rounds to 16 bit and then to the picture's depth, halves up; written as PNG, version 6 "
        "cuts off fractions instead.",
        source="https://usage.imagemagick.org/convolve/ and MorphologyPrimitive of morphology.c",
    ),
    Program(
        "matlab-imfilter", "MATLAB, imfilter", Border.ZERO,
        "result = imfilter(picture, [{matlab}]);",
        anchor_before=True, rounds=True,
        differs="imfilter correlates and counts cells outside as 0, so that edges darken. It rounds halves "
        "away from 0 and clips to the picture's type.",
        source="https://www.mathworks.com/help/images/ref/imfilter.html",
    ),
    Program(
        "matlab-conv2", "MATLAB, conv2", Border.ZERO,
        "result = conv2(double(picture), [{matlab}], 'same'){added};",
        of_colours="result = cat(3, {conv2_of_each}){added};",
        flip=True, takes_offset=True,
        differs="conv2 turns the mask by 180°, counts cells outside as 0, and takes one channel at a time. "
        "Its result is double: nothing is rounded or clipped.",
        source="https://www.mathworks.com/help/matlab/ref/conv2.html",
    ),
)
# fmt: on
