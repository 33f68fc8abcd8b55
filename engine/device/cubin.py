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
# From this architecture on the section of shared memory begins with what CUDA itself takes for a block.
_RESERVES_FROM, _RESERVED_BYTES = 90, 1024


class _Section(NamedTuple):
    name: str
    content: bytes  # empty for a section of shared memory, which has none in the file
    size: int


def resources_of(code: bytes) -> KernelResources:
    """Return what the one kernel of a file of machine code takes.

    Raises ValueError for a file without one, or of another form.
    """
    try:
        return _resources_of(code)
    except (struct.error, LookupError, UnicodeDecodeError) as error:
        raise ValueError("this is not the machine code of one kernel") from error


def _resources_of(code: bytes) -> KernelResources:
    sections = list(_sections(code))
    general = [section for section in sections if section.name == ".nv.info"]
    own = [section for section in sections if section.name.startswith(".nv.info.")]
    if len(general) != 1 or len(own) != 1:
        raise ValueError("this is not the machine code of one kernel")
    name = own[0].name.removeprefix(".nv.info.")
    found = dict(_attributes(general[0].content))
    barriers = dict(_attributes(own[0].content)).get(_BARRIERS, 0)
    sizes = {section.name: section.size for section in sections}
    shared_bytes = sizes.get(f".nv.shared.{name}", 0)
    if shared_bytes and _architecture(code) >= _RESERVES_FROM:
        shared_bytes -= _RESERVED_BYTES
    return KernelResources(
        found[_REGISTERS], shared_bytes, found.get(_STACK, 0), sizes.get(".nv.constant3", 0), barriers
    )


def _architecture(code: bytes) -> int:
    """Return 90 for sm_90."""
    (flags,) = struct.unpack_from("<I", code, 48)
    return flags >> 8 & 0xFF


def _sections(code: bytes) -> Iterator[_Section]:
    (first,), (size, count, names) = struct.unpack_from("<Q", code, 40), struct.unpack_from("<3H", code, 58)
    headers = [struct.unpack_from("<IIQQQQ", code, first + number * size) for number in range(count)]
    _, _, _, _, texts, _ = headers[names]
    without_content = 8
    for name, kind, _, _, at, length in headers:
        begin = texts + name
        text = code[begin : code.index(b"\0", begin)].decode()
        yield _Section(text, b"" if kind == without_content else code[at : at + length], length)


def _attributes(content: bytes) -> Iterator[tuple[int, int]]:
    """Yield each attribute with its value: of several numbers the last one, behind the kernel's own."""
    at = 0
    while at < len(content):
        form, attribute, value = struct.unpack_from("<BBH", content, at)
        at += 4
        if form == _SIZED:
            if value >= 4:
                yield attribute, struct.unpack_from("<I", content, at + value - 4)[0]
            at += value
        elif form in (_BYTE, _HALF):
            yield attribute, value
        elif form != _NO_VALUE:
            raise ValueError(f"an attribute of an unknown form {form}")
