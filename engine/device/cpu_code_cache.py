"""Compiled CPU functions are kept on disk: the next start loads machine code instead of compiling.

Numba's own `cache=True` raises where the disk is full or a file is damaged, runs any code that the file
contains, and follows changes of the function's own file only (numba 0.68, `core/caching.py`). Here a function
is found by its name, the types of its arguments, the processor and the versions of the compilers, in the
store of CUDA kernels; the digest of the sources names the folder (`code_store.py`).
"""

import functools
import json
import os
import pickle
import platform
from collections.abc import Callable
from typing import Any

import llvmlite
import numba
from numba.core.caching import NullCache
from numba.core.ccallback import CFunc
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps
from numba.core.sigutils import normalize_signature

from engine.device.code_store import code_store

_KIND = "cpu"
# Settings that change the code that Numba generates; the processor is part of the key by itself.
_COMPILING = ("NUMBA_OPT", "NUMBA_DEBUG", "NUMBA_LOOP", "NUMBA_SLP", "NUMBA_BOUNDSCHECK", "NUMBA_FASTMATH")


def kept_on_disk(dispatcher: Any) -> Any:
    """Decorate what `njit` made so that its machine code is kept on disk once it is compiled."""
    dispatcher._cache = CpuCodeCache(dispatcher.py_func)
    return dispatcher


def kept_callback(signature: Any, function: Callable[..., Any]) -> Any:
    """Return a function compiled for callers of C, as `numba.cfunc` does, its machine code kept on disk."""
    callback: Any = CFunc(function, normalize_signature(signature), locals={}, options={})
    callback._cache = CpuCodeCache(function)
    callback.compile()
    return callback


class CpuCodeCache(NullCache):
    """The cache of one Numba dispatcher, in place of Numba's own.

    A closure raises TypeError: what it closes over has no text that means the same in the next process.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        if function.__closure__ is not None:
            raise TypeError(f"{function.__qualname__} is a closure and cannot be kept on disk")
        self._name = [function.__module__, function.__qualname__]

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the function compiled for that signature; None if it has to be compiled."""
        target_context.refresh()
        key = self._key(sig, target_context)
        return code_store().built(
            _KIND, key, lambda code: CompileResult._rebuild(target_context, *pickle.loads(code))
        )

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a function that was compiled just now."""
        # Addresses in the code are valid in this process only.
        if not data.library.has_dynamic_globals:
            code_store().save(_KIND, self._key(sig, data.target_context), dumps(data._reduce()))

    def _key(self, signature: Any, target_context: Any) -> str:
        processor = target_context.codegen().magic_tuple()
        return json.dumps([*self._name, str(signature), processor, *_compilers()], allow_nan=False)


@functools.cache
def _compilers() -> tuple[Any, ...]:
    settings = sorted((name, text) for name, text in os.environ.items() if name.startswith(_COMPILING))
    return platform.python_version(), numba.__version__, llvmlite.__version__, settings
