"""From the values of a filtered picture back to a picture of the wanted depth, ready to be saved."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

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
    return Conversion(picture.dtype, target, range_mode).picture(
        picture, values, with_alpha=with_alpha, counted=False
    )


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
            found = [finite_range(values) for values in bands]
            self.ends = min(low for low, _ in found), max(high for _, high in found)

    def samples(
        self, values: np.ndarray, out: np.ndarray | None = None, *, counted: bool = True
    ) -> np.ndarray:
        """Return the samples of colours, in `out` where that is given; what they lose is counted."""
        if self.range_mode is None or values.dtype != np.float32 or self.target == np.float32:
            # Values of whole numbers are final.
            saved = change_depth(values, self.target)
            if out is not None:
                out[...] = saved
        else:
            white = full_scale_of(self.source)
            saved = to_depth(
                values, self.target, range_mode=self.range_mode, white=white, ends=self.ends, out=out
            )
        if counted:
            self.loss.add(values, saved, self.source, counts_cut=self.range_mode is None)
        return saved

    def alpha(self, values: np.ndarray, *, is_filtered: bool) -> np.ndarray:
        """Return the samples of alpha; of one that was filtered in float32 they are clipped."""
        if not is_filtered or values.dtype != np.float32:
            return change_alpha_depth(values, self.target)
        white = full_scale_of(self.source)
        if self.target != np.float32:
            return to_depth(values, self.target, white=white)
        # fmax and fmin prefer the number to NaN, as everywhere where results are clipped.
        clipped: np.ndarray = np.fmin(np.fmax(values * np.float32(1.0 / white), np.float32(0)), np.float32(1))
        return clipped

    def picture(
        self, picture: Picture, values: np.ndarray, *, with_alpha: bool = False, counted: bool = True
    ) -> Picture:
        """Return values as a picture to save, as `finished_picture`."""
        colours, alpha = values, picture.alpha
        is_filtered = with_alpha and alpha is not None
        if is_filtered:
            colours = values[..., 0] if picture.channels == 1 else values[..., :-1]
            alpha = values[..., -1]
        pixels = self.samples(colours, counted=counted)
        alpha = None if alpha is None else self.alpha(alpha, is_filtered=is_filtered)
        return Picture(pixels, alpha, picture.icc_profile, metadata=picture.metadata)

    def sentences(self, size: int) -> tuple[str, ...]:
        """Return a sentence for each kind of loss among `size` values."""
        return self.loss.sentences(size, self.target)
