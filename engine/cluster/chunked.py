"""The Python calls for Dask's arrays, `engine.filter_dask` and `engine.operate_dask`, which load Dask."""

import math
from importlib import import_module
from typing import Any

import numpy as np

from engine.api.arguments import BlockLike, as_block, as_device
from engine.api.request import MaskLike, request_of
from engine.cluster.chunk_tasks import (
    ChunkWork,
    FilterWork,
    OperationWork,
    compute_chunk,
    refuse_in_chunks,
    settle,
)
from engine.cluster.cuts import Cut, cut
from engine.cluster.extra import loaded
from engine.cluster.sealed import sealed
from engine.device_info import AUTO, SIMULATOR
from engine.errors import BadValue
from engine.geometry.border import Border
from engine.geometry.layout import Layout
from engine.work.filtering.resolve import describe_problem, result_dtype_for
from engine.work.filtering.variants import variant as variant_named
from engine.work.operations.request import OperationRequest
from engine.work.operations.table import OPERATIONS, operation_named
from engine.work.operations.variants import operation_variant
from engine.work.pictures import sample_type


def filter_dask(
    array: Any,
    mask: MaskLike,
    *,
    border: str | Border = "zero",
    cval: float = 0.0,
    anchor: tuple[int, int] | None = None,
    variant: str = AUTO,
    block: BlockLike | None = None,
    device: str | None = None,
    flip: bool = False,
    layout: str | Layout = Layout.PITCHED,
    result: str = "float32",
) -> Any:
    """Filter a Dask array chunk by chunk, lazily, with the bits that `correlate` gives for the whole.

    A worker uses one core for each of its threads, or its GPU.

    Parameters
    ----------
    array : dask.array.Array of shape (H, W) or (H, W, C)
        In chunks of any size. Types of samples as for `correlate`. Chunks with fewer rows or columns than the
        mask are joined with those after them, and chunks of some channels to chunks of all.
    mask, border, cval, anchor, block, layout, result
        As for `correlate`.
    variant : str
        "auto": the fastest for the largest chunk, chosen on the worker that begins and used for all chunks. A
        variant whose results depend on more than the cells under the mask (running sums, transforms) takes an
        array of one chunk only.
    device : str, optional
        "cpu", "cuda:0", ... of each worker, where cuda:0 is the first that its CUDA_VISIBLE_DEVICES names.
        None or "auto": the GPU if the worker that begins has one, and then all need one.
    flip : bool
        Convolution instead of correlation.

    Returns
    -------
    dask.array.Array of the array's shape, float32 or of the array's type

    Raises
    ------
    EngineError
        For what can be known without the samples and without the workers; the rest is raised by `compute`.

    Examples
    --------
    >>> import dask.array, engine, numpy
    >>> picture = dask.array.from_array(numpy.eye(4, dtype=numpy.float32), chunks=2)
    >>> engine.filter_dask(picture, [[1, 2, 3]], device="cpu")[0].compute()
    array([2., 1., 0., 0.], dtype=float32)
    """
    asked = request_of(mask, border, cval, anchor, variant, block, device, flip, layout, result)
    _refuse_simulator(asked.device)
    samples = _sample_type(array)
    like = np.broadcast_to(np.zeros((), samples), (*array.shape, 1)[:3])
    given = np.broadcast_to(np.zeros((), array.dtype), array.shape)
    result_dtype = result_dtype_for(result, given, like)
    describe_problem(like, asked.mask, asked.border, asked.cval, result_dtype)
    (height, width), (above, left) = asked.mask.shape, asked.mask.anchor
    rows = cut(array.chunks[0], (above, height - 1 - above), asked.border)
    columns = cut(array.chunks[1], (left, width - 1 - left), asked.border)
    if variant != AUTO:
        chosen = variant_named(variant)
        if len(rows.chunks) * len(columns.chunks) > 1:
            refuse_in_chunks(chosen)
    return _mapped(array, rows, columns, FilterWork(asked), result_dtype)


def operate_dask(
    array: Any,
    operation: str,
    *,
    variant: str = AUTO,
    block: BlockLike | None = None,
    device: str | None = None,
    layout: str | Layout = Layout.PITCHED,
    **parameters: Any,
) -> Any:
    """Do an operation other than filtering with a Dask array, chunk by chunk, lazily.

    Parameters
    ----------
    array, variant, device
        As for `filter_dask`.
    operation : str
        One of which a sample of the result depends on a window: "negative", "desaturate", "hue-shift" or
        "median".
    block, layout
        As for `correlate`.
    parameters
        Parameters of the operation, by name, such as size=5 for "median".

    Returns
    -------
    dask.array.Array of the array's shape, and of its type where that is uint8, uint16 or float32
        What `operate` gives as `picture` for the whole.

    Raises
    ------
    EngineError
        As `filter_dask` raises.

    Examples
    --------
    >>> import dask.array, engine, numpy
    >>> picture = dask.array.from_array(numpy.eye(4, dtype=numpy.uint8), chunks=2)
    >>> int(engine.operate_dask(picture, "median", device="cpu").max().compute())
    1
    """
    done = operation_named(operation)
    settings = done.read(parameters)
    if done.window is None:
        able = [key for key, one in OPERATIONS.items() if one.window is not None]
        raise BadValue(
            f"{operation} of an array in chunks",
            "its result depends on more of the picture than a window around each sample",
            f"Use engine.operate with array.compute(), or one of: {', '.join(able)}.",
        )
    asked = OperationRequest(
        operation=operation,
        settings=dict(settings),
        variant=variant,
        block=as_block(block),
        device=as_device(device),
        layout=Layout.named(layout),
    )
    _refuse_simulator(asked.device)
    if variant != AUTO:
        operation_variant(variant, operation)
    pixel = np.zeros((1, 1, *array.shape[2:], 1)[:3], _sample_type(array))
    problem = done.problem(pixel, settings)
    reach = done.window(settings)
    rows, columns = (cut(along, (reach, reach), Border.REPLICATE) for along in array.chunks[:2])
    return _mapped(array, rows, columns, OperationWork(asked), problem.result_dtype)


def _refuse_simulator(device: str) -> None:
    if device == SIMULATOR:
        raise BadValue(
            "The simulator in tasks of Dask",
            "it checks kernels on small pictures and is not made for speed",
            "Call engine.correlate or engine.operate with a small picture.",
        )


def _sample_type(array: Any) -> np.dtype:
    """Return the type that a Dask array's samples are filtered in; refuse what is no array of a picture."""
    if not isinstance(array, loaded("dask.array", "An array in chunks").Array):
        raise BadValue(
            f"An array of type {type(array).__name__}",
            "it is none of Dask",
            "Pass dask.array.from_array(picture, chunks=2048), or call engine.correlate.",
        )
    if any(map(math.isnan, array.shape)):
        raise BadValue(
            "An array with chunks of unknown size",
            "the halos depend on where each chunk lies",
            "Call array.compute_chunk_sizes() first.",
        )
    return sample_type(array.shape, array.dtype)


def _mapped(array: Any, rows: Cut, columns: Cut, work: ChunkWork, result_dtype: str) -> Any:
    """Return the array of what a work makes of each chunk."""
    dask, arrays = import_module("dask"), import_module("dask.array")
    cuts, dtype = (rows, columns), np.dtype(result_dtype)
    # All channels of a pixel are filtered together.
    joined = array.rechunk((rows.chunks, columns.chunks, (array.shape[-1],))[: array.ndim])
    with_halos = joined
    if any(along.before or along.after for along in cuts):
        depth = {axis: along.depth for axis, along in enumerate(cuts)}
        boundary = {axis: "periodic" if along.wraps else "none" for axis, along in enumerate(cuts)}
        with_halos = arrays.overlap.overlap(joined, depth, boundary, allow_rechunk=False)
    largest = tuple(map(max, with_halos.chunks))
    settled = dask.delayed(sealed(settle, work, rows, columns, largest, array.dtype, dtype), pure=True)()
    return arrays.map_blocks(
        sealed(compute_chunk),
        with_halos,
        settled,
        dtype=dtype,
        chunks=joined.chunks,
        meta=array._meta.astype(dtype),
    )
