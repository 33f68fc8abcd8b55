"""Small operations on memory for compiled CPU code: addresses, copies, and counters that threads share."""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from engine.variants.ir.cpu_vectors import INT, Vectors, data_of, number, pointer_at, sample_type

CACHE_LINE_BYTES = 64


@intrinsic
def address_of(typingctx, array, index):
    """Return the address of a flat array's element."""

    def codegen(context, builder, signature, arguments):
        data = data_of(context, builder, signature.args[0], arguments[0])
        return builder.ptrtoint(builder.gep(data, [arguments[1]]), ir.IntType(64))

    return types.int64(array, types.int64), codegen


@intrinsic
def copy_samples(typingctx, target, source, count, sample):
    """Copy `count` samples from one address to another; `sample` is a flat array of their type.

    A call of the C library's memcpy: a loop in Numba would cost 50 ms of compilation, for vectors that it has
    anyway.
    """

    def codegen(context, builder, signature, arguments):
        element = sample_type(sample.dtype)
        target, source = (pointer_at(builder, address, element) for address in arguments[:2])
        cgutils.raw_memcpy(builder, target, source, arguments[2], context.get_abi_sizeof(element))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64, sample), codegen


@intrinsic
def count_one(typingctx, counters, index):
    """Return an element of a flat int64 array and add 1 to it, in one step among all threads.

    A thread that sees the sum sees what was written before it, past the cache too.
    """

    def codegen(context, builder, signature, arguments):
        data = data_of(context, builder, signature.args[0], arguments[0])
        return builder.atomic_rmw("add", builder.gep(data, [arguments[1]]), ir.Constant(INT, 1), "seq_cst")

    return types.int64(counters, types.int64), codegen


@intrinsic
def fetch_ahead(typingctx, address, count, sample):
    """Ask for `count` samples in the second cache that are needed soon, without waiting for them.

    `sample` is a flat array of their type. Asking for what does not exist does nothing.
    """

    def codegen(context, builder, signature, arguments):
        byte = ir.IntType(8).as_pointer()
        flag = ir.IntType(32)
        fetch = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag]), "llvm.prefetch.p0"
        )
        size = context.get_abi_sizeof(sample_type(sample.dtype))
        last = builder.mul(arguments[1], number(size))
        to_read, into_second_cache, data = (ir.Constant(flag, value) for value in (0, 2, 1))

        vectors = Vectors(context, builder)

        def line(at):
            where = builder.inttoptr(builder.add(arguments[0], at.llvm), byte)
            builder.call(fetch, [where, to_read, into_second_cache, data])

        vectors.stride(vectors.value(number(0)), vectors.value(last), CACHE_LINE_BYTES, line, 1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, sample), codegen
