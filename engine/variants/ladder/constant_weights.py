"""Weights in constant memory that the host fills, as CUDA C's `cudaMemcpyToSymbol` does.

The kernel declares an array of a fixed size, `__constant__` in CUDA C. Its module defines it, and before the
kernel is first launched with a mask, the host finds the array by its name (`cuModuleGetGlobal`) and copies
the weights there (`engine/device/constant_memory.py`, decision 5). So an edit of the mask compiles nothing.
Each prepared variant has a copy of the module, with an array of its own: launches with two masks may overlap
on any streams.

Where the source is run in plain Python to be counted, the weights lie in the array that the kernel is given
as an argument; else only its shape is read.
"""

from collections.abc import Callable

import numpy as np
from numba import types

from engine.device.numba_cuda import intrinsic
from engine.variants.emit.cuda_code import CudaCode
from engine.variants.emit.value import ArrayArgument


def constant_weights(count: int) -> Callable[..., np.ndarray]:
    """Return the function `in_constant_memory(weights)`: `count` float32 in constant memory, row by row.

    A kernel that calls it is decorated with `jit_with_constant(WEIGHTS, count)`.
    """
    kind = types.Array(types.float32, 1, "C")

    @intrinsic
    def in_constant_memory(typingctx, weights):
        def codegen(context, builder, signature, arguments):
            code = CudaCode(context, builder)
            pointer = code.weights(ArrayArgument(signature.args[0], arguments[0]), count, pitch=0)
            array = context.make_array(kind)(context, builder)
            # Numba's arrays have generic pointers; the compiler finds where this one comes from.
            data = builder.addrspacecast(pointer.llvm, array.data.type)
            shape, strides = ([context.get_constant(types.intp, one)] for one in (count, 4))
            context.populate_array(array, data=data, shape=shape, strides=strides, itemsize=4, meminfo=None)
            return array._getvalue()

        return kind(weights), codegen

    return in_constant_memory
