"""The report's worked product: two filters of 2 x 2 on three maps of 3 x 3, as a product of matrices.

W' has a row for each filter, its three parts one after another; a column of X has the 12 cells under one
output; Y has a row for each filter's map. The report prints W', X and Y. Of X only the first column is
printed right: the second has other numbers, the third lacks a 0 and repeats a 3, the fourth has 9 of its 12
numbers. With the maps of the book from which the figure comes (Kirk and Hwu, Programming Massively Parallel
Processors, unrolling of the input features) X gives the printed Y.

Source: ECE408 final report "CUCUDA", Optimizations, 4, figure "Convolution Filters W', Input Features
X_unrolled, Output Features Y".
"""

import numpy as np

MAPS = np.array(
    [
        [[1, 2, 0], [1, 1, 3], [0, 2, 2]],
        [[0, 2, 1], [0, 3, 2], [1, 1, 0]],
        [[1, 2, 1], [0, 1, 3], [3, 3, 2]],
    ],
    np.float32,
)
"""The three input maps, 3 x 3 each."""

W = np.array([[1, 1, 2, 2, 1, 1, 1, 1, 0, 1, 1, 0], [1, 0, 0, 1, 2, 1, 2, 1, 1, 2, 2, 0]], np.float32)
"""The filters, a row for each map of the result: three parts of 2 x 2."""

Y = np.array([[14, 20, 15, 24], [12, 24, 17, 26]], np.float32)
"""The result as printed: a row for each map, its four outputs row by row."""

PRINTED_X = (
    (1, 2, 1, 1, 0, 2, 0, 3, 1, 2, 0, 1),
    (2, 0, 1, 1, 1, 1, 3, 2, 1, 3, 1, 3),
    (1, 1, 0, 2, 3, 1, 1, 0, 1, 3, 3, 3),
    (1, 3, 2, 2, 1, 0, 3, 3, 2),
)
"""The columns of X as the report prints them."""


def unrolled() -> np.ndarray:
    """Return X, (12, 4): a column for each output, the cells under the filters one after another.

    Examples
    --------
    >>> (W @ unrolled() == Y).all()
    np.True_
    """
    columns = [MAPS[:, row : row + 2, column : column + 2].ravel() for row in (0, 1) for column in (0, 1)]
    return np.stack(columns, axis=1)
