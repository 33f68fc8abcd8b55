"""The code of a kernel in one piece, with the functions that it calls in the place of each call.

What braces and called functions declare gets names of its own there. An instruction under a guard, `@%p1`,
gets a branch around it. Parameters, whose addresses nobody computes, are registers: one for each offset.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from engine.ptx.module import Body, Instruction, Module, PtxError, Statement, Variable, listed
from engine.ptx.parse import IGNORED, variable_of
from engine.ptx.types import DTYPES

_NAME = re.compile(r"[%$\w]+")
_REGISTERS = re.compile(r"\.reg\s+\.(\w+)\s+(.*)", re.DOTALL)
_TABLE = re.compile(r"([$\w]+)\s*:\s*\.branchtargets\s+(.*)", re.DOTALL)
_INSTRUCTION = re.compile(r"(?:@(!?[%$\w]+)\s+)?([a-z][\w.:]*)\s*(.*)", re.DOTALL)
_OPERAND = re.compile(r"(?:[^,\[{(]|\[[^\]]*\]|\{[^}]*\}|\([^)]*\))+")
# The carry flag (PTX ISA, 9.7.2) is a register more, named among the operands.
_CARRY = "%carry"
# Calls in calls double what is called; no kernel that somebody wrote is as long.
MOST_INSTRUCTIONS = 50_000


class Code:
    """The code of a kernel without calls: registers by type, variables, instructions, labels.

    Raises PtxError for a function that calls itself, that the module lacks (`printf`, `malloc`), or that only
    a pointer names.
    """

    def __init__(self, module: Module, entry: str) -> None:
        self._module, self._opened = module, 0
        self.registers: dict[str, str] = {}
        self.passed: dict[str, tuple[str, int]] = {}  # registers that are parameters, and the offset in these
        self.variables: dict[str, Variable] = {}
        self.instructions: list[Instruction] = []
        self.labels: dict[str, int] = {}  # the number of the instruction behind each
        self.targets: dict[str, tuple[str, ...]] = {}  # tables of `brx.idx`
        self._put(module.functions[entry].body, {}, "", "", (entry,))

    def _put(
        self, body: Body, outer: Mapping[str, str], suffix: str, behind: str, callers: tuple[str, ...]
    ) -> None:
        """Append what stands in a pair of braces, with names that end in a suffix.

        A return goes to the label `behind`, where one is given.
        """
        names = dict(outer)
        for one in body:
            if not isinstance(one, list):
                self._declare(one.text, names, suffix)
        for one in body:
            if isinstance(one, list):
                self._put(one, names, self._suffix(suffix), behind, callers)
            elif one.text[-1:] == ":":
                label = one.text[:-1].strip()
                self.labels[names.get(label, label)] = len(self.instructions)
            elif table := _TABLE.fullmatch(one.text):
                labels = tuple(names.get(label, label) for label in _NAME.findall(table[2]))
                self.targets[names.get(table[1], table[1])] = labels
            elif one.text[:1] not in ("", "."):
                self._append(self._instruction(one, names), behind, callers)

    def _suffix(self, suffix: str) -> str:
        self._opened += 1
        return f"{suffix}~{self._opened}"

    def _declare(self, text: str, names: dict[str, str], suffix: str) -> None:
        """Give what a statement declares its name, and note registers and variables."""

        def own(name: str) -> str:
            if suffix:
                names[name] = name + suffix
            return name + suffix

        if found := _REGISTERS.match(text):
            for one in found[2].split(","):
                name, _, count = one.strip().rstrip(">").partition("<")
                if found[1] not in DTYPES:
                    raise PtxError(f"registers of type .{found[1]}", "such are not known here")
                every = [f"{name}{number}" for number in range(int(count))] if count else [name]
                self.registers |= dict.fromkeys(map(own, every), found[1])
        elif text[-1:] == ":" or _TABLE.fullmatch(text):
            own(text.partition(":")[0].strip())
        elif text[:1] == "." and not text.startswith(IGNORED):
            variable = variable_of(text)
            name = own(variable.name)
            self.variables[name] = replace(variable, name=name, extern=False)

    def _instruction(self, one: Statement, names: Mapping[str, str]) -> Instruction:
        if (found := _INSTRUCTION.fullmatch(one.text)) is None:
            raise PtxError("the text of PTX", f"this is no instruction: {one.text[:80]}")
        guard, opcode, rest = (
            _NAME.sub(lambda one: names.get(one[0], one[0]), text or "") if names else text or ""
            for text in found.groups()
        )
        name, *modifiers = opcode.split(".")
        operands = tuple(text.strip() for text in _OPERAND.findall(rest) if text.strip())
        if name in ("addc", "subc", "madc") or "cc" in modifiers:
            self.registers[_CARRY] = "pred"
            target = f"{operands[0]}|{_CARRY}" if "cc" in modifiers else operands[0]
            operands = (target, *operands[1:], _CARRY)
        return Instruction(name, (*modifiers,), operands, guard, one.line)

    def _append(self, one: Instruction, behind: str, callers: tuple[str, ...]) -> None:
        if one.guard and one.name != "bra":
            label = self._suffix("around")
            guard = one.guard[1:] if one.guard[0] == "!" else f"!{one.guard}"
            self._emit(one, name="around", modifiers=(), operands=(label,), guard=guard)
            self._append(replace(one, guard=""), behind, callers)
            self.labels[label] = len(self.instructions)
        elif one.name == "call":
            self._call(one, callers)
        elif behind and one.name == "ret":
            self._emit(one, name="bra", modifiers=("uni",), operands=(behind,))
        elif "param" in one.modifiers and one.name in ("ld", "st"):
            self._pass(one)
        else:
            self._emit(one)

    def _emit(self, one: Instruction, **changes: Any) -> None:
        self.instructions.append(replace(one, number=len(self.instructions), **changes))

    def _call(self, call: Instruction, callers: tuple[str, ...]) -> None:
        operands = list(call.operands)
        results = listed(operands.pop(0)) if operands[0].startswith("(") else []
        name = operands.pop(0)
        given = listed(operands.pop(0)) if operands else []
        function = self._module.functions.get(name)
        why = ""
        if name in ("vprintf", "printf"):
            name, why = "printf", "an interpreted kernel cannot print"
        elif function is None:
            why = "the module has no such function, or only a pointer names it"
        elif name in callers:
            why = "a function that calls itself is not interpreted"
        elif len(self.instructions) > MOST_INSTRUCTIONS:
            why = f"with all that it calls the kernel has more than {MOST_INSTRUCTIONS:,} instructions"
        if why or function is None:
            remedy = "Remove it." if name == "printf" else ""
            raise PtxError(f"the call of {name}", why, remedy).at(call.line)
        names = dict(zip((one.name for one in function.parameters), given, strict=True))
        names |= zip((one.name for one in function.results), results, strict=True)
        suffix = self._suffix("")
        self._put(function.body, names, suffix, f"behind{suffix}", (*callers, name))
        self.labels[f"behind{suffix}"] = len(self.instructions)

    def _pass(self, one: Instruction) -> None:
        """Append moves between registers instead of a load or a store of parameters."""
        is_load, size = one.name == "ld", one.dtype.itemsize
        values, (name, first) = one.operands[not is_load], one.address
        for number, register in enumerate(listed(values)):
            offset = first + number * size
            place = f"[{name}+{offset}]" if offset else f"[{name}]"
            self.passed[place], self.registers[place] = (name, offset), f"b{8 * max(size, 2)}"
            operands = (register, place) if is_load else (place, register)
            self._emit(one, name=f"{one.name}.param", modifiers=one.modifiers[-1:], operands=operands)
