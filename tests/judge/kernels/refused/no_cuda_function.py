"""A plain function of NumPy: no kernel in this file."""
# expect: refused

import numpy as np


def conv(image, mask, out):
    padded = np.pad(image, mask.shape[0] // 2)
    for i in range(mask.shape[0]):
        for j in range(mask.shape[1]):
            out += mask[i, j] * padded[i : i + out.shape[0], j : j + out.shape[1]]
