"""What the lanes of a warp do together: pass words on, agree on a number, multiply on tensor cores; emitted as LLVM IR.

All lanes of the warp have to be there.
"""

from typing import Any

from llvmlite import ir

from engine.variants.ir.cuda_ir import F32, I32, constant

Values = list[ir.Value]
BIT = ir.IntType(1)
_ALL = -1
_FOUR = ir.LiteralStructType([F32] * 4)


class Warp:
    """Emits them.

    Parameters
    ----------
    builder : IRBuilder
    """

    def __init__(self, builder: ir.IRBuilder) -> None:
        self._builder = builder

    def any(self, condition: ir.Value) -> ir.Value:
        """Return whether a condition holds for any lane."""
        return self._called("llvm.nvvm.vote.any.sync", BIT, [constant(_ALL), condition])

    def largest(self, number: ir.Value) -> ir.Value:
        """Return the largest of the lanes' numbers, unsigned (compute capability 8.0)."""
        return self._reduced("max", number)

    def smallest(self, number: ir.Value) -> ir.Value:
        """Return the smallest of the lanes' numbers, unsigned."""
        return self._reduced("min", number)

    def passed_on(self, word: ir.Value, lane: ir.Value) -> ir.Value:
        """Return the word of another lane."""
        return self._called("llvm.nvvm.shfl.sync.idx.i32", I32, [constant(_ALL), word, lane, constant(31)])

    def multiplied(self, samples: Values, weights: Values, sums: Values | None) -> Values:
        """Return 16 x 8 sums, a lane's 4, of samples times weights and what they are added to; None: nothing.

        16 x 16 by 16 x 8 where there are four words of samples, 16 x 8 by 8 x 8 where there are two: float16, two a word
        (`mma.m16n8k16`, `mma.m16n8k8`; PTX ISA 9.7.14.5, compute capability 8.0).
        """
        builder, depth = self._builder, 4 * len(samples)
        sums = sums or [ir.Constant(F32, 0.0)] * 4
        places = iter(range(4, 4 + len(samples) + len(weights) + len(sums)))
        lists = (", ".join(f"${next(places)}" for _ in values) for values in (samples, weights, sums))
        line = f"mma.sync.aligned.m16n8k{depth}.row.col.f32.f16.f16.f32 {{$0, $1, $2, $3}}, " + ", ".join(
            f"{{{listed}}}" for listed in lists
        )
        kinds = ",".join(["=f"] * 4 + ["r"] * (len(samples) + len(weights)) + ["f"] * 4)
        arguments = [*samples, *weights, *sums]
        function = ir.FunctionType(_FOUR, [argument.type for argument in arguments])
        answer = builder.call(ir.InlineAsm(function, line + ";", kinds, side_effect=False), arguments)
        return [builder.extract_value(answer, place) for place in range(4)]

    def _reduced(self, how: str, number: ir.Value) -> ir.Value:
        function = ir.FunctionType(I32, [I32])
        line = f"redux.sync.{how}.u32 $0, $1, 0xffffffff;"
        emitted = ir.InlineAsm(function, line, "=r,r", side_effect=True)
        return self._builder.call(emitted, [number], attrs=("convergent",))

    def _called(self, name: str, result: ir.Type, arguments: Values) -> Any:
        module = self._builder.module
        kind = ir.FunctionType(result, [argument.type for argument in arguments])
        function = module.globals.get(name) or ir.Function(module, kind, name)
        return self._builder.call(function, arguments, attrs=("convergent",))
