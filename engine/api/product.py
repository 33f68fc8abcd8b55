"""The Python call: `engine.matmul(a, b)`."""

from typing import Any, SupportsIndex, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike

from engine.api.calls import GpuArray, OnGpu, as_device, check_choices, device_calls
from engine.device.device_arrays import Given, library_of
from engine.device.devices import backend, device_named
from engine.device.launches import DeviceKind, DeviceView
from engine.device_info import AUTO
from engine.errors import BadValue
from engine.geometry.block import Block
from engine.run.task import Job, compute, device_for
from engine.tasks.product.problem import as_tile, matmul_variant
from engine.tasks.product.task import PRODUCT, as_matrix, product_job, product_of, refuse_shape


class _Options(TypedDict, total=False):
    variant: str
    tile: SupportsIndex | None
    device: str | None


@overload
def matmul(a: GpuArray, b: GpuArray, **options: Unpack[_Options]) -> GpuArray: ...
@overload
def matmul(a: ArrayLike, b: ArrayLike, **options: Unpack[_Options]) -> np.ndarray: ...
def matmul(
    a: ArrayLike | OnGpu,
    b: ArrayLike | OnGpu,
    *,
    variant: str = AUTO,
    tile: SupportsIndex | None = None,
    device: str | None = None,
) -> Any:
    """Multiply two matrices in float32.

    Parameters
    ----------
    a : array of shape (rows, inner)
    b : array of shape (inner, columns)
        Real numbers of any type; they become float32. Two float32 arrays in one GPU's memory (of CuPy, torch,
        Numba, or with `__cuda_array_interface__` or DLPack) are multiplied where they lie, on the current
        stream of A's library.
    variant : str
        "matmul-naive", "matmul-tiled", "numpy", or "auto": tiled on a CUDA device, else NumPy. For arrays in
        a GPU's memory not "numpy".
    tile : int, optional
        Side of the block of threads, 2 to 32. None: the variant's default, 16.
    device : str, optional
        "cpu", "cuda:0", ..., "simulator"; None or "auto": a CUDA device where one works.

    Returns
    -------
    array of shape (rows, columns), float32, of A's kind
        In a GPU's memory it is there when the stream is: nothing waits for it.

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
    side = None if tile is None else as_tile(tile)
    if library_of(a) is not None or library_of(b) is not None:
        return _on_device(a, b, variant, side, device)
    left, right = as_matrix("A", a), as_matrix("B", b)
    wanted = as_device(device)
    if variant == AUTO:
        chosen = matmul_variant("matmul-tiled" if device_named(wanted).kind == "cuda" else "numpy")
    else:
        chosen = matmul_variant(variant)
        check_choices(variant, wanted)
    machine = device_for(chosen, wanted)
    job = product_job(chosen, chosen.default_block.x if side is None else side, left, right)
    return compute(job, backend(machine.key)).reshape(len(left), right.shape[1])


def _on_device(a: object, b: object, variant: str, tile: int | None, device: str | None) -> object:
    """Enqueue a product of two matrices in a GPU's memory; return the result, an array of A's library."""
    calls = device_calls()
    left = _gpu_matrix("A", a)
    right = _gpu_matrix("B", b, left.stream)
    own = calls.device_for(left, device)
    if right.found.device != left.found.device:
        what = f"matrix A on {own} and B on cuda:{right.found.device}"
        raise BadValue(what, "they are multiplied where they lie", "Copy one to the other's GPU.")
    chosen = matmul_variant("matmul-tiled" if variant == AUTO else variant)
    if chosen.device is DeviceKind.CPU:
        what, why = f"variant '{chosen.key}' with matrices in a GPU's memory", "it multiplies on the CPU"
        raise BadValue(what, why, "Copy them to the host first, or choose matmul-tiled.")
    calls.refuse_capture(left, "Multiplying")
    machine = device_for(chosen, own)
    product = product_of(left.found.shape, right.found.shape)
    block = chosen.default_block if tile is None else Block(tile, tile)
    # No operands: only a proof reads them.
    job = Job(PRODUCT, chosen, block, product, None)
    job.refuse(machine)
    with backend(own).selected():
        prepared = job.prepare()
    shape = product.rows, product.columns
    out = left.library.empty(shape, np.dtype(np.float32), left)
    target = DeviceView(left.library.address(out), shape, np.dtype(np.float32))
    (first, _held), (second, _held_too) = map(_view, (left, right))
    calls.enqueue(calls.context_of(left.found.device), prepared, (first, second), target, left, right)
    return out


def _gpu_matrix(name: str, matrix: object, stream: int | None = None) -> Given:
    """Return a matrix in a GPU's memory; a `BadValue` says why it is none."""
    library = library_of(matrix)
    if library is None:
        why = "the other one is in a GPU's, and nothing is copied"
        raise BadValue(f"matrix {name} in the host's memory", why, "Copy one of them to where the other is.")
    operand: Given = device_calls().given(library, matrix, stream)
    refuse_shape(name, operand.found.shape)
    if operand.found.dtype != np.float32:
        what = f"matrix {name} of type {operand.found.dtype} in a GPU's memory"
        why = "there float32 is multiplied as it is, and nothing is converted"
        raise BadValue(what, why, "Convert it to float32 first.")
    return operand


def _view(matrix: Given) -> tuple[DeviceView, object]:
    """Return a matrix as kernels take it, and what holds its memory."""
    array = matrix.found
    if array.strides is None and array.address % array.dtype.itemsize == 0:
        return DeviceView(array.address, array.shape, array.dtype), matrix.array
    copied: tuple[DeviceView, object] = device_calls().tight_copy(matrix, array.shape)
    return copied
