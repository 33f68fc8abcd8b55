"""Kernels with an array in constant memory that the host fills: each copy of the code has its own array.

The array is a variable of the compiled module: two masks of one kernel would share it, and a graph captured
with one would replay with the other. So each prepared kernel is the compiled code loaded once more (no
compiling; 0.6 ms on an H200's host). Numba never unloads code (0.1 MB of device memory), and masks are edited
all day, so a copy that is no longer used is written anew for the next mask. Its last launches may still be
running: a prepared variant is dropped when they are enqueued. So the host first waits for all work in the
device's context (an event would have to be recorded by each launch, and none can be for a replayed graph;
between two edits of a mask the wait costs nothing). `CAPTURE_LOCK` guards both the wait and the write.
"""

import weakref
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any

import numpy as np

from engine.device.capture_lock import CAPTURE_LOCK
from engine.device.cuda_presence import SIMULATED
from engine.device.kernel_cache import KeptKernel, rebuilt
from engine.device.numba_cuda import cuda


def jit_with_constant(name: str, count: int, **limits: Any) -> Callable[[Callable[..., None]], Any]:
    """Return the decorator of a kernel that reads `count` float32 in constant memory under a name.

    `limits` are `max_registers` or `launch_bounds` of `cuda.jit`.

    The kernel only declares the array; a piece of PTX beside it defines it. If the kernel's own module
    defined it, optimisation at link time would treat an array that no kernel writes as constant.
    """
    if SIMULATED:
        return cuda.jit
    array = f".visible .const .align 16 .b8 {name}[{4 * count}];"
    ptx = f".version 6.3\n.target sm_75\n.address_size 64\n{array}\n"
    return cuda.jit(link=[cuda.PTXSource(ptx.encode())], **limits)


# Bands of a picture, and masks that are chosen again, need the same values.
MOST_LOADED = 16
_loaded: OrderedDict[tuple[int, Any, bytes, int], tuple[Any, "LoadedKernel"]] = OrderedDict()
# Unused copies of each kernel, by signature and device.
_free: "weakref.WeakKeyDictionary[Any, dict[tuple[Any, int], deque[Any]]]" = weakref.WeakKeyDictionary()


class LoadedKernel:
    """A copy of a kernel; when this is dropped, the copy is written anew for other values.

    It launches as Numba's dispatcher does. The dispatcher itself is not handed out, because Numba keeps the
    last launches, and the dispatchers with them (numba-cuda 0.30.4, `CUDADispatcher.configure`).
    """

    def __init__(self, copy: Any) -> None:
        self._copy = copy

    def __getitem__(self, configuration: Any) -> Any:
        return self._copy[configuration]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._copy, name)


def with_constant(dispatcher: Any, signature: tuple[Any, ...], name: str, values: np.ndarray) -> LoadedKernel:
    """Return a kernel whose constant array holds these values.

    The array is called `name` in the compiled module, and has as many float32 as `values`, in C order. The
    kernel is for arguments of that signature (Numba types). Keep it as long as it is launched, or a graph of
    its launches is replayed. The same values soon afterwards give the same object.
    """
    contents = np.ascontiguousarray(values, np.float32)
    device = cuda.get_current_device().id
    # Another device would load the code once more, with zeros.
    key = id(dispatcher), signature, contents.tobytes(), device
    # The dispatcher is kept with its copy, so that its identity is not given to another one.
    found = _loaded.pop(key, None) or (dispatcher, _lent(dispatcher, signature, device, name, contents))
    _loaded[key] = found
    if len(_loaded) > MOST_LOADED:
        _loaded.popitem(last=False)
    return found[1]


def _lent(
    dispatcher: Any, signature: tuple[Any, ...], device: int, name: str, contents: np.ndarray
) -> LoadedKernel:
    """Return a copy that is used nowhere else, with these values."""
    free = _free.setdefault(dispatcher, {}).setdefault((signature, device), deque())
    try:
        copy, is_new = free.pop(), False
    except IndexError:
        copy, is_new = _new_copy(dispatcher, signature), True
    with CAPTURE_LOCK:
        if not is_new:
            # Its last launches may still be under way.
            cuda.synchronize()
        _write(copy, signature, name, contents)
    lent = LoadedKernel(copy)
    # Its last user may be dropped at any line of any thread: a deque takes that without a lock.
    weakref.finalize(lent, free.append, copy).atexit = False
    return lent


def _new_copy(dispatcher: Any, signature: tuple[Any, ...]) -> Any:
    """Return a dispatcher of the same kernel with code of its own; its constant array holds zeros."""
    kept = KeptKernel.of(dispatcher.compile(signature))
    copy = cuda.jit(dispatcher.py_func)
    copy.add_overload(rebuilt(kept, signature, dispatcher.targetoptions), signature)
    # For other arguments it would compile anew, with zeros.
    copy.disable_compile()
    return copy


def _write(copy: Any, signature: tuple[Any, ...], name: str, contents: np.ndarray) -> None:
    """Write the constant array of a copy; the host waits until it is written."""
    from numba.cuda.cudadrv.driver import host_to_device

    memory, size = copy.overloads[signature].library.get_cufunc().module.get_global_symbol(name)
    if contents.nbytes != size:
        raise ValueError(f"{name} has {size} bytes in the compiled kernel, not {contents.nbytes}")
    host_to_device(memory, contents, size)
    # From memory that is not page-locked it returns before the values have arrived, and not every stream
    # waits.
    cuda.synchronize()
