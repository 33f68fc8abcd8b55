"""Machine code of CUDA kernels: Numba compiles, cuda.core links, and a file keeps it for the next start.

Numba's own `cuda.jit(cache=True)` finds a kernel by its pickled closure, and a closure over a compiled
function or an intrinsic (the border's rule, the emitted multiply-adds) pickles differently in each process;
it notices changes of the kernel's own file only; and it grows without bound (numba-cuda 0.30.4,
`core/caching.py`). Here a kernel is found by its factory, the factory's arguments, the types of the kernel's
arguments, the compiler's options, the kind of device and the versions of the compilers; the digest of the
sources names the folder (`code_store.py`). Loading runs no part of the compiler. `HALOSCOPE_KEEP_KERNELS=0`
switches it off.
"""

import functools
import json
import os
from collections.abc import Callable
from typing import Any, TypeVar

from cuda.core import Linker, LinkerOptions, ObjectCode

from engine.compiled.code_store import code_store
from engine.device.kernel_factory import origin_of
from engine.device.launches import Kernel, Signature
from engine.device.numba_cuda import cuda
from engine.device.versions import versions

Loaded = TypeVar("Loaded")

SWITCH = "HALOSCOPE_KEEP_KERNELS"
# Settings that change the code that Numba generates.
_COMPILING = ("NUMBA_CUDA", "NUMBA_OPT", "NUMBA_DEBUG", "NUMBA_FULL", "CUDA_HOME", "CUDA_PATH")
COMPILED_WITH = ("debug", "lineinfo", "fastmath", "opt", "launch_bounds")
"""The options of a kernel that its compilation takes."""
# From this compute capability on there are instructions for one architecture alone.
_SPECIFIC_FROM = (9, 0)


def with_code(
    kernel: Kernel, signature: Signature, capability: tuple[int, int], load: Callable[[bytes], Loaded]
) -> Loaded:
    """Return what `load` makes of the machine code of a kernel, kept or compiled now.

    Kept code that `load` cannot use is compiled anew.
    """
    return kept("cuda", kernel, signature, capability, lambda: compiled(kernel, signature, capability), load)


def kept(
    kind: str,
    kernel: Kernel,
    signature: Signature,
    capability: tuple[int, int],
    compile_now: Callable[[], bytes],
    load: Callable[[bytes], Loaded],
) -> Loaded:
    """Return what `load` makes of code of some kind of a kernel, kept or compiled now."""
    key = key_of(kernel, signature, capability)
    # Code for a debugger names files and lines.
    if key is None or kernel.targetoptions["debug"]:
        return load(compile_now())
    return code_store().built(kind, key, compile_now, load)


def key_of(kernel: Kernel, signature: Signature, capability: tuple[int, int]) -> str | None:
    """Return what a kernel's code is kept under; None where nothing of it is kept."""
    origin = origin_of(kernel)
    if origin is None or os.environ.get(SWITCH) == "0":
        return None
    # What is linked to a kernel comes from its factory too.
    options = {name: str(value) for name, value in kernel.targetoptions.items() if name != "link"}
    facts = [*origin, str(signature), options, capability, *_compilers()]
    return json.dumps(facts, sort_keys=True, allow_nan=False)


def architecture_of(capability: tuple[int, int]) -> tuple[int, int, str]:
    """Return the architecture that a kernel is compiled for: (8, 6, ""), or (9, 0, "a")."""
    return (*capability, "a" if capability >= _SPECIFIC_FROM else "")


def code_for_linker(
    kernel: Kernel, signature: Signature, capability: tuple[int, int], output: str, **changed: object
) -> Any:
    """Return a kernel as "ptx" or "ltoir" by its options, of which some are `changed`."""
    options = kernel.targetoptions | changed
    code, _ = cuda.compile(
        kernel.py_func,
        signature,
        device=False,
        abi="numba",
        cc=architecture_of(capability),
        output=output,
        **{name: options[name] for name in COMPILED_WITH},
    )
    return code


def compiled(
    kernel: Kernel, signature: Signature, capability: tuple[int, int], *, lineinfo: bool = False
) -> bytes:
    """Return the machine code of a kernel for a compute capability; `lineinfo`: with lines of the source."""
    options, lines = kernel.targetoptions, {"lineinfo": True} if lineinfo else {}
    is_optimised_when_linked = options["lto"]
    if is_optimised_when_linked:
        parts = [ObjectCode.from_ltoir(code_for_linker(kernel, signature, capability, "ltoir", **lines))]
    else:
        ptx = code_for_linker(kernel, signature, capability, "ptx", **lines)
        parts = [ObjectCode.from_ptx(ptx.encode())]
    parts += [ObjectCode.from_ptx(source.data) for source in options["link"] or ()]
    linker = Linker(
        *parts,
        options=LinkerOptions(
            arch="sm_{}{}{}".format(*architecture_of(capability)),
            max_register_count=options.get("max_registers"),
            lineinfo=lineinfo or options["lineinfo"],
            # False is not the same as None: it is a flag all the same.
            link_time_optimization=is_optimised_when_linked or None,
        ),
    )
    linked = linker.link("cubin")
    machine_code = bytes(linked.code)
    # Linkers that were only dropped had later links crash (cuda.core 1.2.0, nvJitLink 13.0.88).
    linker.close()
    return machine_code


@functools.cache
def _compilers() -> tuple[object, ...]:
    settings = sorted((name, text) for name, text in os.environ.items() if name.startswith(_COMPILING))
    return versions(), settings
