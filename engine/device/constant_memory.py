"""Kernels with an array in constant memory that the host fills: each copy of the code has its own array.

The array is a variable of the compiled module: two masks of one kernel would share it, and a graph captured
with one would replay with the other. So each prepared kernel is the compiled code loaded once more (no
compiling; 0.6 ms on an H200's host). Loaded code takes 0.1 MB of device memory, and masks are edited all day,
so a copy that is no longer used is written anew for the next mask. Its last launches may still be running: a
prepared variant is dropped when they are enqueued. So the host first waits for all work in the device's
context (an event would have to be recorded by each launch, and none can be for a replayed graph; between two
edits of a mask the wait costs nothing). `CAPTURE_LOCK` guards both the wait and the write.
"""

import weakref
from collections import defaultdict, deque
from collections.abc import Callable
from copy import copy
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.device.capture_lock import CAPTURE_LOCK
from engine.device.launches import Kernel, Signature
from engine.device.numba_cuda import cuda

if TYPE_CHECKING:
    from engine.device.loaded_kernel import LoadedKernel


def jit_with_constant(name: str, count: int, **limits: object) -> Callable[[Callable[..., None]], object]:
    """Return the decorator of a kernel that reads `count` float32 in constant memory under a name.

    `limits` are `max_registers` or `launch_bounds` of `cuda.jit`.

    The kernel only declares the array; a piece of PTX beside it defines it. If the kernel's own module
    defined it, optimisation at link time would treat an array that no kernel writes as constant.
    """
    array = f".visible .const .align 16 .b8 {name}[{4 * count}];"
    ptx = f".version 6.3\n.target sm_75\n.address_size 64\n{array}\n"
    return cuda.jit(link=[cuda.PTXSource(ptx.encode())], **limits)


# Bands of a picture, and masks that are chosen again, need the same values.
MOST_LOADED = 16
# Unused copies of each kernel, by signature and device.
_free: "weakref.WeakKeyDictionary[Kernel, dict[Any, deque[LoadedKernel]]]" = weakref.WeakKeyDictionary()


def with_constant(kernel: Kernel, signature: Signature, name: str, values: np.ndarray) -> "LoadedKernel":
    """Return a kernel whose constant array holds these values.

    The array is called `name` in the compiled module, and has as many float32 as `values`, in C order. Keep
    the kernel as long as it is launched, or a graph of its launches is replayed. The same values soon
    afterwards give the same object.
    """
    contents = np.ascontiguousarray(values, np.float32).tobytes()
    # Another device has an array of its own.
    return _with_constant(kernel, signature, cuda.get_current_device().id, name, contents)


@lru_cache(maxsize=MOST_LOADED)
def _with_constant(
    kernel: Kernel, signature: Signature, device: int, name: str, contents: bytes
) -> "LoadedKernel":
    """Return a copy that is used nowhere else, with these values."""
    free = _free.setdefault(kernel, defaultdict(deque))[signature, device]
    try:
        loaded, is_new = free.pop(), False
    except IndexError:
        loaded, is_new = _new_copy(kernel, signature), True
    with CAPTURE_LOCK:
        if not is_new:
            # Its last launches may still be under way.
            cuda.synchronize()
        loaded.write(name, np.frombuffer(contents, np.float32))
    # When this object is dropped, the loaded code is written anew for other values.
    lent = copy(loaded)
    # Its last user may be dropped at any line of any thread: a deque takes that without a lock.
    weakref.finalize(lent, free.append, loaded).atexit = False
    return lent


def _new_copy(kernel: Kernel, signature: Signature) -> "LoadedKernel":
    """Return the compiled code of a kernel, loaded once more; its constant array holds zeros."""
    # It needs cuda.core, which the counting of a kernel does without.
    from engine.device.loaded_kernel import LoadedKernel, loaded_kernel

    return LoadedKernel(loaded_kernel(kernel, signature).code, signature)
