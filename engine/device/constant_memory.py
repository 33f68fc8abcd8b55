"""Kernels with an array in constant memory that the host fills: each copy of the machine code has an array of its own.

The array is a variable of the compiled module, so two masks of one kernel would share it, and a graph that was captured
with one would replay with the other. So each prepared kernel is the compiled code loaded once more (no compiling; 0.6 ms
on an H200's host).

Numba never unloads code (0.1 MB of a device's memory each time), and a person edits masks all day. So a copy that nobody
has any longer is written anew for the next mask. The kernel may still be running with the old one then: a prepared
variant is dropped when its last launch was enqueued, not when it is done. Before the new values are written the host
waits for all that is under way in the device's context. An event after the last launch would wait for less, but each
launch would have to record one, on whichever stream it went to, and none can be recorded for a graph that is replayed;
the wait costs nothing where nothing is under way, as between two edits of a mask. While another thread captures a graph,
nobody may wait so, nor write on the default stream: both are done when it has (`whole_device.py`).
"""

import weakref
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any

import numpy as np

from engine.device.capture_lock import WHOLE_DEVICE
from engine.device.kernel_cache import KeptKernel, rebuilt
from engine.device.numba_cuda import SIMULATED, cuda


def jit_with_constant(name: str, count: int) -> Callable[[Callable[..., None]], Any]:
    """Return the decorator of a kernel that reads `count` float32 in constant memory under a name.

    The kernel only declares the array; a piece of PTX beside it defines it. Were it defined in the kernel's own module,
    optimisation at link time would take an array that no kernel writes for one that nobody writes.
    """
    if SIMULATED:
        return cuda.jit
    lines = (
        ".version 6.3",
        ".target sm_75",
        ".address_size 64",
        f".visible .const .align 16 .b8 {name}[{4 * count}];",
        "",
    )
    return cuda.jit(link=[cuda.PTXSource("\n".join(lines).encode())])


# Bands of a picture, and masks that a person goes back to, ask for the same again.
MOST_LOADED = 16
_loaded: OrderedDict[tuple[int, Any, bytes, int], tuple[Any, "LoadedKernel"]] = OrderedDict()
# Of each kernel, by signature and device: the copies that nobody has.
_free: "weakref.WeakKeyDictionary[Any, dict[tuple[Any, int], deque[Any]]]" = weakref.WeakKeyDictionary()


class LoadedKernel:
    """A copy of a kernel, lent: when nobody has this any longer, the copy is written anew for other values.

    It launches as Numba's dispatcher does. The dispatcher itself is not handed out, because Numba remembers the last
    launches, and the dispatchers with them (numba-cuda 0.30.4, `CUDADispatcher.configure`).

    Parameters
    ----------
    copy : Numba dispatcher
    """

    def __init__(self, copy: Any) -> None:
        self._copy = copy

    def __getitem__(self, configuration: Any) -> Any:
        return self._copy[configuration]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._copy, name)


def with_constant(dispatcher: Any, signature: tuple[Any, ...], name: str, values: np.ndarray) -> LoadedKernel:
    """Return a kernel whose constant array holds these values.

    Parameters
    ----------
    dispatcher : Numba dispatcher
    signature : tuple
        Numba types of the arguments.
    name : str
        Of the array in the compiled module.
    values : ndarray, float32
        As many as the array has, in C order.

    Returns
    -------
    LoadedKernel
        For arguments of that signature; whoever launches it, or replays a graph of its launches, keeps it as long. The
        same one for the same values, if it was asked for lately.
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
    """Return a copy that nobody else has, with these values."""
    free = _free.setdefault(dispatcher, {}).setdefault((signature, device), deque())
    try:
        copy, is_new = free.pop(), False
    except IndexError:
        copy, is_new = _new_copy(dispatcher, signature), True
    with WHOLE_DEVICE:
        if not is_new:
            # Its last launches may still be under way: the module's docstring.
            cuda.synchronize()
        _write(copy, signature, name, contents)
    lent = LoadedKernel(copy)
    # Whoever is the last to have it may be dropped at any line of any thread: a deque takes that without a lock.
    weakref.finalize(lent, free.append, copy).atexit = False
    return lent


def _new_copy(dispatcher: Any, signature: tuple[Any, ...]) -> Any:
    """Return a dispatcher of the same kernel with code of its own; its constant array holds zeros."""
    compiled = dispatcher.compile(signature)
    cubin = bytes(compiled.library.get_cubin().code)
    kept = KeptKernel(cubin, compiled.entry_name, bool(compiled.cooperative))
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
    # From memory that is not page-locked it returns before the values have arrived, and not every stream waits for them.
    cuda.synchronize()
