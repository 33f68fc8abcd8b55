"""How a compiled function calls itself on other threads, so that several workers share its work.

Such a function begins with `share` and ends with `finish`. The first call is worker 0; `share` posts the
order of its board (`engine.variants.cpu.board`), with which other threads call the function once more, as
worker 1, 2, ... No Python runs for that, so no thread waits for the GIL.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from engine.compiled.cpu_target import cpu_target
from engine.variants.cpu.board import FINISH, POST, SELF, STARTED
from engine.variants.ir.cpu_vectors import Vectors, cpu_function
from engine.variants.ir.value import I32, I64, Value


@cpu_function(types.int64)
def share(code, board):
    """Return which worker this call is; if it is the first, have other threads make the same call."""
    data = code.pointer(board)
    worker, post = code.exchanged(data + STARTED, "add", code.index(1)), (data + POST).load()
    begins = (worker == 0) & (post != 0)
    code.when(begins, lambda: _call(code, post, code.address(data + SELF)), None, likely=False)
    return worker


@cpu_function(types.void)
def finish(code, board, worker):
    """Wait, as worker 0, until no other worker is at work or can begin."""
    data = code.pointer(board)
    post, wait = ((data + place).load() for place in (POST, FINISH))
    waits = (worker == 0) & (post != 0)
    code.when(waits, lambda: _call(code, wait, code.address(data + SELF)), None, likely=False)


@cpu_function(types.void)
def call_at(code, entry, slots):
    """Call a compiled function by the address of its entry point, with the address of its slots."""
    _call(code, entry, slots)


def _call(code: Vectors, entry: Value, slots: Value) -> None:
    function = code.builder.inttoptr(entry.llvm, ir.FunctionType(I32, [I64]).as_pointer())
    code.builder.call(function, [slots.llvm])


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


def _element(code: Vectors, address: Value, element: Value) -> Value:
    return code.value(code.builder.inttoptr(address.llvm, I64.as_pointer())) + element


@cpu_function(types.int64)
def look_at(code, address, element):
    """Return an int64 of those at an address, as other threads have left it."""
    return code.value(code.builder.load_atomic(_element(code, address, element).llvm, "acquire", 8))


@cpu_function(types.void)
def rest(code):
    """Leave the core to its other hardware thread for some 10 to 50 ns, while looking for something."""
    if cpu_target().has("sse2"):
        code.called("x86.sse2.pause", ir.VoidType())


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
