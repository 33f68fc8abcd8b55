"""Calls on a GPU, beside CuPy and torch."""

import ctypes
from collections.abc import Callable
from typing import Any

import cupy
import cupyx.scipy.ndimage
import numpy as np
import torch

import engine
from bench.peers.libraries.npp import BORDER_REPLICATE, Point, Size, npp_filter_border

Call = Callable[[], object]


def host_calls(image: np.ndarray, weights: np.ndarray) -> dict[str, Call]:
    """Return the calls of the GPU with arrays of the host; every library's results are float32."""
    volume = weights if image.ndim == 2 else weights[:, :, np.newaxis]
    kernel = torch.from_numpy(weights)[None, None].cuda()

    def by_cupy() -> object:
        on_device = cupy.asarray(image).astype(cupy.float32)
        return cupyx.scipy.ndimage.correlate(on_device, cupy.asarray(volume), mode="constant").get()

    def by_torch() -> object:
        return torch_filtered(torch.from_numpy(image).cuda(), kernel).cpu().numpy()

    return {
        "ours": lambda: engine.correlate(image, weights, device="cuda:0"),
        "auto": lambda: engine.correlate(image, weights),
        "our cpu": lambda: engine.correlate(image, weights, device="cpu"),
        "cupy": by_cupy,
        "torch": by_torch,
    }


def array_calls(image: np.ndarray, weights: np.ndarray) -> dict[str, Call]:
    """Return the calls of the GPU with arrays that are there; each waits for its result."""
    volume = cupy.asarray(weights if image.ndim == 2 else weights[:, :, np.newaxis])
    of_cupy, of_torch = cupy.asarray(image), torch.from_numpy(image).cuda()
    as_floats = of_cupy.astype(cupy.float32)
    kernel = torch.from_numpy(weights)[None, None].cuda()

    def waited(call: Call, wait: Callable[[], None]) -> Call:
        def whole() -> None:
            call()
            wait()

        return whole

    wait_cupy, wait_torch = cupy.cuda.get_current_stream().synchronize, torch.cuda.synchronize
    planned = engine.plan(of_cupy, weights)
    calls = {
        "ours": waited(lambda: engine.correlate(of_cupy, weights), wait_cupy),
        "our plan": waited(lambda: planned(of_cupy), wait_cupy),
        "ours, torch": waited(lambda: engine.correlate(of_torch, weights), wait_torch),
        "cupy": waited(lambda: cupyx.scipy.ndimage.correlate(as_floats, volume, mode="constant"), wait_cupy),
        "torch": waited(lambda: torch_filtered(of_torch, kernel), wait_torch),
    }
    if image.dtype == np.float32:
        calls["npp"] = waited(npp_call(of_cupy, volume), wait_cupy)
    return calls


def npp_call(image: cupy.ndarray, weights: cupy.ndarray) -> Call:
    """Return a call of NPP's `nppiFilterBorder`, which replicates the border: it has no other."""
    function, context = npp_filter_border(image.shape[2] if image.ndim == 3 else 1)
    turned = cupy.ascontiguousarray(weights[::-1, ::-1])
    rows, columns = image.shape[:2]
    side = weights.shape[0]
    step = ctypes.c_int(image.strides[0])
    whole, anchor = Size(columns, rows), Point(side // 2, side // 2)

    def call() -> cupy.ndarray:
        out = cupy.empty_like(image)
        status = function(
            ctypes.c_void_p(image.data.ptr), step, whole, Point(0, 0), ctypes.c_void_p(out.data.ptr), step,
            whole, ctypes.c_void_p(turned.data.ptr), Size(side, side), anchor, ctypes.c_int(BORDER_REPLICATE),
            context,
        )  # fmt: skip
        assert status == 0, status
        return out

    return call


def torch_filtered(image: Any, kernel: Any) -> Any:
    """Return a tensor (H, W) or (H, W, C) filtered with zeros beyond its edges, float32."""
    planes = image.float()[None, None] if image.ndim == 2 else image.float().permute(2, 0, 1)[:, None]
    found = torch.nn.functional.conv2d(planes, kernel, padding=kernel.shape[-1] // 2)
    return found[0, 0] if image.ndim == 2 else found[:, 0].permute(1, 2, 0).contiguous()
