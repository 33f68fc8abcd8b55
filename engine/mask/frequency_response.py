"""What a mask does to each frequency: the magnitude of its discrete-space Fourier transform.

    H(u, v) = sum over m, n of weights[m, n] * exp(-2 pi i (u m + v n)),   -1/2 <= u, v < 1/2 cycles per pixel

A stripe pattern of that frequency leaves a linear filter |H| times as strong (A. Oppenheim and R. Schafer,
"Discrete-Time Signal Processing", the chapter on frequency responses). At 0 it is the sum of the weights.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine.mask.mask import MAX_LINE, Mask

POINTS = 128
"""Frequencies along each side: more than the longest mask has cells, so that none is left out."""
assert POINTS > MAX_LINE


class FrequencyResponse(NamedTuple):
    """Magnitudes by frequency; 0 is at the middle, `[POINTS // 2, POINTS // 2]`, and rows go down.

    `gain_at_zero` has the sign of the sum; `strongest` is the pair of frequencies (across, down) with the
    largest magnitude, of equal ones the lowest.
    """

    magnitude: npt.NDArray[np.float64]
    gain_at_zero: float
    largest: float
    strongest: tuple[float, float]


def frequency_response(mask: Mask) -> FrequencyResponse:
    """Return the frequency response of a mask at `POINTS` x `POINTS` frequencies."""
    spectrum = np.fft.fftshift(np.abs(np.fft.fft2(mask.weights, (POINTS, POINTS))))
    largest = float(spectrum.max())
    frequencies = np.arange(-POINTS // 2, POINTS // 2) / POINTS
    # Magnitudes of opposite frequencies are equal; rounding may not choose between them.
    near = np.argwhere(spectrum >= largest * (1 - 1e-9))
    row, column = min(near.tolist(), key=lambda at: (float(np.hypot(*frequencies[at])), at[0], -at[1]))
    strongest = abs(float(frequencies[column])), abs(float(frequencies[row]))
    return FrequencyResponse(spectrum, mask.total, largest, strongest)
