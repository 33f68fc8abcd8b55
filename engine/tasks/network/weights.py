"""The weights of the network: read from a file and checked. No biases.

    python main.py network --weights FILE

A file is an .npz with four arrays: convolution_1 (32, 1, 5, 5), convolution_2 (64, 32, 5, 5),
hidden (1024, 128), output (128, 10); float16 or float32, all finite.
"""

import hashlib
import warnings
import zipfile
from dataclasses import dataclass
from functools import cache, cached_property
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.errors import BadValue, EngineError
from engine.files.assets import ASSETS
from engine.files.reading import read_bytes
from engine.tasks.network.problem import CLASSES, FILTER_SIDE, FIRST, HIDDEN, LINEAR, SECOND

Floats = NDArray[np.float32]

WEIGHTS_FILE = ASSETS / "network" / "weights.npz"
DIGITS_FILE = ASSETS / "network" / "held_out.npz"
MOST_FILE_BYTES = 64 << 20
SHAPES = {
    "convolution_1": (FIRST, 1, FILTER_SIDE, FILTER_SIDE),
    "convolution_2": (SECOND, FIRST, FILTER_SIDE, FILTER_SIDE),
    "hidden": (LINEAR, HIDDEN),
    "output": (HIDDEN, CLASSES),
}
_REMEDY = "Take a file that assets/network/train.py wrote, or the program's own."


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
        found = hashlib.sha256()
        for name in SHAPES:
            found.update(np.ascontiguousarray(getattr(self, name)).tobytes())
        return found.hexdigest()[:16]


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
        found = arrays[name]
        if found.dtype not in (np.float16, np.float32):
            raise BadValue(what, f"{name} has numbers of type {found.dtype}, not float16 or float32", _REMEDY)
        if found.shape != wanted:
            why = f"{name} has the shape {_shape(found.shape)}, and this network needs {_shape(wanted)}"
            raise BadValue(what, why, _REMEDY)
        if not np.isfinite(found).all():
            at = np.argwhere(~np.isfinite(found))[0]
            number = found[tuple(at)]
            raise BadValue(
                what, f"{name}[{', '.join(map(str, at))}] is {number}, not a finite number", _REMEDY
            )
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
            found = stored[name]
    except Exception as error:
        # Errors of Python's own tokenizer, zip files, integers and memory.
        raise ValueError(f"its array '{name}' cannot be read") from error
    # A member that does not begin as an array is returned as bytes.
    if not isinstance(found, np.ndarray):
        raise ValueError(f"its '{name}' is not an array")
    return found


def _shape(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape))
