"""Functions that a kernel calls are put in the place of the call, each time with registers of their own.

Threads of a called function then take part in the order of positions like all others. What a call passes in
`.param` memory becomes a register for each offset.
"""

import re
from collections.abc import Mapping
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
    _Inliner(module, whole).put(kernel, {}, "", (entry,))
    return whole


class _Inliner:
    def __init__(self, module: Module, whole: Function) -> None:
        self._module, self._whole = module, whole
        self._calls = 0

    def put(
        self, function: Function, names: Mapping[str, str], behind: str, callers: tuple[str, ...]
    ) -> None:
        """Append a function's instructions under other names; what returns goes to the label `behind`."""
        whole = self._whole
        labels: dict[int, list[str]] = {}
        for label, number in function.labels.items():
            labels.setdefault(number, []).append(names.get(label, label))
        for number, instruction in enumerate(function.instructions):
            whole.labels |= dict.fromkeys(labels.get(number, ()), len(whole.instructions))
            operands = tuple(
                _NAME.sub(lambda one: names.get(one[0], one[0]), one) for one in instruction.operands
            )
            guard = instruction.guard
            if guard is not None:
                guard = Guard(names.get(guard.register, guard.register), guard.negated)
            changed = replace(instruction, operands=operands, guard=guard)
            if instruction.name == "call":
                self._call(changed, callers)
            elif behind and instruction.name == "ret":
                modifiers = ("uni",) * (guard is None)
                whole.instructions.append(
                    replace(changed, name="bra", modifiers=modifiers, operands=(behind,))
                )
            else:
                whole.instructions += self._passing(changed) or [changed]
        whole.labels |= dict.fromkeys(labels.get(len(function.instructions), ()), len(whole.instructions))

    def _call(self, call: Instruction, callers: tuple[str, ...]) -> None:
        operands, whole = list(call.operands), self._whole
        results = listed(operands.pop(0)) if operands[0].startswith("(") else []
        name = operands.pop(0)
        given = listed(operands.pop(0)) if operands else []
        function = self._module.functions.get(name, Function(name, False))
        why = ""
        if name in ("vprintf", "printf"):
            name, why = "printf", "an interpreted kernel cannot print"
        elif not function.instructions and not function.is_entry:
            why = "the module has no such function, or only a pointer names it"
        elif name in callers:
            why = "a function that calls itself is not interpreted"
        elif len(whole.instructions) > MOST_INSTRUCTIONS:
            why = f"with all that it calls the kernel has more than {MOST_INSTRUCTIONS:,} instructions"
        if why:
            remedy = "Remove it." if name == "printf" else ""
            raise PtxError(f"the call of {name}", why, remedy).at(call.line)
        self._calls += 1
        own = function.registers | function.labels | function.variables | function.targets
        names = {one: f"{one}@{self._calls}" for one in own}
        names |= zip((one.name for one in function.parameters), given, strict=True)
        names |= zip((one.name for one in function.results), results, strict=True)
        whole.registers |= {names[one]: kind for one, kind in function.registers.items()}
        # What it passes on by `.param` is no memory.
        whole.variables |= {
            names[one]: replace(variable, name=names[one]) for one, variable in function.variables.items()
        }
        whole.targets |= {
            names[one]: tuple(names[label] for label in labels) for one, labels in function.targets.items()
        }
        behind = f"behind@{self._calls}"
        self.put(function, names, behind, (*callers, name))
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
