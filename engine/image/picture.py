"""A picture: an image (array) with what belongs to it."""

import sys
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import imagecodecs
import numpy as np
from numpy.typing import DTypeLike

from engine.errors import BadValue
from engine.image.convert import (
    DEPTH_TEXTS,
    as_array,
    change_depth,
    converted,
    halved,
    native,
    refuse_masked,
    shape_refusal,
)
from engine.image.metadata import NO_METADATA, Metadata

MOST_SHOWN_SIDE = 1024
# Rows of the shown picture that are made at once: of a large picture no second one is made.
_BAND_ROWS = 32


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Picture:
    """An image with its alpha, colour profile and origin.

    NumPy takes it for its pixels: `numpy.asarray(picture)` has their memory, as has what reads DLPack, such
    as `numpy.from_dlpack(picture)`, and from Python 3.12 on `memoryview(picture)`; before,
    `memoryview(picture.samples)` has. `picture.shape`, `len(picture)` and `picture[10:20, 30]` are those of
    the pixels. Two pictures are equal when all that they hold is. A notebook shows the picture.

    Parameters
    ----------
    pixels : ndarray of shape (H, W) or (H, W, 3), uint8, uint16 or float32
        Grey or RGB, row by row from the top left, as a person sees the picture. Always C contiguous, aligned
        and in the machine's byte order; of an array that is so already, the same memory.
    alpha : ndarray of shape (H, W), dtype of `pixels`, optional
        Straight (not premultiplied) opacity: 0 is clear; 255, 65535 or 1.0 is opaque. Carried, not filtered.
    icc_profile : bytes, optional
        The colour profile that says what the numbers look like; kept for saving.
    source : Path, optional
        The file that the picture was read from.
    format : str, optional
        The title of its format: "PNG".
    notes : tuple of str
        Sentences for the person: what was special about the file or was changed while it was read.
    metadata : Metadata
        EXIF data and resolution of the file; kept for saving.

    Raises
    ------
    BadValue
        The arrays are not of these shapes and dtypes, or there is no pixel.
    """

    pixels: np.ndarray
    alpha: np.ndarray | None = None
    icc_profile: bytes | None = None
    source: Path | None = None
    format: str | None = None
    notes: tuple[str, ...] = ()
    metadata: Metadata = NO_METADATA

    def __post_init__(self) -> None:
        object.__setattr__(self, "pixels", _checked_pixels(self.pixels))
        if self.alpha is not None:
            object.__setattr__(self, "alpha", _checked_alpha(self.alpha, self.pixels))

    @classmethod
    def from_array(cls, array: np.ndarray) -> "Picture":
        """Return the picture of an array, sharing its memory where nothing has to be changed.

        Parameters
        ----------
        array : ndarray of shape (H, W) or (H, W, C), C from 1 to 4
            Grey, grey and alpha, RGB, or RGB and alpha. uint8, uint16 and float32 are kept, float64 becomes
            float32, bool becomes 0 and 255. Any byte order and layout.

        Raises
        ------
        BadValue
            Another shape or dtype.
        """
        array = as_array(array)
        if native(array.dtype) in (np.bool_, np.float64):
            array = converted(array, np.dtype(np.float32))
        if array.ndim == 2:
            return cls(array)
        if array.ndim != 3 or not 1 <= array.shape[2] <= 4:
            raise BadValue("This array is not a picture", *shape_refusal(array.shape))
        pixels = array[..., 0] if array.shape[2] < 3 else array[..., :3]
        return cls(pixels, None if array.shape[2] % 2 else array[..., -1])

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Picture):
            return NotImplemented
        return all(_same(getattr(self, one.name), getattr(other, one.name)) for one in fields(self))

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype, self.source, self.format))

    def __repr__(self) -> str:
        return f"Picture({self.title()})"

    def __len__(self) -> int:
        return self.height

    def __getitem__(self, index: Any) -> Any:
        return self.pixels[index]

    @property
    def shape(self) -> tuple[int, ...]:
        """(H, W) of grey, (H, W, 3) of RGB."""
        return self.pixels.shape

    @property
    def ndim(self) -> int:
        """2 (grey) or 3 (RGB)."""
        return self.pixels.ndim

    @property
    def samples(self) -> np.ndarray:
        """The pixels as rows × columns × channels, of grey too: the same memory, without the alpha."""
        return self.pixels.reshape(self.height, self.width, self.channels)

    @property
    def height(self) -> int:
        """Number of rows."""
        return int(self.pixels.shape[0])

    @property
    def width(self) -> int:
        """Number of columns."""
        return int(self.pixels.shape[1])

    @property
    def channels(self) -> int:
        """1 (grey) or 3 (RGB); alpha is not counted."""
        return 1 if self.pixels.ndim == 2 else int(self.pixels.shape[2])

    @property
    def dtype(self) -> np.dtype:
        """Type of each sample: uint8, uint16 or float32."""
        return self.pixels.dtype

    @property
    def depth_text(self) -> str:
        """The depth in words: "8 bit", "16 bit" or "32-bit float"."""
        return DEPTH_TEXTS[self.pixels.dtype]

    def title(self) -> str:
        """Return what this is in a line: "astronaut.png  512 x 512  RGB  8 bit" (width x height)."""
        colour = ("grey" if self.channels == 1 else "RGB") + ("" if self.alpha is None else " + alpha")
        name = (self.source.name,) if self.source is not None else ()
        return "  ".join((*name, f"{self.width} × {self.height}", colour, self.depth_text))

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.pixels, dtype, copy=copy)

    def __dlpack__(self, **options: Any) -> Any:
        return self.pixels.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.pixels.__dlpack_device__()

    # Python asks for it from then on.
    if sys.version_info >= (3, 12):

        def __buffer__(self, flags: int) -> memoryview:
            return self.pixels.__buffer__(flags)

    def _repr_png_(self) -> bytes:
        return bytes(imagecodecs.png_encode(_shown(self), level=1))


def _same(one: object, other: object) -> bool:
    """Return whether two fields are equal; of pixels, NaN is equal to NaN."""
    if not isinstance(one, np.ndarray) or not isinstance(other, np.ndarray):
        return one is other or (type(one) is type(other) and bool(one == other))
    return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


def _shown(picture: Picture) -> np.ndarray:
    """Return a picture in 8 bits, halved until it is small; 1.0 is white, and values outside are clipped.

    The halves are those of the window (`engine.host.shared_picture`), in which clear pixels do not count.
    """
    halvings = ((max(picture.width, picture.height) - 1) // MOST_SHOWN_SIDE).bit_length()

    def shown(rows: slice) -> np.ndarray:
        colours = change_depth(picture.samples[rows], np.uint8)
        if picture.alpha is None:
            return halved(colours, halvings)
        opacity = change_depth(picture.alpha[rows], np.uint8)[..., np.newaxis]
        if halvings:
            # Weighted by the opacity, while they are halved.
            colours = halved(np.rint(colours * (opacity / 255.0)).astype(np.uint8), halvings)
            opacity = halved(opacity, halvings)
            straight = np.rint(colours * (255.0 / np.maximum(opacity, 1)))
            colours = np.minimum(straight, 255).astype(np.uint8)
        return np.concatenate([colours, opacity], axis=2)

    step = _BAND_ROWS << halvings
    return np.concatenate([shown(slice(top, top + step)) for top in range(0, picture.height, step)])


def with_alpha(picture: Picture) -> np.ndarray:
    """Return the samples as most encoders take them: the colours, then the alpha, where there is one."""
    return picture.pixels if picture.alpha is None else np.dstack([picture.pixels, picture.alpha])


def _checked_pixels(pixels: np.ndarray) -> np.ndarray:
    if not isinstance(pixels, np.ndarray):
        raise BadValue("This is not a picture", f"its pixels are {type(pixels).__name__}, not a NumPy array")
    refuse_masked(pixels)
    dtype = native(pixels.dtype)
    if dtype not in DEPTH_TEXTS:
        why = f"its values are {pixels.dtype}; a picture has uint8, uint16 or float32"
        remedy = "Scale it to the range that you want and convert it, for example with .astype(np.float32)."
        raise BadValue("This array is not a picture", why, remedy)
    if pixels.ndim not in (2, 3) or (pixels.ndim == 3 and pixels.shape[2] != 3):
        raise BadValue("This array is not a picture", *shape_refusal(pixels.shape))
    if pixels.size == 0:
        raise BadValue("This is not a picture", f"an array of shape {pixels.shape} has no pixel")
    return np.require(np.asarray(pixels), dtype, ["C", "A"])


def _checked_alpha(alpha: np.ndarray, pixels: np.ndarray) -> np.ndarray:
    refuse_masked(alpha)
    if alpha.shape != pixels.shape[:2] or native(alpha.dtype) != pixels.dtype:
        pixels_are = f"the pixels are {pixels.dtype} of shape {pixels.shape}"
        why = f"it is {alpha.dtype} of shape {alpha.shape}, {pixels_are}"
        remedy = "Give one alpha value of the same type for each pixel."
        raise BadValue("The alpha does not fit the picture", why, remedy)
    return np.require(np.asarray(alpha), pixels.dtype, ["C", "A"])
