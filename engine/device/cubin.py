"""What a kernel takes, read from its machine code: registers, memory, barriers. It needs no device.

Machine code (a cubin) is an ELF file. Its section `.nv.info` has a list of attributes of the kernel; sizes of
sections say what it takes of each memory. NVIDIA documents neither: the numbers are those that `cuobjdump
--dump-resource-usage` and the driver show (`tests/gpu` compares with the driver's).
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

from engine.results.launch_facts import KernelResources

# EIATTR_...: attributes of a kernel, and the forms of their values.
_REGISTERS, _STACK, _BARRIERS = 0x2F, 0x12, 0x4C
_NO_VALUE, _BYTE, _HALF, _SIZED = 1, 2, 3, 4
_PARAMETERS = ".nv.constant0."
# From this architecture on the section of shared memory begins with what CUDA itself takes for a block.
_RESERVES_FROM, _RESERVED_BYTES = 90, 1024


class _Section(NamedTuple):
    content: bytes  # empty for a section of shared memory, which has none in the file
    size: int
    about: int  # what its header says beside: of code, the number of its symbol


def resources_of(code: bytes) -> KernelResources:
    """Return what the one kernel of a file of machine code takes.

    Raises ValueError for a file without one, or of another form.
    """
    try:
        sections = dict(_sections(code))
        # Each kernel has a section with its parameters; functions that it calls have none.
        (name,) = [one.removeprefix(_PARAMETERS) for one in sections if one.startswith(_PARAMETERS)]
        symbol = sections[f".text.{name}"].about & 0xFFFFFF
        found = {what: value for what, about, value in _attributes(sections[".nv.info"]) if about == symbol}
        registers, local_bytes = found[_REGISTERS], found.get(_STACK, 0)
        barriers = {what: value for what, _, value in _attributes(sections[f".nv.info.{name}"])}
    except (struct.error, LookupError, ValueError) as error:
        raise ValueError("this is not the machine code of one kernel") from error
    sizes = {one: section.size for one, section in sections.items()}
    shared_bytes = sizes.get(f".nv.shared.{name}", 0)
    if shared_bytes and _architecture(code) >= _RESERVES_FROM:
        shared_bytes -= _RESERVED_BYTES
    constant_bytes = sizes.get(".nv.constant3", 0)
    return KernelResources(registers, shared_bytes, local_bytes, constant_bytes, barriers.get(_BARRIERS, 0))


def _architecture(code: bytes) -> int:
    """Return 90 for sm_90."""
    (flags,) = struct.unpack_from("<I", code, 48)
    found: int = flags >> 8 & 0xFF
    return found


def _sections(code: bytes) -> Iterator[tuple[str, _Section]]:
    (first,), (size, count, names) = struct.unpack_from("<Q", code, 40), struct.unpack_from("<3H", code, 58)
    headers = [struct.unpack_from("<IIQQQQII", code, first + number * size) for number in range(count)]
    texts = headers[names][4]
    without_content = 8
    for name, kind, _, _, at, length, _, about in headers:
        begin = texts + name
        text = code[begin : code.index(b"\0", begin)].decode()
        yield text, _Section(b"" if kind == without_content else code[at : at + length], length, about)


def _attributes(section: _Section) -> Iterator[tuple[int, int, int]]:
    """Yield each attribute with its first and its last number: often a symbol and what is said of it."""
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
