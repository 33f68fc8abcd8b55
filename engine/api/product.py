"""The Python call: `engine.matmul(a, b)`."""

from typing import SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from engine.api.arguments import as_device
from engine.api.calls import check_choices, computed
from engine.device.devices import device_named
from engine.device_info import AUTO
from engine.run.device_choice import device_for
from engine.tasks.product.job import product_job
from engine.tasks.product.operands import as_matrix
from engine.tasks.product.tile import as_tile
from engine.tasks.product.variants import matmul_variant


def matmul(
    a: ArrayLike,
    b: ArrayLike,
    *,
    variant: str = AUTO,
    tile: SupportsIndex | None = None,
    device: str | None = None,
) -> np.ndarray:
    """Multiply two matrices in float32.

    Parameters
    ----------
    a : array of shape (rows, inner)
    b : array of shape (inner, columns)
        Real numbers of any type; they become float32.
    variant : str
        "matmul-naive", "matmul-tiled", "numpy", or "auto": tiled on a CUDA device, else NumPy.
    tile : int, optional
        Side of the block of threads, 2 to 32. None: the variant's default, 16.
    device : str, optional
        "cpu", "cuda:0", ..., "simulator"; None or "auto": a CUDA device where one works.

    Returns
    -------
    ndarray of shape (rows, columns), float32

    Raises
    ------
    EngineError
        Says what, why and what helps; nothing is ever computed another way instead.

    Examples
    --------
    >>> import engine
    >>> engine.matmul([[1, 2], [3, 4]], [[1], [10]], variant="numpy")
    array([[21.],
           [43.]], dtype=float32)
    """
    left, right = as_matrix("A", a), as_matrix("B", b)
    side = None if tile is None else as_tile(tile)
    wanted = as_device(device)
    if variant == AUTO:
        chosen = matmul_variant("matmul-tiled" if device_named(wanted).kind == "cuda" else "numpy")
    else:
        chosen = matmul_variant(variant)
        check_choices(variant, wanted)
    machine = device_for(chosen, wanted)
    job = product_job(chosen, chosen.default_block.x if side is None else side, left, right)
    return computed(job, machine, (len(left), right.shape[1]))
