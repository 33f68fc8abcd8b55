"""Kernels with an array in constant memory that the host fills: each copy of the machine code has an array of its own.

The array is a variable of the compiled module, so two masks of one kernel would share it, and a graph that was captured
with one would replay with the other. So each prepared kernel is the compiled code loaded once more (no compiling; 0.6 ms
on an H200's host).
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from engine.device.kept_kernels import rebuilt
from engine.device.kernel_store import KeptKernel
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
_loaded: OrderedDict[tuple[int, Any, bytes, int], tuple[Any, Any]] = OrderedDict()


def with_constant(dispatcher: Any, signature: tuple[Any, ...], name: str, values: np.ndarray) -> Any:
    """Return a dispatcher of the same kernel whose constant array holds these values.

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
    Numba dispatcher
        For arguments of that signature; it launches as every other one. The same one for the same values, if it was
        asked for lately.
    """
    contents = np.ascontiguousarray(values, np.float32)
    # Another device would load the code once more, with zeros.
    key = id(dispatcher), signature, contents.tobytes(), cuda.get_current_device().id
    # The dispatcher is kept with its copy, so that its identity is not given to another one.
    found = _loaded.pop(key, None) or (dispatcher, _loaded_copy(dispatcher, signature, name, contents))
    _loaded[key] = found
    if len(_loaded) > MOST_LOADED:
        _loaded.popitem(last=False)
    return found[1]


def _loaded_copy(dispatcher: Any, signature: tuple[Any, ...], name: str, contents: np.ndarray) -> Any:
    from numba.cuda.cudadrv.driver import host_to_device

    compiled = dispatcher.compile(signature)
    cubin = bytes(compiled.library.get_cubin().code)
    kept = KeptKernel(cubin, compiled.entry_name, bool(compiled.cooperative))
    kernel = rebuilt(kept, signature, dispatcher.targetoptions)
    memory, size = kernel.library.get_cufunc().module.get_global_symbol(name)
    if contents.nbytes != size:
        raise ValueError(f"{name} has {size} bytes in the compiled kernel, not {contents.nbytes}")
    host_to_device(memory, contents, size)
    copy = cuda.jit(dispatcher.py_func)
    copy.add_overload(kernel, signature)
    # For other arguments it would compile anew, with zeros.
    copy.disable_compile()
    return copy
