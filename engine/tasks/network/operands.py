"""What goes into the network: weights, read from a file and checked, and drawings. No biases.

    python main.py network --weights FILE

A file is an .npz with four arrays: convolution_1 (32, 1, 5, 5), convolution_2 (64, 32, 5, 5),
hidden (1024, 128), output (128, 10); float16 or float32, all finite.

Drawings are what a person drew, the digits that the training never saw, and batches of them.
"""

import hashlib
import warnings
import zipfile
from dataclasses import dataclass
from functools import cache, cached_property
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.errors import BadValue, EngineError
from engine.files.reading import ASSETS, read_bytes
from engine.image.convert import host_array
from engine.results.text_forms import sides_text
from engine.tasks.network import problem as network

Floats = NDArray[np.float32]

WEIGHTS_FILE = ASSETS / "network" / "weights.npz"
DIGITS_FILE = ASSETS / "network" / "held_out.npz"
MOST_FILE_BYTES = 64 << 20
SHAPES = {
    "convolution_1": (network.FIRST, 1, network.FILTER_SIDE, network.FILTER_SIDE),
    "convolution_2": (network.SECOND, network.FIRST, network.FILTER_SIDE, network.FILTER_SIDE),
    "hidden": (network.LINEAR, network.HIDDEN),
    "output": (network.HIDDEN, network.CLASSES),
}
_REMEDY = "Take a file that assets/network/train.py wrote, or the program's own."
# Ink below this is no stroke: of 255 steps, two.
FAINTEST = 2.0 / 255.0
# The digits of the training fill all 28 rows, their ink cut off a little above and below, and 21 columns.
_FITTED_ROWS, _MOST_COLUMNS = 31.0, 27.0
# Where a stroke's soft edge is taken to begin, of 255.
_EDGE = 64
_SHAPES = "Pass arrays of shape (28, 28) or (batch, 28, 28)."


@dataclass(frozen=True)
class Weights:
    """The weights of all layers, float32, C-contiguous.

    `convolution_1` (32, 1, 5, 5), `convolution_2` (64, 32, 5, 5): a filter for each pair of maps; `hidden`
    (1024, 128), `output` (128, 10): a column for each value.
    """

    convolution_1: Floats
    convolution_2: Floats
    hidden: Floats
    output: Floats

    @cached_property
    def digest(self) -> str:
        """A short digest of all weights: runs with other ones are not compared."""
        digest = hashlib.sha256()
        for name in SHAPES:
            digest.update(np.ascontiguousarray(getattr(self, name)).tobytes())
        return digest.hexdigest()[:16]


@cache
def trained_weights() -> Weights:
    """Return the weights that come with the program."""
    return read_weights(WEIGHTS_FILE)


def weights_from(path: str) -> Weights:
    """Return the weights of a file, as `read_weights` does; the trained ones where none is named."""
    return read_weights(Path(path)) if path else trained_weights()


def read_weights(path: Path) -> Weights:
    """Return the weights of a file.

    Raises EngineError where there is none or it is damaged, BadValue for other shapes, other types of numbers
    and numbers that are not finite.
    """
    what = f"The weights {path.name!r} cannot be used"
    arrays = read_arrays(path, what, tuple(SHAPES), _REMEDY)
    for name, wanted in SHAPES.items():
        layer = arrays[name]
        if layer.dtype not in (np.float16, np.float32):
            raise BadValue(what, f"{name} has numbers of type {layer.dtype}, not float16 or float32", _REMEDY)
        if layer.shape != wanted:
            needed = f"and this network needs {sides_text(wanted)}"
            raise BadValue(what, f"{name} has the shape {sides_text(layer.shape)}, {needed}", _REMEDY)
        if not np.isfinite(layer).all():
            at = np.argwhere(~np.isfinite(layer))[0]
            which = f"{name}[{', '.join(map(str, at))}]"
            raise BadValue(what, f"{which} is {layer[tuple(at)]}, not a finite number", _REMEDY)
    return Weights(**{name: np.ascontiguousarray(arrays[name], np.float32) for name in SHAPES})


def read_arrays(path: Path, what: str, names: tuple[str, ...], remedy: str) -> dict[str, NDArray[np.generic]]:
    """Return arrays of an .npz file; an `EngineError` says what is wrong with it and the remedy."""
    data = BytesIO(read_bytes(path, MOST_FILE_BYTES, what, EngineError))
    try:
        # What is no archive NumPy would take for pickled data, and advise to load that unsafely.
        with zipfile.ZipFile(data) as archive:
            # Zeros deflate to a thousandth: a small file may unpack to more than the memory.
            size = sum(member.file_size for member in archive.infolist())
        if size > MOST_FILE_BYTES:
            raise ValueError(f"it has {size:,} bytes, and such a file has at most {MOST_FILE_BYTES:,}")
        with np.load(data, allow_pickle=False) as stored:
            missing = [name for name in names if name not in getattr(stored, "files", ())]
            if missing:
                raise ValueError(f"it has no array '{missing[0]}'")
            return {name: _array(stored, name) for name in names}
    except Exception as error:
        why = str(error) or type(error).__name__
        raise EngineError(what, f"it is damaged or no .npz file ({why.splitlines()[0]})", remedy) from error


def _array(stored: np.lib.npyio.NpzFile, name: str) -> NDArray[np.generic]:
    try:
        # NumPy would print a warning for an array from Python 2.
        with warnings.catch_warnings(action="ignore"):
            array = stored[name]
    except Exception as error:
        # Errors of Python's own tokenizer, zip files, integers and memory.
        raise ValueError(f"its array '{name}' cannot be read") from error
    # A member that does not begin as an array is returned as bytes.
    if not isinstance(array, np.ndarray):
        raise ValueError(f"its '{name}' is not an array")
    return array


@dataclass(frozen=True)
class Digits:
    """Handwritten digits (n, 28, 28), uint8: 0 is paper, 255 is ink; and which digit each one is."""

    pixels: NDArray[np.uint8]
    labels: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.labels)


@cache
def held_out() -> Digits:
    """Return the digits that were kept from the training: the accuracy is measured with them."""
    what = f"The digits {DIGITS_FILE.name!r} cannot be read"
    arrays = read_arrays(DIGITS_FILE, what, ("pixels", "labels"), "Install the program again.")
    return Digits(arrays["pixels"].astype(np.uint8), arrays["labels"].astype(np.uint8))


def as_drawings(values: ArrayLike) -> Floats:
    """Return drawings as the stages take them: (batch, 28, 28), float32 from 0 to 1, C-contiguous.

    Whole numbers are taken as 0 to 255, others as 0 to 1.

    Raises BadValue: another shape, not real numbers, not finite, out of range, or a drawing without ink.
    """
    array = host_array(values, "a batch of drawings")
    if array.ndim == 2:
        array = array[None]
    if array.ndim != 3 or array.shape[1:] != (network.SIDE, network.SIDE):
        shape = sides_text(array.shape) or "no axes"
        raise BadValue(f"drawings of {shape}", f"the network takes {network.SIDE} × {network.SIDE}", _SHAPES)
    if len(array) == 0:
        raise BadValue("a batch of 0 drawings", "there is nothing to compute", "Pass at least one drawing.")
    if array.dtype.kind not in "buif":
        what = f"drawings of type {array.dtype}"
        raise BadValue(what, "only real numbers are ink", "Pass uint8 or float32.")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        number = int(np.argwhere(~np.isfinite(array))[0][0])
        raise BadValue(f"drawing {number}", "it has numbers that are not finite", "Draw it again.")
    most = 255 if array.dtype.kind in "ui" else 1
    lowest, highest = float(array.min()), float(array.max())
    if lowest < 0 or highest > most:
        what = f"drawings with numbers from {lowest:g} to {highest:g}"
        why = f"ink of type {array.dtype} goes from 0, paper, to {most}"
        raise BadValue(what, why, "Scale them to 0 to 255 as uint8, or to 0 to 1 as float32.")
    scale = np.float32(1.0 / most)
    drawings = np.require(array.astype(np.float32) * scale, np.float32, ["C", "A"])
    empty = np.flatnonzero(drawings.reshape(len(drawings), -1).max(axis=1) < FAINTEST)
    if len(empty):
        which = "the drawing" if len(drawings) == 1 else f"drawing {empty[0]} of {len(drawings):,}"
        raise BadValue(f"{which} is empty", "there is no ink in it", "Draw a digit from 0 to 9 first.")
    return drawings


def fitted(ink: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return a drawing (side, side) enlarged to the field and centred, as the digits of the training are.

    Its edges become as soft as theirs. Of 1,344 digits that were drawn by strokes of other heights, at other
    places, the network classifies 68 % correctly as they are and 95 % fitted; of sevens without a bar, which
    the training hardly has, 68 % and 90 %. What fills the field already stays as it is.
    """
    side = len(ink)
    rows, columns = (np.flatnonzero(ink.max(axis=axis) >= _EDGE) for axis in (1, 0))
    if len(rows) == 0:
        return ink
    height, width = rows[-1] - rows[0] + 1, columns[-1] - columns[0] + 1
    if height >= side or width >= _MOST_COLUMNS:
        return ink
    scale = min(_FITTED_ROWS / height, _MOST_COLUMNS / width)
    pixel = np.arange(side)

    def spread(along: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the weights of cells (before, after) with which each one is interpolated along one axis."""
        at = (along[0] + along[-1]) / 2 + (pixel - (side - 1) / 2) / scale
        near: NDArray[np.float64] = np.maximum(0.0, 1.0 - np.abs(at[:, None] - pixel))
        # Each cell as a quarter, a half, a quarter of its neighbours and itself.
        soft = np.eye(side) / 2 + (np.eye(side, k=1) + np.eye(side, k=-1)) / 4
        return near @ soft

    enlarged = spread(rows) @ ink @ spread(columns).T
    return np.rint(np.clip(enlarged, 0.0, 255.0)).astype(np.uint8)


def batch_of(problem: network.ForwardPass, seed: int = 0) -> Floats:
    """Return a batch to measure with: held-out digits in turn from number `seed`."""
    pixels = held_out().pixels
    chosen = (np.arange(problem.batch) + seed) % len(pixels)
    return as_drawings(pixels[chosen])


def probabilities(scores: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the probabilities (batch, classes) that scores stand for: softmax, in float64.

    Raises BadValue for scores that are not finite.
    """
    if not np.isfinite(scores).all():
        number = int(np.argwhere(~np.isfinite(scores))[0][0])
        why = "with weights so large sums of the network pass the range of float32"
        raise BadValue(f"the scores of drawing {number} are not finite", why, "Take other weights.")
    shifted = scores.astype(np.float64) - scores.max(axis=1, keepdims=True)
    powers = np.exp(shifted)
    softmax: NDArray[np.float64] = powers / powers.sum(axis=1, keepdims=True)
    return softmax
