"""How a compiled function calls itself on other threads, so that several workers share its work.

Such a function begins with `share` and ends with `finish`. The first call is worker 0; `share` queues its
task (`engine.device.threads.descriptors`), with which other threads call the function once more, as worker 1,
2, ... No Python runs for that, so no thread waits for the GIL.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from engine.compiled.cpu_target import cpu_target
from engine.device.threads.descriptors import FINISH, SELF, STARTED, WAKE

_I32, _I64 = ir.IntType(32), ir.IntType(64)
_NONE, _ONE = ir.Constant(_I64, 0), ir.Constant(_I64, 1)


@intrinsic
def share(typingctx, task):
    """Return which worker this call is; if it is the first, have other threads make the same call."""

    def codegen(context, builder, signature, arguments):
        element = _elements_of(context, builder, signature.args[0], arguments[0])
        worker = builder.atomic_rmw("add", element(STARTED), _ONE, "seq_cst")
        _call_if_first(builder, worker, builder.load(element(WAKE)), element)
        return worker

    return types.int64(task), codegen


@intrinsic
def finish(typingctx, task, worker):
    """Wait, as worker 0, until no other worker is at work or can begin."""

    def codegen(context, builder, signature, arguments):
        element = _elements_of(context, builder, signature.args[0], arguments[0])
        # Alone, nobody has to be waited for: WAKE is 0.
        wake, wait = builder.load(element(WAKE)), builder.load(element(FINISH))
        _call_if_first(builder, arguments[1], wake, element, wait)
        return context.get_dummy_value()

    return types.void(task, types.int64), codegen


def _elements_of(context, builder, kind, array):
    """Return what gives the pointer to an element of a flat array."""
    data = context.make_array(kind)(context, builder, array).data
    return lambda index: builder.gep(data, [ir.Constant(_I64, index)])


def _call_if_first(builder, worker, wake, element, entry=None):
    """Call `entry`, by default `wake`, as the first of several workers."""
    is_first = builder.icmp_signed("==", worker, _NONE)
    begins = builder.and_(is_first, builder.icmp_signed("!=", wake, _NONE))
    with builder.if_then(begins, likely=False):
        _call(builder, entry or wake, builder.ptrtoint(element(SELF), _I64))


@intrinsic
def call_at(typingctx, entry, slots):
    """Call a compiled function by the address of its entry point, with the address of its slots."""

    def codegen(context, builder, signature, arguments):
        _call(builder, *arguments)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), codegen


def _call(builder, entry, slots):
    function = builder.inttoptr(entry, ir.FunctionType(_I32, [_I64]).as_pointer())
    builder.call(function, [slots])


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


def _element(builder, address, index):
    return builder.gep(builder.inttoptr(address, _I64.as_pointer()), [index])


@intrinsic
def load_acquire(typingctx, address, element):
    """Return an int64 of those at an address, as other threads have left it."""

    def codegen(context, builder, signature, arguments):
        return builder.load_atomic(_element(builder, *arguments), "acquire", 8)

    return types.int64(types.int64, types.int64), codegen


@intrinsic
def pause(typingctx):
    """Leave the core to its other hardware thread for some 10 to 50 ns, while looking for something."""

    def codegen(context, builder, signature, arguments):
        if cpu_target().has("sse2"):
            kind = ir.FunctionType(ir.VoidType(), [])
            builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.sse2.pause"), [])
        return context.get_dummy_value()

    return types.void(), codegen


@intrinsic
def exchange(typingctx, address, element, value):
    """Store an int64 in an element and return the one that was there, atomically."""

    def codegen(context, builder, signature, arguments):
        pointer = _element(builder, *arguments[:2])
        return builder.atomic_rmw("xchg", pointer, arguments[2], "seq_cst")

    return types.int64(types.int64, types.int64, types.int64), codegen


@intrinsic
def add(typingctx, address, element, value):
    """Add to an int64 in an element and return what was there, atomically."""

    def codegen(context, builder, signature, arguments):
        pointer = _element(builder, *arguments[:2])
        return builder.atomic_rmw("add", pointer, arguments[2], "seq_cst")

    return types.int64(types.int64, types.int64, types.int64), codegen


@intrinsic
def replace_if(typingctx, address, element, expected, value):
    """Store an int64 in an element if the expected one is there, atomically; return whether it was."""

    def codegen(context, builder, signature, arguments):
        pointer = _element(builder, *arguments[:2])
        found = builder.cmpxchg(pointer, *arguments[2:], "seq_cst", "seq_cst")
        return builder.extract_value(found, 1)

    return types.boolean(*[types.int64] * 4), codegen
