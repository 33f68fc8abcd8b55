"""Functions that a kernel calls are put in the place of the call, each time with registers of their own.

Threads of a called function then take part in the order of positions like all others. What a call passes in
`.param` memory becomes a register for each offset.
"""

import re
from collections.abc import Callable
from dataclasses import replace

from engine.ptx.module import Function, Guard, Instruction, Module, PtxError, listed

_NAME = re.compile(r"[%$\w][%$\w~@]*")
_ADDRESS = re.compile(r"\[\s*([%$\w~@]+)\s*(?:\+\s*(\d+))?\s*\]")
# Calls in calls double what is called; no kernel that somebody wrote is as long.
MOST_INSTRUCTIONS = 50_000


def with_calls_inlined(module: Module, entry: str) -> Function:
    """Return a kernel of a module without calls.

    Raises PtxError for a function that calls itself, that the module lacks (`printf`, `malloc`), or that only
    a pointer names.
    """
    kernel = module.functions[entry]
    if not any(one.name == "call" for one in kernel.instructions):
        return kernel
    whole = replace(
        kernel,
        registers=dict(kernel.registers),
        variables=dict(kernel.variables),
        instructions=[],
        labels={},
        targets=dict(kernel.targets),
    )
    _Inliner(module, whole).put(kernel, lambda name: name, "", (entry,))
    return whole


class _Inliner:
    def __init__(self, module: Module, whole: Function) -> None:
        self._module, self._whole = module, whole
        self._calls = 0

    def put(
        self, function: Function, named: Callable[[str], str], behind: str, callers: tuple[str, ...]
    ) -> None:
        """Append a function's instructions under other names; what returns goes to the label `behind`."""
        whole = self._whole
        labels: dict[int, list[str]] = {}
        for label, number in function.labels.items():
            labels.setdefault(number, []).append(label)
        for number, instruction in enumerate((*function.instructions, None)):
            for label in labels.get(number, ()):
                whole.labels[named(label)] = len(whole.instructions)
            if instruction is None:
                break
            if instruction.name == "call":
                self._call(instruction, function, named, callers)
                continue
            operands = tuple(_NAME.sub(lambda one: named(one[0]), one) for one in instruction.operands)
            guard = instruction.guard and Guard(named(instruction.guard.register), instruction.guard.negated)
            if behind and instruction.name == "ret":
                own = Instruction("bra", ("uni",) * (guard is None), (behind,), guard, instruction.line)
                whole.instructions.append(own)
                continue
            changed = replace(instruction, operands=operands, guard=guard)
            whole.instructions += self._passing(changed) or [changed]

    def _call(
        self, call: Instruction, caller: Function, named: Callable[[str], str], callers: tuple[str, ...]
    ) -> None:
        operands = list(call.operands)
        results = listed(operands.pop(0)) if operands[0].startswith("(") else []
        name = operands.pop(0)
        given = listed(operands.pop(0)) if operands else []
        function = self._module.functions.get(name)
        if function is None or not (function.instructions or function.is_entry):
            if name in ("vprintf", "printf"):
                why = "an interpreted kernel cannot print"
                raise PtxError("the call of printf", why, "Remove it.").at(call.line)
            why = "the module has no such function, or only a pointer names it"
            raise PtxError(f"the call of {name}", why).at(call.line)
        if name in callers:
            why = "a function that calls itself is not interpreted"
            raise PtxError(f"the call of {name}", why).at(call.line)
        if len(self._whole.instructions) > MOST_INSTRUCTIONS:
            why = f"with all that it calls the kernel has more than {MOST_INSTRUCTIONS:,} instructions"
            raise PtxError(f"the call of {name}", why).at(call.line)
        self._calls += 1
        suffix = f"@{self._calls}"
        own = {
            *function.registers, *function.labels, *function.variables, *function.targets,
        }  # fmt: skip
        renamed = {one: f"{one}{suffix}" for one in own}
        renamed |= dict(zip((one.name for one in function.parameters), map(named, given), strict=True))
        renamed |= dict(zip((one.name for one in function.results), map(named, results), strict=True))
        whole = self._whole
        whole.registers |= {renamed[one]: kind for one, kind in function.registers.items()}
        for one, variable in function.variables.items():
            # What it passes on by `.param` is no memory.
            whole.variables[renamed[one]] = replace(variable, name=renamed[one])
        for one in (*function.targets,):
            whole.targets[renamed[one]] = tuple(f"{label}{suffix}" for label in function.targets[one])
        behind = f"behind{suffix}"
        self.put(function, lambda one: renamed.get(one, one), behind, (*callers, name))
        whole.labels[behind] = len(whole.instructions)

    def _passing(self, instruction: Instruction) -> list[Instruction] | None:
        """Return moves instead of a load from, or a store to, what a call passes."""
        if instruction.name not in ("ld", "st") or "param" not in instruction.modifiers:
            return None
        is_load = instruction.name == "ld"
        address, values = instruction.operands if not is_load else reversed(instruction.operands)
        found = _ADDRESS.fullmatch(address)
        if found is None or any(found[1] == one.name for one in self._whole.parameters):
            return None
        kind = instruction.modifiers[-1]
        size = int(re.sub(r"\D", "", kind)) // 8
        moves = []
        for number, register in enumerate(listed(values)):
            passed = f"{found[1]}+{int(found[2] or 0) + number * size}"
            self._whole.registers[passed] = f"b{8 * max(size, 2)}"
            pair = (register, passed) if is_load else (passed, register)
            # Of 8 bit a register of 16 is moved.
            move = replace(instruction, name="mov", modifiers=(kind if size > 1 else "b16",), operands=pair)
            moves.append(move)
        return moves
