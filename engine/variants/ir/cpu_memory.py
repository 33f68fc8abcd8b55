"""Small operations on memory for compiled CPU code: addresses, copies, and counters that threads share."""

from llvmlite import ir
from numba import types
from numba.core import cgutils

from engine.variants.ir.cpu_vectors import cpu_function
from engine.variants.ir.value import I8

CACHE_LINE_BYTES = 64


@cpu_function(types.int64)
def address_of(code, array, index):
    """Return the address of a flat array's element."""
    return code.address(code.pointer(array) + index)


@cpu_function(types.void)
def copy_samples(code, target, source, count, sample):
    """Copy `count` samples from one address to another; `sample` is a flat array of their type.

    A call of the C library's memcpy: a loop in Numba would cost 50 ms of compilation, for vectors that it has
    anyway.
    """
    target, source = code.at_address(target, sample), code.at_address(source, sample)
    cgutils.raw_memcpy(code.builder, target.llvm, source.llvm, count.llvm, sample.kind.dtype.bitwidth // 8)


@cpu_function(types.int64)
def count_one(code, counters, index):
    """Return an element of a flat int64 array and add 1 to it, in one step among all threads."""
    return code.exchanged(code.pointer(counters) + index, "add", code.index(1))


@cpu_function(types.void)
def fetch_ahead(code, address, count, sample):
    """Ask for `count` samples in the second cache that are needed soon, without waiting for them.

    `sample` is a flat array of their type. Asking for what does not exist does nothing.
    """
    to_read, into_second_cache, data = (code.integer(number) for number in (0, 2, 1))

    def line(at):
        where = code.value(code.builder.inttoptr((address + at).llvm, I8.as_pointer()))
        code.called("prefetch.p0", ir.VoidType(), where, to_read, into_second_cache, data)

    last = count * (sample.kind.dtype.bitwidth // 8)
    code.stride(code.index(0), last, CACHE_LINE_BYTES, line, 1)
