"""A function of ours with its lines, as data. Needs nothing else of this room."""

import ast
from dataclasses import dataclass
from enum import StrEnum


class Role(StrEnum):
    """What a function is for a kernel."""

    KERNEL = "kernel"
    DEVICE_FUNCTION = "device function"
    EMITTER = "emitter"
    HELPER = "helper of emitters"
    HOST = "host code"


@dataclass(frozen=True, slots=True)
class SourceFunction:
    """A function with the lines of its file, as they are there; a kernel's name is that of the inner one."""

    role: Role
    name: str
    path: str  # from the folder that holds the engine's own on, with slashes
    first_line: int  # from 1
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        """All its lines."""
        return "\n".join(self.lines)

    @property
    def tree(self) -> ast.Module:
        """Its syntax tree, whose line numbers are positions in `lines`, from 1."""
        indent = len(self.lines[0]) - len(self.lines[0].lstrip())
        return ast.parse("\n".join(line[indent:] for line in self.lines))

    @property
    def is_kernel(self) -> bool:
        """Whether it is a kernel, or a compiled function of the CPU."""
        return self.role is Role.KERNEL
