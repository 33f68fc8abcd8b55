"""Compiled CUDA kernels are kept on disk: the next start loads machine code instead of compiling.

Numba's own `cuda.jit(cache=True)` cannot keep these kernels. It finds an entry by the pickled contents of the kernel's
closure, and a closure over a compiled function or an intrinsic (the border's rule, the emitted multiply-adds) pickles
differently in each process, so nothing would ever be found; its index notices a change of the kernel's own file only,
not of what the kernel calls; and it grows without bound (numba-cuda 0.30.4, `core/caching.py`, `_index_key`).

What decides the code here is known better: a factory makes a kernel from its arguments, and everything else comes from
the sources. So entries lie in the folder of the sources' digest (`compiled_code.py`), and one is found by the factory,
its arguments, the types of the kernel's arguments, the compiler's options, the kind of device and the versions of what
compiles. Loading runs no part of the compiler. `HALOSCOPE_KEEP_KERNELS=0` in the environment switches it off.
"""

import dataclasses
import functools
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar

from engine.device.compiled_code import code_store
from engine.device.numba_cuda import SIMULATED, cuda, missing
from engine.device.versions import versions

Factory = TypeVar("Factory", bound=Callable[..., Any])

_KIND = "cuda"
SWITCH = "HALOSCOPE_KEEP_KERNELS"
# What these say changes the code that Numba makes.
_COMPILING = ("NUMBA_CUDA", "NUMBA_OPT", "NUMBA_DEBUG", "NUMBA_FULL", "CUDA_HOME", "CUDA_PATH")


@dataclass(frozen=True, slots=True)
class KeptKernel:
    """A compiled kernel: machine code for one kind of device, and the name that the kernel has in it."""

    cubin: bytes
    entry_name: str
    is_cooperative: bool = False

    def packed(self) -> bytes:
        """Return it as the bytes of one file."""
        facts = json.dumps([self.entry_name, self.is_cooperative], allow_nan=False).encode()
        return facts + b"\n" + self.cubin

    @classmethod
    def unpacked(cls, content: bytes) -> "KeptKernel":
        """Return what `packed` made bytes of."""
        facts, _, cubin = content.partition(b"\n")
        return cls(cubin, *json.loads(facts))


def kept_on_disk(factory: Factory) -> Factory:
    """Decorate a kernel factory so that what it makes is kept on disk once it is compiled.

    Parameters
    ----------
    factory : callable
        Its arguments and the sources of the engine alone decide the kernel. They are numbers, texts, members of an
        enumeration, and tuples and data classes of such.
    """

    @functools.wraps(factory)
    def made(*arguments: Any, **named: Any) -> Any:
        kernel = factory(*arguments, **named)
        if not SIMULATED and not missing:
            name = f"{factory.__module__}.{factory.__qualname__}"
            kernel._cache = KernelCache([name, _plain(arguments), _plain(named)], kernel.targetoptions)
        return kernel

    return made  # type: ignore[return-value]


def _plain(value: Any) -> Any:
    """Return an argument as JSON can tell it from every other one.

    Raises
    ------
    TypeError
        It is nothing that means the same in the next process.
    """
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, Enum):
        return [type(value).__name__, value.name]
    if isinstance(value, tuple):
        return ["tuple", *(_plain(item) for item in value)]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return [type(value).__name__, fields]
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    raise TypeError(f"a kernel made from {value!r} cannot be kept on disk")


class KernelCache:
    """What a Numba dispatcher asks before it compiles and tells after it has; stands where Numba's own would.

    Parameters
    ----------
    identity : list
        The factory and its arguments, as plain values.
    options : dict
        The dispatcher's options for the compiler.
    """

    cache_path = None

    def __init__(self, identity: list[Any], options: dict[str, Any]) -> None:
        self._identity = identity
        self._options = options

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return the kernel of that signature, loaded into the device; None where it has to be compiled."""
        if not self._is_kept():
            return None
        store, key = code_store(), self._key(signature)
        content = store.load(_KIND, key)
        if content is None:
            return None
        try:
            kernel = rebuilt(KeptKernel.unpacked(content), signature, self._options)
            kernel.bind()
        except Exception:  # noqa: BLE001 - whatever the driver has against the code, the compiler makes it anew
            store.remove(_KIND, key)
            return None
        return kernel

    def save_overload(self, signature: Any, kernel: Any) -> None:
        """Keep a kernel that was compiled just now."""
        # Code that was made for one launch configuration must not serve another.
        if self._is_kept() and not kernel.launch_config_sensitive:
            cubin = kernel.library.get_cubin().code
            kept = KeptKernel(bytes(cubin), kernel.entry_name, bool(kernel.cooperative))
            code_store().save(_KIND, self._key(signature), kept.packed())

    def enable(self) -> None:
        """Do nothing: the environment says whether kernels are kept."""

    def disable(self) -> None:
        """Do nothing: as above."""

    def flush(self) -> None:
        """Do nothing: entries of other sources are never found."""

    def _is_kept(self) -> bool:
        # Code for a debugger names files and lines, and Numba rebuilds what it needs only when it compiles.
        return os.environ.get(SWITCH) != "0" and not self._options.get("debug")

    def _key(self, signature: Any) -> str:
        # What is linked to a kernel comes from its factory too, and has no text that means the same in the next process.
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
    """Return a Numba kernel around kept machine code, as Numba makes one from its own cache; nothing is loaded yet.

    Parameters
    ----------
    kept : KeptKernel
    signature : tuple
        Numba types of the arguments.
    options : dict
        The dispatcher's options for the compiler.
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
