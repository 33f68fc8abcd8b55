"""Emitters compiled for this machine's processor: the code that kernels have, but for what only a GPU has."""

import re

from llvmlite import ir
from numba import njit
from numba.extending import intrinsic

from engine.variants.ir.cuda_code import CudaCode
from engine.variants.ir.device_function import definition
from engine.variants.ir.value import F32, I32, I64


class ProcessorCode(CudaCode):
    """The operations as plain instructions: copies that nobody waits for, constant memory, PTX."""

    def weights(self, array, count, pitch, first=0):
        """Return the pointer to weights in an array that has them as constant memory would."""
        return self.pointer(array) + first

    def copy_ahead(self, target, source, count, only_if=None, target_at=0, source_at=0):
        """Copy with loads and stores; nothing where a device would refuse addresses that are not aligned."""
        itemsize = 4 if target.llvm.type.pointee == F32 else 1
        target, source = target + target_at, source + source_at
        addresses = [self.value(self.builder.ptrtoint(one.llvm, I64)) for one in (target, source)]
        past = (addresses[0] | addresses[1]) & (itemsize * count - 1)
        condition = past == 0 if only_if is None else self.all_of(past == 0, only_if)
        for _ in self.where(condition):
            for k in range(count):
                (target + k).store((source + k).load())

    def close_group(self):
        """Do nothing: copies have arrived."""

    def load_bytes(self, pointer, words):
        """Load words and take their bytes with shifts."""
        loaded = pointer.pointing_to(I32).load(words)
        return [self.float32((word >> 8 * byte) & 255) for word in loaded for byte in range(4)]

    def quantised(self, value, itemsize):
        """Convert whole numbers that the type has."""
        return self.value(self.builder.fptoui(value.llvm, ir.IntType(8 * itemsize)))

    def packed_word(self, values):
        """Put whole numbers from 0 to 255 together."""
        word = self.integer(0)
        for k, value in enumerate(values):
            word = word | (self.quantised(value, 1).zext(I32) << 8 * k)
        return word

    def statement(self, text, constraints, arguments, result=None):
        """Do nothing: one lane after another waits for none."""
        assert text.startswith("bar.warp.sync")


def on_the_processor(function):
    """Return what a kernel calls as a function compiled for this machine."""
    emitted = intrinsic(definition(function.returns, function.emit, ProcessorCode))
    return njit(lambda *arguments: emitted(*arguments))


class BytesOfWords:
    """Stands in for `CudaCode`: words are lists of 4 things, a permutation picks from the 8 of two words."""

    def assembly(self, line, kinds, arguments, result):
        """Do what a `prmt` says."""
        found = re.fullmatch(r"prmt\.b32 \$0, \$1, \$2, (\d+);", line)
        assert found
        both = arguments[0] + arguments[1]
        return [both[int(found[1]) >> 4 * place & 7] for place in range(4)]
