"""How a compiled function calls itself on other threads, so that several workers share its work.

Such a function begins with `share` and ends with `finish`. The first call is worker 0; `share` posts the
order of its board (`engine.variants.cpu.board`), with which other threads call the function once more, as
worker 1, 2, ... No Python runs for that, so no thread waits for the GIL.
"""

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from engine.variants.cpu.board import FINISH, POST, SELF, STARTED
from engine.variants.ir.cpu_memory import address_of, count_one
from engine.variants.ir.cpu_vectors import INT


@intrinsic
def call_at(typingctx, function, slots):
    """Call a compiled function by the address of its entry point, with the address of its slots."""

    def codegen(context, builder, signature, arguments):
        kind = ir.FunctionType(ir.IntType(32), [INT])
        builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), [arguments[1]])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), codegen


@njit(inline="always")
def share(board):
    """Return which worker this call is; if it is the first, have other threads make the same call."""
    worker = count_one(board, STARTED)
    if worker == 0 and board[POST] != 0:
        call_at(board[POST], address_of(board, SELF))
    return worker


@njit(inline="always")
def finish(board, worker):
    """Wait, as worker 0, until no other worker is at work or can begin."""
    if worker == 0 and board[POST] != 0:
        call_at(board[FINISH], address_of(board, SELF))


@intrinsic
def row_of(typingctx, rows, index):
    """Return one row of a two-dimensional array, as a flat array without a reference count."""
    flat = types.Array(rows.dtype, 1, "C")

    def codegen(context, builder, signature, arguments):
        source = context.make_array(signature.args[0])(context, builder, arguments[0])
        row = context.make_array(flat)(context, builder)
        length = cgutils.unpack_tuple(builder, source.shape, 2)[1]
        data = builder.gep(source.data, [builder.mul(arguments[1], length)])
        # No instruction, but the compiler no longer knows how the address came about: else it increments one
        # more register for each address in the inner loop (two passes took 4 to 8 % longer).
        kind = ir.FunctionType(data.type, [data.type])
        data = builder.call(ir.InlineAsm(kind, "", "=r,0"), [data])
        context.populate_array(
            row, data=data, shape=[length], strides=[source.itemsize], itemsize=source.itemsize, meminfo=None
        )
        return row._getvalue()

    return flat(rows, types.int64), codegen


def _element(builder: ir.IRBuilder, address: ir.Value, element: ir.Value) -> ir.Value:
    return builder.gep(builder.inttoptr(address, INT.as_pointer()), [element])


@intrinsic
def look_at(typingctx, address, element):
    """Return an int64 of those at an address, as other threads have left it."""

    def codegen(context, builder, signature, arguments):
        return builder.load_atomic(_element(builder, *arguments), "acquire", 8)

    return types.int64(types.int64, types.int64), codegen


@intrinsic
def exchange(typingctx, address, element, value):
    """Store an int64 in an element and return the one that was there, atomically.

    A thread that reads it sees what was written before, past the cache too.
    """

    def codegen(context, builder, signature, arguments):
        return builder.atomic_rmw("xchg", _element(builder, *arguments[:2]), arguments[2], "seq_cst")

    return types.int64(types.int64, types.int64, types.int64), codegen


@intrinsic
def replace_if(typingctx, address, element, expected, value):
    """Store an int64 in an element if the expected one is there, atomically; return whether it was."""

    def codegen(context, builder, signature, arguments):
        place = _element(builder, *arguments[:2])
        return builder.extract_value(builder.cmpxchg(place, *arguments[2:], "seq_cst", "seq_cst"), 1)

    return types.boolean(types.int64, types.int64, types.int64, types.int64), codegen
