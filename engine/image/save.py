"""Saving a picture: encoded in memory, then written whole or not at all."""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np

from engine.errors import ImageWriteError
from engine.files.atomic_write import atomic_write, path_text
from engine.geometry.border import RangeMode
from engine.image.convert import (
    DEPTH_TEXTS,
    bands_of,
    change_depth,
    finite_range,
    full_scale_of,
    profile_fits,
    to_depth,
)
from engine.image.format import DEFAULT_QUALITY, Format
from engine.image.formats import format_to_save, formats_for, in_words, saved_formats, titles
from engine.image.metadata import NO_METADATA, metadata_to_save, sentence_on
from engine.image.picture import Picture

Depth = Literal["keep", "8", "16", "float32"]

# The sample type of each depth but "keep".
DEPTH_DTYPES: dict[str, type] = {"8": np.uint8, "16": np.uint16, "float32": np.float32}


def save_image(
    picture: Picture | np.ndarray,
    path: str | os.PathLike[str],
    *,
    quality: int = DEFAULT_QUALITY,
    depth: Depth = "keep",
    metadata: bool = True,
    done: Callable[[np.ndarray], None] | None = None,
) -> tuple[str, ...]:
    """Save a picture; the suffix of `path` chooses the format (`engine.image.formats.FORMATS`).

    Nothing is scaled, rounded or clipped unless `depth` asks for it.

    Parameters
    ----------
    picture : Picture or ndarray
        An array is taken as `Picture.from_array` takes it.
    path : str or path-like
        Ends in a suffix such as .png or .tif. An existing file is replaced in one step.
    quality : int, default 95
        1 to 100, for lossy formats. WebP is exact at 100, others always.
    depth : {"keep", "8", "16", "float32"}, default "keep"
        Depth of the file. From float to "8" and "16" 1 is white, as pictures are shown; values are rounded
        half to even and clipped to 0 to 1; `engine.image.convert.to_depth` offers other ways. Between 8 and
        16 bit the full scales correspond.
    metadata : bool, default True
        Whether EXIF data (camera, place, time) and resolution of the file that was opened are saved too, with
        the orientation and the size that the picture has now, and without a thumbnail of the old one.
    done : callable of ndarray, optional
        Called with rows of the pixels that are not read again, where the format reads each once; their memory
        may be given back.

    Returns
    -------
    tuple of str
        A sentence for each thing that the format or the depth cannot keep: alpha, grey (saved as RGB),
        values outside the range, a colour profile of another colour model, EXIF and resolution;
        what is damaged of these; and what else the opened file says, such as XMP. Empty where all is kept.

    Raises
    ------
    ImageWriteError
        An unknown suffix, a depth or size that the format has not, a quality or depth out of range.
    FileWriteError
        The folder does not exist or cannot be written, the disk is full, and the like.
    BadValue
        An array that is not a picture.
    """
    data, left_out = encoded_image(
        picture, path_text(path), quality=quality, depth=depth, metadata=metadata, done=done
    )
    atomic_write(path, data)
    return left_out


def encoded_image(
    picture: Picture | np.ndarray,
    name: str,
    *,
    quality: int = DEFAULT_QUALITY,
    depth: Depth = "keep",
    metadata: bool = True,
    saved_as: Format | None = None,
    done: Callable[[np.ndarray], None] | None = None,
) -> tuple[bytes | memoryview, tuple[str, ...]]:
    """Return the bytes of a file, as `save_image` would write it, and its sentences on what is left out.

    `saved_as` is the format of the file where it is known already.
    """
    known = saved_as or saved_format(name)
    what = f"{name} cannot be saved"
    unchecked: object = quality
    if not (isinstance(unchecked, int | np.integer) and 1 <= unchecked <= 100):
        raise ImageWriteError(what, f"quality {quality!r} is not a whole number from 1 to 100")
    if not isinstance(picture, Picture):
        picture = Picture.from_array(picture)
    lost: tuple[str, ...] = ()
    if depth != "keep":
        if depth not in DEPTH_DTYPES:
            depths = ", ".join(("keep", *DEPTH_DTYPES))
            raise ImageWriteError(what, f"there is no depth {depth!r}", f"Choose one of: {depths}.")
        conversion = Conversion(picture.dtype, np.dtype(DEPTH_DTYPES[depth]))
        picture = conversion.picture(picture, picture.pixels)
        lost = conversion.sentences(picture.pixels.size)
    check_holds(known, picture.dtype, picture.height, picture.width, name)
    if not metadata:
        picture = replace(picture, metadata=NO_METADATA)
    picture, left_out = _without_what_is_lost(picture, known)
    assert known.encode is not None
    try:
        data = known.encode(picture, quality, **({"done": done} if done and known.reads_once else {}))
    except (OSError, ValueError, RuntimeError, TypeError, MemoryError) as error:
        raise ImageWriteError(what, f"the {known.title} encoder says: {error}") from error
    return data, (*lost, *left_out)


def saved_format(name: str) -> Format:
    """Return the format that a file is saved in; an ImageWriteError says which suffixes there are."""
    if (known := format_to_save(name)) is not None:
        return known
    suffix = Path(name).suffix.lower()
    why = f"{suffix!r} is not a picture format that can be saved" if suffix else "its name has no extension"
    suffixes = ", ".join(suffix for known in saved_formats() for suffix in known.saved_suffixes)
    raise ImageWriteError(f"{name} cannot be saved", why, f"End the name in one of: {suffixes}.")


def check_holds(known: Format, dtype: np.dtype, height: int, width: int, name: str) -> None:
    """Refuse, with an ImageWriteError, a sample type or a size that a format cannot hold."""
    what, side = f"{name} cannot be saved", max(height, width)
    others = titles(formats_for(dtype, side))
    if not known.holds(dtype):
        held = in_words(depth for depth, dtype in DEPTH_DTYPES.items() if dtype in known.dtypes)
        why = f"{known.title} does not hold {DEPTH_TEXTS[dtype]} values"
        raise ImageWriteError(what, why, f"Save it as {others}, or ask for depth {held}.")
    if not known.holds(dtype, side):
        why = f"{known.title} holds {known.max_side:,} pixels on a side"
        size = f"this picture has {width:,} × {height:,}"
        raise ImageWriteError(what, f"{why}, {size}", f"Save it as {others}.")


def _without_what_is_lost(picture: Picture, known: Format) -> tuple[Picture, tuple[str, ...]]:
    """Return what the format keeps of a picture, and a sentence for each thing that it does not."""
    pixels, alpha, profile, left_out = picture.pixels, picture.alpha, picture.icc_profile, list[str]()
    if alpha is not None and not known.keeps_alpha:
        alpha = None
        others = titles((other for other in saved_formats() if other.keeps_alpha), "and")
        left_out.append(f"{known.title} has no alpha: it was left out. {others} keep it.")
    if pixels.ndim == 2 and not known.keeps_grey:
        pixels = np.repeat(pixels[..., np.newaxis], 3, axis=2)
        left_out.append(f"{known.title} has no grey: the picture was saved as RGB with three equal channels.")
    if profile is not None and not profile_fits(profile, 1 if pixels.ndim == 2 else 3):
        profile = None
        left_out.append("The colour profile does not describe these channels and was left out.")
    if profile is not None and not known.keeps_profile:
        profile = None
        left_out.append(f"The colour profile is not saved: a {known.title} file holds none here.")
    size = picture.width, picture.height
    metadata, words = metadata_to_save(picture.metadata, *size, known.title, known.most_exif_bytes)
    words = (*left_out, *words, *sentence_on(metadata.left_out))
    return Picture(pixels, alpha, profile, metadata=metadata), words


# A result that takes less of the range of its depth looks like one grey.
_LEAST_RANGE = 0.01
# A larger part that is cut off is worth a word.
_MOST_CUT = 0.2


def finished_picture(
    picture: Picture,
    values: np.ndarray,
    target: np.dtype,
    range_mode: RangeMode = "clip",
    *,
    with_alpha: bool = False,
) -> Picture:
    """Return filtered values as a picture, with the alpha and the colour profile of their source `picture`.

    Parameters
    ----------
    values : ndarray of shape (H, W) or (H, W, C), float32 or of the type of `target`
        float32 is in the scale of the picture; other values are final, and nothing is converted. There is
        one channel more where the alpha was filtered too.
    target : numpy dtype
        uint8, uint16 or float32. Between 8 and 16 bit the full scales correspond, and of a float32 picture 1
        is white, as it is shown; to float32 values keep their numbers.
    range_mode : {"clip", "absolute", "offset", "rescale"}
        What becomes of values outside the range of an integer target. In every mode NaN becomes 0 there, and
        infinity an end of the range (`Loss` counts them).
    with_alpha : bool, default False
        Whether the last channel is the filtered alpha. It is clipped whatever the range mode.
    """
    return Conversion(picture.dtype, target, range_mode).picture(picture, values, with_alpha=with_alpha)


@dataclass(slots=True)
class Loss:
    """What values lose as they become 8 or 16 bit, of all bands of a result together.

    `values` are the smallest and the largest one, `saved` what became of these, as parts of full scale; None:
    there is none, or it is not looked at.
    """

    nan: int = 0
    infinite: int = 0
    cut: int = 0
    values: tuple[float, float] | None = None
    saved: tuple[float, float] | None = None

    def add(
        self, values: np.ndarray, saved: np.ndarray, source: np.dtype, *, counts_cut: bool = False
    ) -> None:
        """Count in values and the samples that they became; `source` is the type of the opened picture.

        `counts_cut`: also the float values that were cut off, where nothing else says so (`clipping`).
        """
        if values.dtype == saved.dtype or saved.dtype.kind != "u":
            return
        # One look at all of them is all that most pictures cost: 6 ms for 4096 x 4096.
        for rows in bands_of(values):
            if not np.isfinite(values[rows]).all():
                self.nan += int(np.isnan(values[rows]).sum())
                self.infinite += int(np.isinf(values[rows]).sum())
            if counts_cut and values.dtype.kind == "f":
                self.cut += int(np.count_nonzero((values[rows] < 0) | (values[rows] > 1)))
        # What a filter makes of a picture of the same depth is as wanted.
        if source != saved.dtype and not self._is_wide:
            full = full_scale_of(saved.dtype)
            self.saved = _both(self.saved, (float(saved.min()) / full, float(saved.max()) / full))
            if not self._is_wide:
                low, high = finite_range(values)
                self.values = _both(self.values, (low, high) if low <= high else None)

    def merge(self, other: "Loss") -> None:
        """Count in other bands."""
        self.nan, self.infinite = self.nan + other.nan, self.infinite + other.infinite
        self.cut += other.cut
        self.saved, self.values = _both(self.saved, other.saved), _both(self.values, other.values)

    @property
    def _is_wide(self) -> bool:
        return self.saved is not None and self.saved[1] - self.saved[0] >= _LEAST_RANGE

    def sentences(self, size: int, target: np.dtype) -> tuple[str, ...]:
        """Return a sentence for each kind of loss among `size` values."""
        bits, keeping = 8 * target.itemsize, titles(formats_for(np.float32))
        kinds = ((self.nan, "NaN", "0"), (self.infinite, "infinite", "an end of the range"))
        lost = [
            f"Of {size:,} samples of the result {number:,} {'is' if number == 1 else 'are'} {kind}, "
            f"which {bits} bit cannot hold: saved as {as_what}. A float32 {keeping} keeps them."
            for number, kind, as_what in kinds
            if number
        ]
        if self.cut > _MOST_CUT * size:
            part = f"{100 * self.cut / size:.0f} %"
            lost.append(f"{part} of the values lie outside 0 (black) to 1 (white) and were cut off there.")
        if self.saved and self.values and not self._is_wide and self.values[0] < self.values[1]:
            (low, high), full = self.values, full_scale_of(target)
            darkest, brightest = (round(part * full) for part in self.saved)
            lost.append(
                f"Values from {low:.4g} to {high:.4g} became {darkest:,} to {brightest:,} of {full:,.0f}: "
                "less than 1 % of the range, which looks like one grey. Range mode rescale spreads them over "
                f"it, and a float32 {keeping} keeps them."
            )
        return tuple(lost)


def _both(one: tuple[float, float] | None, other: tuple[float, float] | None) -> tuple[float, float] | None:
    if one is None or other is None:
        return one or other
    return min(one[0], other[0]), max(one[1], other[1])


@dataclass(slots=True)
class Conversion:
    """What becomes of values in a file, of all bands of a result alike; `loss` is what they lose.

    `source` is the type of the opened picture's samples, `target` that of the file's. `range_mode` is as of
    `finished_picture`; None: the values have the range of their type, and of floats 1 is white. `ends` are
    the smallest and the largest value, for "rescale".
    """

    source: np.dtype
    target: np.dtype
    range_mode: RangeMode | None = None
    ends: tuple[float, float] | None = None
    loss: Loss = field(default_factory=Loss)

    def find_ends(self, bands: Iterable[np.ndarray]) -> None:
        """Look at all values first, where the range mode needs it."""
        if self.range_mode == "rescale" and self.target.kind == "u":
            ranges = [finite_range(values) for values in bands]
            self.ends = min(low for low, _ in ranges), max(high for _, high in ranges)

    def samples(self, values: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return the samples of colours, in `out` where that is passed; what they lose is counted."""
        if self.range_mode is None or values.dtype != np.float32 or self.target == np.float32:
            # Values of whole numbers are final.
            saved = change_depth(values, self.target)
            if out is not None:
                out[...] = saved
        else:
            mode, white = self.range_mode, full_scale_of(self.source)
            saved = to_depth(values, self.target, range_mode=mode, white=white, ends=self.ends, out=out)
        self.loss.add(values, saved, self.source, counts_cut=self.range_mode is None)
        return saved

    def alpha(self, values: np.ndarray, *, is_filtered: bool) -> np.ndarray:
        """Return the samples of alpha; of one that was filtered in float32 they are clipped."""
        if not is_filtered or values.dtype != np.float32:
            return change_depth(values, self.target, is_alpha=True)
        white = full_scale_of(self.source)
        if self.target != np.float32:
            return to_depth(values, self.target, white=white)
        # fmax and fmin prefer the number to NaN, as everywhere where results are clipped.
        clipped: np.ndarray = np.fmin(np.fmax(values * np.float32(1.0 / white), np.float32(0)), np.float32(1))
        return clipped

    def picture(self, picture: Picture, values: np.ndarray, *, with_alpha: bool = False) -> Picture:
        """Return values as a picture to save, as `finished_picture`."""
        colours, alpha = values, picture.alpha
        is_filtered = with_alpha and alpha is not None
        if is_filtered:
            colours = values[..., 0] if picture.channels == 1 else values[..., :-1]
            alpha = values[..., -1]
        pixels = self.samples(colours)
        alpha = None if alpha is None else self.alpha(alpha, is_filtered=is_filtered)
        return Picture(pixels, alpha, picture.icc_profile, metadata=picture.metadata)

    def sentences(self, size: int) -> tuple[str, ...]:
        """Return a sentence for each kind of loss among `size` values."""
        return self.loss.sentences(size, self.target)
