"""The command line of the engine, by the table of its commands, loaded when called. No Qt in here."""

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, NamedTuple, Protocol

DONE, UNEXPECTED, BAD_INPUT, NO_DEVICE, NOT_VERIFIED = 0, 1, 2, 3, 4


class Proof(Protocol):
    """What says whether a result is right: a `Verification`, which loads NumPy."""

    @property
    def passed(self) -> bool:
        """Whether the result is right."""


def status_of(proofs: Iterable[Proof | None]) -> int:
    """Return the exit status of results that were written, by their proofs where they were checked."""
    return NOT_VERIFIED if any(proof is not None and not proof.passed for proof in proofs) else DONE


class Command(NamedTuple):
    """A command: its line in `--help`, and its module, whose function `run` returns the exit status.

    It is imported when the command is called. `run` takes one parameter, `settings`, whose type says
    what the command takes (`engine.commands.arguments`). `usage` has the arguments that it
    needs, `multiplies` says whether it has NumPy multiply matrices.
    """

    help: str
    module: str
    usage: str = ""
    multiplies: bool = False

    def loaded(self) -> Callable[[Any], int]:
        """Return the function, whose module is imported for it."""
        run: Callable[[Any], int] = import_module(self.module, __name__).run
        return run


COMMANDS: dict[str, Command] = {
    "filter": Command("filter a picture and save the result", ".filtering", "IN OUT --mask MASK"),
    "batch": Command("filter many picture files into a folder", ".batch", "IN... --out FOLDER --mask MASK"),
    "bench": Command("measure variants, picture sizes, masks and blocks", ".benchmark", "--out results.json"),
    "explain": Command("say why a filter takes its time: registers, occupancy, waves, halo; without a run",
                       ".explain", "IMAGE --mask MASK --variant KEY"),
    "devices": Command("list devices and why any is unavailable", ".devices"),
    "variants": Command("list kernels, in teaching order", ".variants"),
    "masks": Command("list the preset masks", ".masks"),
    "chains": Command("list the ready chains, or write one into a file to edit", ".chains", "[NAME]"),
    "matmul": Command("multiply matrices: sizes, tiles, times, and what the bandwidth allows",
                      ".matmul", "--size 1024", multiplies=True),
    "network": Command("pass handwritten digits through the CNN report's network, stage by stage",
                       ".network", "--batch 100", multiplies=True),
    "course": Command("list the course papers, and measure their tables on this machine",
                      ".course", "[PAPER]", multiplies=True),
    "code": Command("show a kernel's source with its story, its PTX or SASS, or what two kernels differ in",
                    ".code", "VARIANT"),
    "judge": Command(
        "say whether a CUDA kernel of yours is right, without a GPU: faults with their lines, and counts",
        ".judge", "FILE",
    ),
    "install-desktop": Command("add Haloscope to the desktop's menu", ".install_desktop"),
}  # fmt: skip
"""Every command by its name: a new one is its settings and a function in one module, and one line here."""


def listed() -> str:
    """Return every command with its line of help, a line or two each."""
    lines = []
    for name, command in COMMANDS.items():
        use = f"  {name} {command.usage}".rstrip()
        lines.append(f"{use:30}  {command.help}" if len(use) <= 30 else f"{use}\n{'':32}{command.help}")
    return "\n".join(lines)
