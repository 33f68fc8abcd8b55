"""From the values of a filtered picture back to a picture of the wanted depth, ready to be saved."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.geometry.range_modes import RangeMode
from engine.image.colour import full_scale_of
from engine.image.convert import change_alpha_depth, change_depth, finite_range, to_depth
from engine.image.formats import formats_for, titles
from engine.image.picture import Picture
from engine.image.scratch import bands_of

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
    pixels, alpha = _colours_and_alpha(picture, values, with_alpha)
    if alpha is not None and not with_alpha:
        alpha = change_alpha_depth(alpha, target)
    elif alpha is not None and alpha.dtype == np.float32:
        alpha = filtered_alpha(alpha, picture.dtype, target)
    if pixels.dtype != target:
        pixels = to_depth(pixels, target, range_mode=range_mode, white=full_scale_of(picture.dtype))
    return Picture(pixels, alpha, picture.icc_profile, metadata=picture.metadata)


def _colours_and_alpha(
    picture: Picture, values: np.ndarray, with_alpha: bool
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the colours of a result, and its alpha: filtered with them, or else the picture's own."""
    if picture.alpha is None or not with_alpha:
        return values, picture.alpha
    return values[..., 0] if picture.channels == 1 else values[..., :-1], values[..., -1]


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
        found = ((self.nan, "NaN", "0"), (self.infinite, "infinite", "an end of the range"))
        lost = [
            f"Of {size:,} samples of the result {number:,} {'is' if number == 1 else 'are'} {kind}, "
            f"which {bits} bit cannot hold: saved as {as_what}. A float32 {keeping} keeps them."
            for number, kind, as_what in found
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


def loss_sentences(values: np.ndarray, saved: np.ndarray, source: np.dtype) -> tuple[str, ...]:
    """Return what a whole result loses, as of `Loss`."""
    loss = Loss()
    loss.add(values, saved, source)
    return loss.sentences(values.size, saved.dtype)


def in_depth(pixels: np.ndarray, target: np.dtype) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return pixels in another depth, as `change_depth`, and a sentence for each thing that they lose."""
    saved, loss = change_depth(pixels, target), Loss()
    loss.add(pixels, saved, pixels.dtype, counts_cut=True)
    return saved, loss.sentences(pixels.size, saved.dtype)


def filtered_alpha(values: NDArray[np.float32], source: np.dtype, target: np.dtype) -> np.ndarray:
    """Return alpha that was filtered, in float32, in the type of the result: clipped."""
    if target == np.float32:
        scale = 1.0 / full_scale_of(source)
        # fmax and fmin prefer the number to NaN, as everywhere where results are clipped.
        clipped: np.ndarray = np.fmin(np.fmax(values * np.float32(scale), np.float32(0)), np.float32(1))
        return clipped
    return to_depth(values, target, white=full_scale_of(source))
