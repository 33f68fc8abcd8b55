"""The Python call for Dask's arrays, `engine.filter_dask`, by `dask.array.map_overlap`.

A chunk with the cells around it that its results read is a picture of its own. At the picture's edges it ends
where the picture does, so that a border's rule holds there as for the whole; `wrap` gets the cells of the
other end. One task chooses variants, blocks and device, and all chunks have its choice: their bits do not
depend on where each is computed.
"""

import math
import pickle
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from msgspec.structs import replace

from engine.api.calls import BlockLike, as_device
from engine.api.plan import Plan as PreparedFilter
from engine.api.request import MaskLike, check_named, request_of
from engine.api.verified import ChainLike, as_chain
from engine.dask_task import loaded, sealed
from engine.device.host_memory import reused_result
from engine.device_info import AUTO, SIMULATOR
from engine.errors import BadValue
from engine.geometry.block import Layout, UnsupportedVariant
from engine.geometry.border import Border
from engine.process import launches_on
from engine.results.text_forms import sides_text
from engine.work.chain_files import ready_chains
from engine.work.problem import as_samples, sample_type
from engine.work.resolve import Resolved, resolved_for_parts
from engine.work.steps import Chain, PictureRequest, of_chain

_CUT = "an array in chunks"
_DIRECT = "Make the array one chunk, array.rechunk(-1), or name a direct variant."
_WHOLE = "Make the array one chunk: array.rechunk(-1)."


def filter_dask(
    array: object,
    mask: MaskLike | ChainLike,
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
    """Filter a Dask array chunk by chunk, lazily, with the bits of `correlate`, or of `chain`, for the whole.

    A worker uses one core for each of its threads, or its GPU.

    Parameters
    ----------
    array : dask.array.Array of shape (H, W) or (H, W, C)
        In chunks of any size. Types of samples as for `correlate`. Chunks with fewer rows or columns than a
        result reads are joined with others, and chunks of some channels to chunks of all.
    mask : Mask, array, str, Chain, or list of dict
        A mask as for `correlate`, or the steps of a chain as for `chain`: a `Chain`, a list, or the name of a
        ready one. A chain's steps have borders, variants and blocks of their own, and its result is float32;
        of one operation alone it has the type of the array.
    border, cval, anchor, block, flip, layout, result
        As for `plan`.
    variant : str
        "auto": the fastest for the largest chunk, chosen on the worker that begins and used for all chunks. A
        variant whose results depend on more than the cells under the mask (running sums, transforms) takes an
        array of one chunk only.
    device : str, optional
        "cpu", "cuda:0", ... of each worker, where cuda:0 is the first that its CUDA_VISIBLE_DEVICES names.
        None or "auto": the GPU if the worker that begins has one, and then all need one.

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
    is_steps = (
        isinstance(mask, Sequence) and len(mask) > 0 and all(isinstance(step, Mapping) for step in mask)
    )
    is_name = isinstance(mask, str) and any(chain.key == mask for chain in ready_chains())
    if not (is_steps or is_name or isinstance(mask, Chain)):
        how = border, cval, anchor, variant, block, device, flip, layout, result
        return _mapped(array, request_of(mask, how))  # type: ignore[arg-type]
    own = {"border": border, "cval": cval, "anchor": anchor, "variant": variant, "block": block}
    for name, value in (own | {"flip": flip, "result": result}).items():
        if value != (filter_dask.__kwdefaults__ or {})[name]:
            why = "each step of a chain has its own, and the result is float32"
            raise BadValue(f"{name}={value!r} with a chain", why, "Write it in the steps, or leave it out.")
    chain = as_chain(mask)  # type: ignore[arg-type]
    return _mapped(array, of_chain(chain, device=as_device(device), layout=Layout.named(layout)))


def _mapped(array: Any, request: PictureRequest) -> Any:
    if not isinstance(array, loaded("dask.array", "An array in chunks").Array):
        remedy = "Pass dask.array.from_array(picture, chunks=2048), or call engine.correlate."
        raise BadValue(f"An array of type {type(array).__name__}", "it is none of Dask", remedy)
    if any(map(math.isnan, array.shape)):
        why = "the halos depend on where each chunk lies"
        raise BadValue("An array with chunks of unknown size", why, "Call array.compute_chunk_sizes() first.")
    if request.device == SIMULATOR:
        why = "it checks kernels on small pictures and is not made for speed"
        remedy = "Call engine.correlate or engine.operate with a small picture."
        raise BadValue("The simulator in tasks of Dask", why, remedy)
    named = request.named
    dask, arrays = loaded("dask", ""), loaded("dask.array", "")
    # What is known without the workers: variants, blocks and the device are theirs to choose.
    steps = tuple(replace(step, variant=AUTO, block=None) for step in request.chain.steps)
    unchosen = replace(request, chain=replace(request.chain, steps=steps), device="cpu")
    known = _resolved(unchosen, array.shape, array.dtype).in_parts()
    if request.filter and named is not None:
        # Of its own device, which this machine may not have.
        known.choice = known.choice._replace(variant=named)
    reach, dtype = known.reach, np.dtype(known.problem.result_dtype)
    wraps = reach.border is Border.WRAP
    chunks, halos = [], [(0, 0), (0, 0)]
    for axis, (before, after) in enumerate((reach.rows, reach.columns)):
        # A halo comes from neighbours alone, and those at the edges must have the cells that a rule reflects.
        least, lengths = before + after + 1, tuple(filter(None, array.chunks[axis]))
        is_long = sum(lengths) >= least
        lengths = arrays.overlap.ensure_minimum_chunksize(least, lengths) if is_long else (sum(lengths),)
        chunks.append(lengths)
        if len(lengths) > 1 and before + after:
            # Dask takes a periodic boundary with one depth for both sides.
            halos[axis] = (max(before, after),) * 2 if wraps else (before, after)
    # All channels of a pixel are filtered together.
    joined = array.rechunk((*chunks, (array.shape[-1],))[: array.ndim])
    is_cut = joined.numblocks[:2] != (1, 1)
    if is_cut:
        known.refuse_cut(_CUT, _DIRECT, _WHOLE)
    largest = [max(lengths) for lengths in joined.chunks]
    for axis, halo in enumerate(halos):
        largest[axis] += sum(halo)
    choose = sealed(chosen_for_chunks, request, tuple(largest), array.dtype, dtype.itemsize, is_cut)
    return arrays.map_overlap(
        sealed(compute_chunk),
        joined,
        depth={axis: halo[0] if wraps else halo for axis, halo in enumerate(halos)},
        boundary={axis: "periodic" if wraps and any(halo) else "none" for axis, halo in enumerate(halos)},
        dtype=dtype,
        meta=array._meta.astype(dtype),
        choice=dask.delayed(choose, pure=True)(),
    )


def _resolved(request: PictureRequest, shape: tuple[int, ...], dtype: np.dtype) -> Resolved:
    # Of one sample, repeated: nothing reads it.
    like = np.broadcast_to(np.zeros((), sample_type(shape, dtype)), (*shape, 1)[:3])
    if request.filter:
        return Resolved(request, like, np.broadcast_to(np.zeros((), dtype), shape))
    return resolved_for_parts(request, like)


# On the workers


def chosen_for_chunks(
    request: PictureRequest, shape: tuple[int, ...], dtype: np.dtype, result_bytes: int, is_cut: bool
) -> bytes:
    """Return a request with variants, blocks and device chosen for chunks of up to this shape; or refuse it.

    In bytes: only a worker that computes a chunk opens it. Called on: a worker, once for an array.
    """
    _refuse_memory(shape, math.prod(shape) * (dtype.itemsize + result_bytes))
    with launches_on(1):
        resolved = _resolved(request, shape, dtype)
        resolved = resolved.in_parts() if is_cut else resolved
        if is_cut:
            resolved.refuse_cut(_CUT, _DIRECT, _WHOLE)
        resolved.refuse()
        check_named(resolved)
        return pickle.dumps((resolved.chosen, dtype))


@lru_cache(64)
def _ready(choice: bytes, shape: tuple[int, ...]) -> Callable[[np.ndarray], np.ndarray]:
    """Return what computes chunks of a shape, prepared once."""
    request, dtype = pickle.loads(choice)
    if request.filter:
        return PreparedFilter(request, shape, dtype)
    resolved = _resolved(request, shape, dtype)

    def computed(chunk: np.ndarray) -> np.ndarray:
        samples = as_samples(chunk)
        out = reused_result(samples, samples.shape, np.dtype(resolved.problem.result_dtype))
        return resolved.computed(samples, out).reshape(shape)

    return computed


def compute_chunk(chunk: np.ndarray, choice: bytes, block_id: tuple[int, ...]) -> np.ndarray:
    """Return the result of a chunk, which has its halo, on one core. Called on: a thread of a worker."""
    try:
        with launches_on(1):
            return _ready(choice, chunk.shape)(chunk)
    except UnsupportedVariant as error:
        # Its samples, whose rows and columns the refusal counts within the chunk and its halo.
        row, column = block_id[:2]
        where = f"{error.what} on the chunk ({row}, {column}) with its halo"
        raise UnsupportedVariant(where, error.refusal) from None


def _refuse_memory(shape: tuple[int, ...], needed: int) -> None:
    """Refuse chunks that a worker of `distributed` has no memory for: it would be ended again and again."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return
    try:
        limit = distributed.get_worker().memory_manager.memory_limit
    except ValueError:
        # Not within a task of a worker: Dask's own schedulers set no limit.
        return
    if limit and needed > limit:
        sides = sides_text(shape)
        why = f"one takes {needed / 1e9:.3g} GB with its result, and a worker has {limit / 1e9:.3g} GB"
        raise BadValue(f"chunks of {sides}", why, "Make smaller ones: array.rechunk({0: 1024, 1: 1024}).")
