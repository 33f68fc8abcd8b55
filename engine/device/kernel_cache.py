"""Compiled CUDA kernels: kept on disk for the next start, and one dispatcher for each kind of device.

Numba's own `cuda.jit(cache=True)` finds a kernel by its pickled closure, and a closure over a compiled
function or an intrinsic (the border's rule, the emitted multiply-adds) pickles differently in each process;
it notices changes of the kernel's own file only; and it grows without bound (numba-cuda 0.30.4,
`core/caching.py`). Here a kernel is found by its factory, the factory's arguments, the types of the kernel's
arguments, the compiler's options, the kind of device and the versions of the compilers; the digest of the
sources names the folder (`code_store.py`). Loading runs no part of the compiler. `HALOSCOPE_KEEP_KERNELS=0`
switches it off.

A dispatcher of Numba's finds its kernels by the types of their arguments alone, and one that was loaded from
disk has code for one compute capability, so a process with two kinds of GPU would fail on the second
(`CUDACodeLibrary.get_cubin`). Devices of one kind share a dispatcher: the code is loaded into each of them.
"""

import functools
import json
import os
import weakref
from dataclasses import dataclass
from typing import Any

from numba.core.caching import NullCache

from engine.compiled.code_store import code_store
from engine.device.numba_cuda import cuda
from engine.device.versions import versions

_KIND = "cuda"
SWITCH = "HALOSCOPE_KEEP_KERNELS"
# Settings that change the code that Numba generates.
_COMPILING = ("NUMBA_CUDA", "NUMBA_OPT", "NUMBA_DEBUG", "NUMBA_FULL", "CUDA_HOME", "CUDA_PATH")


@dataclass(frozen=True, slots=True)
class KeptKernel:
    """A compiled kernel: machine code for one kind of device, and the kernel's name in it."""

    cubin: bytes
    entry_name: str
    is_cooperative: bool = False

    @classmethod
    def of(cls, kernel: Any) -> "KeptKernel":
        """Return the machine code of a kernel that Numba compiled."""
        cubin = bytes(kernel.library.get_cubin().code)
        return cls(cubin, kernel.entry_name, bool(kernel.cooperative))

    def packed(self) -> bytes:
        """Return it as the bytes of one file."""
        facts = json.dumps([self.entry_name, self.is_cooperative], allow_nan=False).encode()
        return facts + b"\n" + self.cubin

    @classmethod
    def unpacked(cls, content: bytes) -> "KeptKernel":
        """Return the kernel of the bytes that `packed` made."""
        facts, _, cubin = content.partition(b"\n")
        return cls(cubin, *json.loads(facts))


class KernelCache(NullCache):
    """The cache of one Numba dispatcher, in place of Numba's own.

    `identity` is the factory and its arguments, as plain values; `options` are the dispatcher's, for the
    compiler.
    """

    def __init__(self, identity: list[Any], options: dict[str, Any]) -> None:
        self._identity = identity
        self._options = options

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return the kernel of that signature, loaded into the device; None if it has to be compiled."""
        if not self._is_kept():
            return None

        def build(content: bytes) -> Any:
            kernel = rebuilt(KeptKernel.unpacked(content), signature, self._options)
            kernel.bind()
            return kernel

        return code_store().built(_KIND, self._key(signature), build)

    def save_overload(self, signature: Any, kernel: Any) -> None:
        """Keep a kernel that was compiled just now."""
        # Code that was made for one launch configuration must not serve another.
        if self._is_kept() and not kernel.launch_config_sensitive:
            code_store().save(_KIND, self._key(signature), KeptKernel.of(kernel).packed())

    def _is_kept(self) -> bool:
        # Code for a debugger names files and lines, and Numba rebuilds what it needs only when it compiles.
        return os.environ.get(SWITCH) != "0" and not self._options.get("debug")

    def _key(self, signature: Any) -> str:
        # What is linked to a kernel comes from its factory too, and its text differs in each process.
        options = {name: str(value) for name, value in self._options.items() if name != "link"}
        device = tuple(cuda.get_current_device().compute_capability)
        return json.dumps(
            [*self._identity, str(signature), options, device, *_compilers()], sort_keys=True, allow_nan=False
        )


@functools.cache
def _compilers() -> tuple[Any, ...]:
    settings = sorted((name, text) for name, text in os.environ.items() if name.startswith(_COMPILING))
    return versions(), settings


def rebuilt(kept: KeptKernel, signature: Any, options: dict[str, Any]) -> Any:
    """Return a Numba kernel around kept machine code, as Numba's own cache does; nothing is loaded yet.

    `signature` has the Numba types of the arguments; `options` are the dispatcher's, for the compiler.
    """
    from cuda.core import ObjectCode
    from numba.cuda import types
    from numba.cuda.codegen import CUDACodeLibrary
    from numba.cuda.dispatcher import _Kernel
    from numba.cuda.typing import signature as typed

    library = CUDACodeLibrary(None, kept.entry_name, entry_name=kept.entry_name)
    library._finalized = True
    library.use_cooperative = kept.is_cooperative
    # None: of the current device.
    library._cubin_cache[library._ensure_cc(None)] = ObjectCode.from_cubin(kept.cubin, name=kept.entry_name)
    kernel = _Kernel._rebuild(
        cooperative=kept.is_cooperative,
        name=kept.entry_name,
        signature=typed(types.none, *signature),
        codelibrary=library,
        debug=False,
        lineinfo=False,
        call_helper=None,
        extensions=options.get("extensions") or [],
    )
    if options.get("shared_memory_carveout") is not None:
        kernel.shared_memory_carveout = kernel._parse_carveout(options["shared_memory_carveout"])
    return kernel


# Dispatchers of each kernel by compute capability: its own for the first device, a copy for each other.
_by_capability: "weakref.WeakKeyDictionary[Any, dict[tuple[int, int], Any]]" = weakref.WeakKeyDictionary()


def for_current_device(dispatcher: Any) -> Any:
    """Return the dispatcher of a kernel for the kind of device that is selected: one for each kind.

    `dispatcher` is the one that the kernel's factory made.
    """
    major, minor = cuda.get_current_device().compute_capability
    known = _by_capability.setdefault(dispatcher, {})
    if not known:
        # Weakly: what a dictionary holds by a key must not hold the key.
        known[major, minor] = weakref.ref(dispatcher)
    if (major, minor) not in known:
        other = type(dispatcher)(dispatcher.py_func, targetoptions=dict(dispatcher.targetoptions))
        if isinstance(dispatcher._cache, KernelCache):
            other._cache = dispatcher._cache
        known[major, minor] = other
    found = known[major, minor]
    return found() if isinstance(found, weakref.ref) else found
