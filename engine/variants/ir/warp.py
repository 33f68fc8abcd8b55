"""What the lanes of a warp do together: pass words on, agree on a number, multiply on tensor cores.

All lanes of the warp have to be there, so no lane of plain Python can do it alone: such an emitter has a
reference implementation beside it (`device_function`).
"""

from typing import Any

from llvmlite import ir

from engine.variants.ir.cuda_code import CudaCode
from engine.variants.ir.value import F32, I32, Value

Values = list[Any]
_BIT = ir.IntType(1)
_ALL = -1
_FOUR = ir.LiteralStructType([F32] * 4)


class Warp:
    """Emits them.

    Parameters
    ----------
    code : CudaCode
    """

    def __init__(self, code: CudaCode) -> None:
        self._code = code

    def any(self, condition: Value) -> Value:
        """Return whether a condition holds for any lane."""
        return self._together("vote.any.sync", _BIT, self._code.integer(_ALL), condition)

    def passed_on(self, word: Value, lane: Value) -> Value:
        """Return the word of another lane."""
        all_lanes, most = self._code.integer(_ALL), self._code.integer(31)
        return self._together("shfl.sync.idx.i32", I32, all_lanes, word, lane, most)

    def _together(self, name: str, result: ir.Type, *arguments: Value) -> Value:
        return self._code.called(f"nvvm.{name}", result, *arguments, attributes=("convergent",))

    def largest(self, number: Value) -> Value:
        """Return the largest of the lanes' numbers, unsigned (compute capability 8.0)."""
        return self._reduced("max", number)

    def smallest(self, number: Value) -> Value:
        """Return the smallest of the lanes' numbers, unsigned."""
        return self._reduced("min", number)

    def _reduced(self, how: str, number: Value) -> Value:
        function = ir.FunctionType(I32, [I32])
        line = f"redux.sync.{how}.u32 $0, $1, 0xffffffff;"
        emitted = ir.InlineAsm(function, line, "=r,r", side_effect=True)
        call = self._code.builder.call(emitted, [number.llvm], attrs=("convergent",))
        return self._code.value(call)

    def multiplied(self, samples: Values, weights: Values, sums: Values | None) -> Values:
        """Return 16 x 8 sums, a lane's 4, of samples times weights and what they are added to; None: nothing.

        16 x 16 by 16 x 8 where there are four words of samples, 16 x 8 by 8 x 8 where there are two: float16,
        two a word (`mma.m16n8k16`, `mma.m16n8k8`; PTX ISA 9.7.14.5, compute capability 8.0).
        """
        code, depth = self._code, 4 * len(samples)
        sums = sums or [code.f32(0.0)] * 4
        places = iter(range(4, 4 + len(samples) + len(weights) + len(sums)))
        lists = (", ".join(f"${next(places)}" for _ in values) for values in (samples, weights, sums))
        line = f"mma.sync.aligned.m16n8k{depth}.row.col.f32.f16.f16.f32 {{$0, $1, $2, $3}}, " + ", ".join(
            f"{{{listed}}}" for listed in lists
        )
        kinds = ",".join(["=f"] * 4 + ["r"] * (len(samples) + len(weights)) + ["f"] * 4)
        return code.parts(code.assembly(line + ";", kinds, [*samples, *weights, *sums], _FOUR))
