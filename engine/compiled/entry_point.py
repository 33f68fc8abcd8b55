"""`entry_point`: the way from Python into a compiled CPU function, without Numba."""

from llvmlite import ir

from engine.compiled.late_names import cgutils, late_intrinsic, types
from engine.compiled.machine_code import ENTRY

_SLOT = ir.IntType(64)


@late_intrinsic
def entry_point(typingctx):
    """Add a function to the module that takes the address of slots with the arguments (`machine_code.Call`).

    The first statement of a compiled function, whose arguments it takes. Each lies in a slot of 8 bytes, each
    field of an array's record in one of its own.
    """

    def codegen(context, builder, signature, arguments):
        function = builder.function
        entry = ir.Function(builder.module, ir.FunctionType(ir.IntType(32), [_SLOT]), function.name + ENTRY)
        inside = ir.IRBuilder(entry.append_basic_block())
        slots = inside.inttoptr(entry.args[0], _SLOT.as_pointer())
        values = [
            inside.load(inside.bitcast(cgutils.gep(inside, slots, index), value.type.as_pointer()))
            for index, value in enumerate(function.args[2:])
        ]
        # Somewhere for what each compiled function returns: its result and its exception.
        unused = [inside.alloca(argument.pointee) for argument in function.function_type.args[:2]]
        inside.ret(inside.call(function, [*unused, *values]))
        return context.get_dummy_value()

    return types.void(), codegen
