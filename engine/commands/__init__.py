"""The command line of the engine: the table of its commands. No Qt in here.

Importing this costs nothing; a command loads what it needs when it is called.
"""

import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import NamedTuple

DONE, UNEXPECTED, BAD_INPUT, NO_DEVICE, NOT_VERIFIED = 0, 1, 2, 3, 4


class Command(NamedTuple):
    """A command: its line in `--help`, its module, and the function there that returns the exit status.

    The module is imported when the command is called. The function takes one parameter, `settings`, whose
    type says what the command takes (`engine.commands.arguments`). `usage` has the arguments that it needs;
    `multiplies` says whether it has NumPy multiply matrices.
    """

    help: str
    module: str
    usage: str = ""
    function: str = "run"
    multiplies: bool = False


COMMANDS: dict[str, Command] = {
    "filter": Command(
        "filter a picture and save the result", "engine.commands.filtering", "IN OUT --mask MASK"
    ),
    "batch": Command(
        "filter many picture files into a folder", "engine.commands.batch", "IN... --out FOLDER --mask MASK"
    ),
    "bench": Command(
        "measure variants, picture sizes, masks and blocks", "engine.commands.benchmark", "--out results.json"
    ),
    "devices": Command(
        "list devices and why any is unavailable", "engine.commands.listing", function="run_devices"
    ),
    "variants": Command(
        "list kernels, in teaching order", "engine.commands.listing", function="run_variants"
    ),
    "masks": Command("list the preset masks", "engine.commands.listing", function="run_masks"),
    "matmul": Command(
        "multiply matrices: sizes, tiles, times, and what the bandwidth allows",
        "engine.commands.matmul",
        "--size 1024",
        multiplies=True,
    ),
    "network": Command(
        "pass handwritten digits through the CNN report's network, stage by stage",
        "engine.commands.network",
        "--batch 100",
        multiplies=True,
    ),
    "course": Command(
        "list the course papers, and measure their tables on this machine",
        "engine.commands.course",
        "[PAPER]",
        multiplies=True,
    ),
}
"""Every command by its name: a new one is its settings and a function in one module, and one line here."""


def listed() -> str:
    """Return every command with its line of help, a line or two each."""
    lines = []
    for name, command in COMMANDS.items():
        use = f"  {name} {command.usage}".rstrip()
        lines.append(f"{use:30}  {command.help}" if len(use) <= 30 else f"{use}\n{'':32}{command.help}")
    return "\n".join(lines)


def main(argv: list[str]) -> int:
    """Run the command that `argv` names, without the program's name, and return the exit status.

    0 done, 2 bad use or bad input, 3 no such device or one that cannot be used, 4 failed verification; 1 for
    an unexpected error, 141 where the reader of standard output closed it. An error is one line on standard
    error. Ctrl+C ends the process (`engine.interrupts`).
    """
    from engine.commands.arguments import call
    from engine.commands.output import log, log_notes
    from engine.compiled.code_store import report_code_not_kept
    from engine.errors import DeviceFault, DeviceUnavailable, EngineError, UnknownName, VerificationFailed
    from engine.files.standard_streams import PIPE_CLOSED, silence
    from engine.shortages import shortage_of

    try:
        with report_code_not_kept(lambda warning: log_notes([str(warning)])):
            name, arguments = (argv[0], argv[1:]) if argv else ("", [])
            if name not in COMMANDS:
                remedy = f"Choose one of {', '.join(COMMANDS)}."
                raise UnknownName(f"command '{name}'", "there is no such command", remedy)
            command = COMMANDS[name]
            return call(name, getattr(import_module(command.module), command.function), arguments)
    except SystemExit:  # after --help
        return DONE
    except EngineError as error:
        line, status = str(error), BAD_INPUT
        if isinstance(error, DeviceUnavailable | VerificationFailed):
            status = NO_DEVICE if isinstance(error, DeviceUnavailable) else NOT_VERIFIED
        if isinstance(error, DeviceFault):
            log(line)
            leave_at_once(status)
            return status
    except BrokenPipeError:
        # Python would report it once more when it closes standard output.
        silence(sys.stdout)
        return PIPE_CLOSED
    except Exception as error:  # noqa: BLE001 - the process's boundary: any error becomes a line
        if (shortage := shortage_of(error)) is not None:
            log(str(shortage))
            return BAD_INPUT
        cause = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        line = f"Unexpected error: {cause}. Please report it with this line and the command."
        status = UNEXPECTED
    log(line)
    return status


def leave_at_once(status: int) -> None:
    """End the process without destructors: those of a lost CUDA context raise or hang."""
    for stream in (sys.stdout, sys.stderr):
        # AttributeError: a stream that was closed before the start is None.
        with suppress(OSError, AttributeError):
            stream.flush()
    os._exit(status)
