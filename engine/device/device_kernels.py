"""One dispatcher for each kind of device: what was compiled for one compute capability is not launched on another.

A dispatcher of Numba's remembers its kernels by the types of their arguments alone. One that was loaded from disk has
machine code of one compute capability and nothing to make that of another from, so a process with two kinds of GPU would
end with an error on the second (numba-cuda 0.30.4, `CUDACodeLibrary.get_cubin`). Devices of one kind share theirs: the
code is loaded into each of them.
"""

import weakref
from typing import Any

from engine.device.kernel_cache import KernelCache
from engine.device.numba_cuda import cuda

# Of each kernel, by compute capability: the dispatcher itself for the first device that asked, others for the others.
_by_capability: "weakref.WeakKeyDictionary[Any, dict[tuple[int, int], Any]]" = weakref.WeakKeyDictionary()


def for_current_device(dispatcher: Any) -> Any:
    """Return the dispatcher of a kernel for the kind of device that is selected.

    Parameters
    ----------
    dispatcher : Numba dispatcher
        As a kernel factory made it.

    Returns
    -------
    Numba dispatcher
        The same one for the same kind of device.
    """
    major, minor = cuda.get_current_device().compute_capability
    known = _by_capability.setdefault(dispatcher, {})
    if not known:
        # Weakly: what a dictionary holds by a key must not hold the key.
        known[major, minor] = weakref.ref(dispatcher)
    if (major, minor) not in known:
        known[major, minor] = _twin(dispatcher)
    found = known[major, minor]
    return found() if isinstance(found, weakref.ref) else found


def _twin(dispatcher: Any) -> Any:
    """Return another dispatcher of the same function, that compiles as it does and is kept on disk as it is."""
    twin = type(dispatcher)(dispatcher.py_func, targetoptions=dict(dispatcher.targetoptions))
    if isinstance(dispatcher._cache, KernelCache):
        twin._cache = dispatcher._cache
    return twin
