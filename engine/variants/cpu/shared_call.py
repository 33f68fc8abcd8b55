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

from engine.variants.ir.cpu_vectors import Vectors, cpu_function
from engine.variants.ir.value import I64, Value

# In cache lines of their own: all workers write the first two.
TAKEN, STARTED, POST = 0, 8, 16
FINISH, MAILBOXES, PAST_MAILBOXES, WANTED, HERE, LEFT = range(POST + 1, POST + 7)
BOARD_ELEMENTS = 24


@cpu_function(types.int64)
def share(code, board):
    """Return which worker this call is; if it is the first, have other threads make the same call.

    Only in the body of a compiled function itself, whose arguments it takes.
    """
    builder, data = code.builder, code.pointer(board)
    worker = code.exchanged(data + STARTED, "add", code.index(1))
    post = (data + POST).load()

    def begin_others():
        # After the two pointers to what a function returns.
        values = builder.function.args[2:]
        kept = cgutils.alloca_once(builder, ir.LiteralStructType([value.type for value in values]))
        for index, value in enumerate(values):
            builder.store(value, cgutils.gep_inbounds(builder, kept, 0, index))
        again = _again(builder.function, kept.type)
        _call(code, post, *(code.address(code.value(pointer)) for pointer in (again, kept, data.llvm)))

    code.when((worker == 0) & (post != 0), begin_others, None, likely=False)
    return worker


def _again(function: ir.Function, kept: ir.PointerType) -> ir.Function:
    """Return a function that calls another one with the arguments at an address."""
    kind = ir.FunctionType(ir.VoidType(), [I64])
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


def _call(code: Vectors, address: Value, *arguments: Value) -> None:
    """Call a function of int64 by its address."""
    kind = ir.FunctionType(ir.VoidType(), [I64] * len(arguments))
    function = code.builder.inttoptr(address.llvm, kind.as_pointer())
    code.builder.call(function, [argument.llvm for argument in arguments])


@cpu_function(types.void)
def finish(code, board, worker):
    """Wait, as worker 0, until no other worker is at work or can begin."""
    data = code.pointer(board)
    post, wait = ((data + place).load() for place in (POST, FINISH))
    waits = (worker == 0) & (post != 0)
    code.when(waits, lambda: _call(code, wait, code.address(data)), None, likely=False)


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


@cpu_function(types.void)
def call_at(code, function, argument):
    """Call a function of one int64 by its address."""
    _call(code, function, argument)


def _element(code: Vectors, address: Value, element: Value) -> Value:
    return code.value(code.builder.inttoptr(address.llvm, I64.as_pointer())) + element


@cpu_function(types.int64)
def look_at(code, address, element):
    """Return an int64 of those at an address, as other threads have left it."""
    return code.value(code.builder.load_atomic(_element(code, address, element).llvm, "acquire", 8))


@cpu_function(types.int64)
def exchange(code, address, element, value):
    """Store an int64 in an element and return the one that was there, atomically."""
    return code.exchanged(_element(code, address, element), "xchg", value)


@cpu_function(types.boolean)
def replace_if(code, address, element, expected, value):
    """Store an int64 in an element if the expected one is there, atomically; return whether it was."""
    place = _element(code, address, element).llvm
    found = code.builder.cmpxchg(place, expected.llvm, value.llvm, "seq_cst", "seq_cst")
    return code.parts(code.value(found))[1]
