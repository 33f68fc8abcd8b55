"""How a compiled function calls itself on other threads, so that several workers share its work.

Such a function begins with `share` and ends with `finish`. The first call is worker 0; `share` stores its
arguments as they arrived, and posts them with a small function that reads them back and calls the function
once more, on another thread, as worker 1, 2, ... No Python runs for that, so no thread waits for the GIL.

What belongs to one launch is its board, a flat int64 array:

    TAKEN                bands that are taken; counted by all workers
    STARTED              workers that have begun
    POST, FINISH         addresses of the functions that post and that wait; POST is 0 for a single worker
    MAILBOXES ... HERE   what these two need (engine.variants.cpu.thread_pool)
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from engine.variants.ir.cpu_vectors import INT, data_of, number

# In cache lines of their own: all workers write the first two.
TAKEN, STARTED, POST = 0, 8, 16
FINISH, MAILBOXES, PAST_MAILBOXES, WANTED, HERE, LEFT = range(POST + 1, POST + 7)
BOARD_ELEMENTS = 24


@intrinsic
def share(typingctx, board):
    """Return which worker this call is; if it is the first, have other threads make the same call.

    Only in the body of a compiled function itself, whose arguments it takes.
    """

    def codegen(context, builder, signature, arguments):
        data = data_of(context, builder, signature.args[0], arguments[0])
        first = ir.Constant(INT, 0)
        worker = builder.atomic_rmw("add", builder.gep(data, [number(STARTED)]), number(1), "seq_cst")
        post = builder.load(builder.gep(data, [number(POST)]))
        has_helpers = builder.and_(
            builder.icmp_signed("==", worker, first), builder.icmp_signed("!=", post, first)
        )
        with builder.if_then(has_helpers, likely=False):
            # After the two pointers to what a function returns.
            values = builder.function.args[2:]
            kept = cgutils.alloca_once(builder, ir.LiteralStructType([value.type for value in values]))
            for index, value in enumerate(values):
                builder.store(value, cgutils.gep_inbounds(builder, kept, 0, index))
            again = _again(builder.function, kept.type)
            addresses = [builder.ptrtoint(pointer, INT) for pointer in (again, kept, data)]
            builder.call(_pointer(builder, post, 3), addresses)
        return worker

    return types.int64(board), codegen


def _again(function: ir.Function, kept: ir.PointerType) -> ir.Function:
    """Return a function that calls another one with the arguments at an address."""
    kind = ir.FunctionType(ir.VoidType(), [INT])
    again = ir.Function(function.module, kind, f"{function.name}.again")
    again.linkage = "internal"
    builder = ir.IRBuilder(again.append_basic_block())
    returned = [builder.alloca(argument.type.pointee) for argument in function.args[:2]]
    for pointer in returned:
        builder.store(ir.Constant(pointer.type.pointee, None), pointer)
    source = builder.inttoptr(again.args[0], kept)
    count = len(function.args) - 2
    values = [builder.load(cgutils.gep_inbounds(builder, source, 0, index)) for index in range(count)]
    builder.call(function, returned + values)
    builder.ret_void()
    return again


def _pointer(builder: ir.IRBuilder, address: ir.Value, arguments: int) -> ir.Value:
    kind = ir.FunctionType(ir.VoidType(), [INT] * arguments)
    return builder.inttoptr(address, kind.as_pointer())


@intrinsic
def finish(typingctx, board, worker):
    """Wait, as worker 0, until no other worker is at work or can begin."""

    def codegen(context, builder, signature, arguments):
        data = data_of(context, builder, signature.args[0], arguments[0])
        post, wait = (builder.load(builder.gep(data, [number(place)])) for place in (POST, FINISH))
        waits = builder.and_(
            builder.icmp_signed("==", arguments[1], ir.Constant(INT, 0)),
            builder.icmp_signed("!=", post, ir.Constant(INT, 0)),
        )
        with builder.if_then(waits, likely=False):
            builder.call(_pointer(builder, wait, 1), [builder.ptrtoint(data, INT)])
        return context.get_dummy_value()

    return types.void(board, types.int64), codegen


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


@intrinsic
def call_at(typingctx, function, argument):
    """Call a function of one int64 by its address."""

    def codegen(context, builder, signature, arguments):
        builder.call(_pointer(builder, arguments[0], 1), [arguments[1]])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), codegen


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
