"""What is known of a kernel before it runs: its flow, its variables, the shortest access of each memory."""

from dataclasses import dataclass

from engine.ptx.flow import Flow
from engine.ptx.module import Function, Instruction, Variable
from engine.ptx.types import DTYPES


@dataclass(frozen=True, slots=True, eq=False)
class KernelFacts:
    """A kernel without calls.

    Parameters
    ----------
    function : Function
    variables : dict of str to Variable
        Those of the module and of the function.
    flow : Flow
    shared_granule, global_granule : int
        The shortest access to shared and global memory, bytes.
    knows_warps : bool
        Whether it has barriers of warps.
    """

    function: Function
    variables: dict[str, Variable]
    flow: Flow
    shared_granule: int
    global_granule: int
    knows_warps: bool

    @property
    def instructions(self) -> list[Instruction]:
        """Its instructions in the order of positions."""
        return self.function.instructions


def facts_of(function: Function, variables: dict[str, Variable], flow: Flow) -> KernelFacts:
    """Return what is known of a kernel without calls."""
    instructions = function.instructions
    return KernelFacts(
        function,
        variables,
        flow,
        _granule(instructions, "shared"),
        _granule(instructions, "global"),
        any(one.name in ("bar", "barrier") and "warp" in one.modifiers for one in instructions),
    )


_SPACES = {"shared", "global", "local", "const", "param"}


def _granule(instructions: list[Instruction], space: str) -> int:
    sizes = [
        DTYPES[one.modifiers[-1]].itemsize
        for one in instructions
        if one.name in ("ld", "st", "atom", "red")
        and not (_SPACES - {space}) & {*one.modifiers}
        and one.modifiers[-1] in DTYPES
    ]
    return min([4, *sizes])
