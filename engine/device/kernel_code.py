"""Machine code of CUDA kernels: Numba compiles, cuda.core links, and a file keeps it for the next start.

Numba's own `cuda.jit(cache=True)` finds a kernel by its pickled closure, which differs in each process where
it has a compiled function or an intrinsic (the border's rule); it notices changes of the kernel's own file
only; and it grows without bound (numba-cuda 0.30.4, `core/caching.py`). Here a kernel is found by its
factory, the factory's arguments, the types of its own arguments, the compiler's options, the kind of device
and the versions of the compilers; the digest of the sources names the folder (`code_store.py`). Loading runs
no part of the compiler. `HALOSCOPE_KEEP_KERNELS=0` switches it off.

What is launched is compiled without lines of the source. What is explained is compiled once more with them,
to the same instructions (tests/engine/explain). With lines Numba also describes variables, which changes the
code a little, and of which NVVM refuses some ("Symbol name with unsupported characters": numba-cuda 0.30.4):
they are left out.

What a kernel takes is read from its machine code (a cubin), an ELF file: a list of attributes in its section
`.nv.info`, and the sizes of sections. NVIDIA documents neither: the numbers are those of `cuobjdump
--dump-resource-usage` and of the driver (`tests/gpu` compares).
"""

import functools
import json
import os
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from engine.compiled.code_store import code_store
from engine.compiled.late_names import late
from engine.compiled.less_work import less_work, replaced
from engine.device.device_list import versions
from engine.device.kernel_factory import origin_of
from engine.device.kernel_names import cuda
from engine.device.launches import Kernel, Signature
from engine.errors import BadValue, EngineError
from engine.results.occupancy import KernelResources

# Imported where something is compiled.
core, pathfinder = late("cuda", "core", "pathfinder")
(debuginfo,) = late("numba.cuda", "debuginfo")

Loaded = TypeVar("Loaded")

SWITCH = "HALOSCOPE_KEEP_KERNELS"
# Settings that change the code that Numba generates.
_COMPILING = ("NUMBA_CUDA", "NUMBA_OPT", "NUMBA_DEBUG", "NUMBA_FULL", "CUDA_HOME", "CUDA_PATH")
COMPILED_WITH = ("debug", "lineinfo", "fastmath", "opt", "launch_bounds")
"""The options of a kernel that its compilation takes."""


def with_code(
    kernel: Kernel, signature: Signature, capability: tuple[int, int], load: Callable[[bytes], Loaded]
) -> Loaded:
    """Return what `load` makes of the machine code of a kernel, kept or else compiled now."""
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
    origin = origin_of(kernel)
    # Code for a debugger names files and lines.
    if origin is None or os.environ.get(SWITCH) == "0" or kernel.targetoptions["debug"]:
        return load(compile_now())
    # What is linked to a kernel comes from its factory too.
    options = {name: str(value) for name, value in kernel.targetoptions.items() if name != "link"}
    facts = [*origin, str(signature), options, capability, *_compilers()]
    key = json.dumps(facts, sort_keys=True, allow_nan=False)
    return code_store().built(kind, key, compile_now, load)


def architecture_of(capability: tuple[int, int]) -> tuple[int, int, str]:
    """Return the architecture that a kernel is compiled for: (8, 6, ""), or (9, 0, "a")."""
    # From 9.0 on there are instructions for one architecture alone.
    return (*capability, "a" if capability >= (9, 0) else "")


def code_for_linker(
    kernel: Kernel, signature: Signature, capability: tuple[int, int], output: str, **changed: object
) -> Any:
    """Return a kernel as "ptx" or "ltoir" by its options, of which some are `changed`."""
    options = kernel.targetoptions | changed
    with less_work():
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
        with _with_lines_alone() if lineinfo else nullcontext():
            code = code_for_linker(kernel, signature, capability, "ltoir", **lines)
        parts = [core.ObjectCode.from_ltoir(code)]
    else:
        # With lines it is mostly kept: it is shown before what is linked from it.
        version = kernel, signature, capability
        ptx = explained_ptx(*version) if lineinfo else code_for_linker(*version, "ptx")
        parts = [core.ObjectCode.from_ptx(ptx.encode())]
    parts += [core.ObjectCode.from_ptx(source.data) for source in options["link"] or ()]
    linker = core.Linker(
        *parts,
        options=core.LinkerOptions(
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


def explained_ptx(kernel: Kernel, signature: Signature, capability: tuple[int, int]) -> str:
    """Return what NVVM writes for an architecture, with the lines of the source."""
    version = kernel, signature, capability
    return kept("ptx", *version, lambda: ptx_with_lines(*version).encode(), bytes.decode)


def ptx_with_lines(kernel: Kernel, signature: Signature, capability: tuple[int, int]) -> str:
    """Return the same, compiled now."""
    with _with_lines_alone():
        ptx: str = code_for_linker(kernel, signature, capability, "ptx", lineinfo=True)
    return ptx


def explained_machine_code(kernel: Kernel, signature: Signature, capability: tuple[int, int]) -> bytes:
    """Return the machine code for an architecture, with the lines of the source."""
    version = kernel, signature, capability
    return kept("cubin", *version, lambda: compiled(*version, lineinfo=True), bytes)


@contextmanager
def _with_lines_alone() -> Iterator[None]:
    # Of debug information. Code without lines is made by another one.
    builder_of_lines = debuginfo.CUDADIBuilder
    # Describing the line of each instruction anew takes a sixteenth of the time of compiling.
    lines: dict[tuple[int, int], Any] = {}

    def changes() -> Iterator[tuple[type, str, object]]:
        own = builder_of_lines._di_location

        def line_of(builder: Any, line: int) -> Any:
            key = id(builder.subprograms[-1]), line
            if key not in lines:
                lines[key] = own(builder, line)
            return lines[key]

        for name in ("mark_variable", "update_variable"):
            yield builder_of_lines, name, lambda *arguments, **named: None
        yield builder_of_lines, "_di_location", line_of

    with replaced(changes()):
        yield
        # They hold all that was compiled: as garbage it is found at once, else after ten kernels.
        lines.clear()


# EIATTR_...: attributes of a kernel, and the forms of their values.
_REGISTERS, _STACK, _BARRIERS = 0x2F, 0x12, 0x4C
_NO_VALUE, _BYTE, _HALF, _SIZED = 1, 2, 3, 4
_PARAMETERS = ".nv.constant0."
# From this architecture on the section of shared memory begins with what CUDA itself takes for a block.
_RESERVES_FROM, _RESERVED_BYTES = 90, 1024


class _ElfSection(NamedTuple):
    content: bytes  # empty for a section of shared memory, which has none in the file
    size: int
    about: int  # what its header says beside: of code, the number of its symbol


def resources_of(code: bytes) -> KernelResources:
    """Return what the one kernel of a file of machine code takes.

    Raises ValueError for a file without one, or of another form.
    """
    try:
        sections = dict(_sections(code))
        # Functions that a kernel calls have no section with parameters.
        (name,) = [one.removeprefix(_PARAMETERS) for one in sections if one.startswith(_PARAMETERS)]
        symbol = sections[f".text.{name}"].about & 0xFFFFFF
        takes = {what: value for what, about, value in _attributes(sections[".nv.info"]) if about == symbol}
        registers, local_bytes = takes[_REGISTERS], takes.get(_STACK, 0)
        barriers = {what: value for what, _, value in _attributes(sections[f".nv.info.{name}"])}
    except (struct.error, LookupError, ValueError) as error:
        raise ValueError("this is not the machine code of one kernel") from error
    sizes = {one: section.size for one, section in sections.items()}
    shared_bytes = sizes.get(f".nv.shared.{name}", 0)
    # 90 for sm_90.
    if shared_bytes and struct.unpack_from("<I", code, 48)[0] >> 8 & 0xFF >= _RESERVES_FROM:
        shared_bytes -= _RESERVED_BYTES
    constant_bytes = sizes.get(".nv.constant3", 0)
    return KernelResources(registers, shared_bytes, local_bytes, constant_bytes, barriers.get(_BARRIERS, 0))


def _sections(code: bytes) -> Iterator[tuple[str, _ElfSection]]:
    (first,), (size, count, names) = struct.unpack_from("<Q", code, 40), struct.unpack_from("<3H", code, 58)
    headers = [struct.unpack_from("<IIQQQQII", code, first + number * size) for number in range(count)]
    texts = headers[names][4]
    without_content = 8
    for name, kind, _, _, at, length, _, about in headers:
        begin = texts + name
        text = code[begin : code.index(b"\0", begin)].decode()
        yield text, _ElfSection(b"" if kind == without_content else code[at : at + length], length, about)


def _attributes(section: _ElfSection) -> Iterator[tuple[int, int, int]]:
    """Yield each attribute with its first and its last number: often a symbol and a value of it."""
    content, at = section.content, 0
    while at < len(content):
        form, attribute, value = struct.unpack_from("<BBH", content, at)
        at += 4
        if form == _SIZED:
            numbers = struct.unpack_from(f"<{value // 4}I", content, at)
            yield (attribute, numbers[0], numbers[-1]) if numbers else (attribute, 0, 0)
            at += value
        elif form in (_BYTE, _HALF):
            yield attribute, 0, value
        elif form != _NO_VALUE:
            raise ValueError(f"an attribute of an unknown form {form}")


MISSING = (
    "it needs NVIDIA's disassembler nvdisasm, which is not installed",
    "`pip install nvidia-cuda-nvdisasm` brings it (5 MB; a CUDA toolkit has it too). No GPU is needed.",
)


@functools.cache
def disassembler() -> str | None:
    """Return the path of nvdisasm, which cuobjdump calls too; None where there is none."""
    return shutil.which("nvdisasm") or pathfinder.find_nvidia_binary_utility("nvdisasm")


def disassembled(machine_code: bytes) -> str:
    """Return what nvdisasm writes of machine code, with the lines of the source."""
    tool = disassembler()
    if tool is None:
        raise BadValue("SASS", *MISSING)
    with tempfile.TemporaryDirectory(prefix="haloscope-") as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(machine_code)
        try:
            command = [tool, "-c", "-g", str(path)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        except (OSError, subprocess.SubprocessError) as error:
            why = (getattr(error, "stderr", "") or str(error)).strip().split("\n")[-1]
            remedy = "A newer one may know this architecture: `pip install -U nvidia-cuda-nvdisasm`."
            raise EngineError(f"{tool} failed", why, remedy) from error
    return done.stdout
