"""The command line of the engine: the table of its commands. No Qt in here.

Importing this costs nothing; a command loads what it needs when it is called.
"""

import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import TextIO

DONE, UNEXPECTED, BAD_INPUT, NO_DEVICE, NOT_VERIFIED = 0, 1, 2, 3, 4
# What shells report of a program that a signal ended: 128 and the signal's number.
INTERRUPTED, PIPE_CLOSED = 130, 141


@dataclass(frozen=True, slots=True)
class Command:
    """A command: what `--help` says of it, and where it stands.

    Parameters
    ----------
    help : str
        One line.
    module : str
        Has `function`, which takes the arguments and returns the exit status; imported when the command is
        called.
    usage : str
        The arguments that it needs, for the list of all commands.
    """

    help: str
    module: str
    usage: str = ""
    function: str = "run"


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
        "what runs here, and why a device cannot", "engine.commands.listing", function="run_devices"
    ),
    "variants": Command(
        "the ways to compute a filter, in teaching order", "engine.commands.listing", function="run_variants"
    ),
    "masks": Command("the ready masks", "engine.commands.listing", function="run_masks"),
    "matmul": Command(
        "multiply matrices: sizes, tiles, times, and what the bandwidth allows",
        "engine.commands.matmul",
        "--size 1024",
    ),
    "course": Command(
        "the course papers, and their tables for this machine", "engine.commands.course", "[PAPER]"
    ),
}
"""Every command by its name: a new one is one module and one line here."""


def listed() -> str:
    """Return every command with its line of help, a line or two each."""
    lines = []
    for name, command in COMMANDS.items():
        use = f"  {name} {command.usage}".rstrip()
        lines.append(f"{use:30}  {command.help}" if len(use) <= 30 else f"{use}\n{'':32}{command.help}")
    return "\n".join(lines)


def main(argv: list[str]) -> int:
    """Do what a command says.

    Parameters
    ----------
    argv : list of str
        The command's name and its arguments, without the program's name.

    Returns
    -------
    int
        Exit status: 0 done, 2 bad use or bad input, 3 no such device or one that cannot be used, 4 failed
        verification; 1 for what nobody expected, 130 after Ctrl+C. An error is one line on standard error.
    """
    from engine.commands.output import tell_notes
    from engine.device.code_store import told_of_code_not_kept
    from engine.errors import DeviceFault, DeviceUnavailable, EngineError, VerificationFailed
    from engine.files.standard_streams import flushed

    try:
        with told_of_code_not_kept(lambda warning: tell_notes([str(warning)])):
            status = _command(argv)
        return flushed(status)
    except DeviceFault as error:
        _complain(str(error))
        leave_at_once(NO_DEVICE)
        return NO_DEVICE
    except DeviceUnavailable as error:
        return _complain(str(error), NO_DEVICE)
    except VerificationFailed as error:
        return _complain(str(error), NOT_VERIFIED)
    except EngineError as error:
        return _complain(str(error))
    except MemoryError:
        return _complain("Not enough memory: the system gave no more. Use a smaller picture.")
    except KeyboardInterrupt as stop:
        # `report_interrupt` says more.
        return _complain(str(stop) or "Stopped.", INTERRUPTED)
    except BrokenPipeError:
        # Whoever read has enough. Python would complain once more when it closes standard output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except Exception as error:  # noqa: BLE001 - the process's boundary: whatever it was becomes a line
        cause = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        line = (
            f"The program met something unexpected: {cause}. Please report it with this line and the command."
        )
        return _complain(line, UNEXPECTED)


def _command(argv: list[str]) -> int:
    name, arguments = (argv[0], argv[1:]) if argv else ("", [])
    command = COMMANDS.get(name)
    if command is None:
        from engine.errors import UnknownName

        raise UnknownName(
            f"command '{name}'", "no command is called that", f"Choose one of {', '.join(COMMANDS)}."
        )
    status: int = getattr(import_module(command.module), command.function)(arguments)
    return status


def leave_at_once(status: int) -> None:
    """End the process without destructors: those of a lost CUDA context raise or hang."""
    with suppress(OSError):
        _flush(sys.stdout)
        _flush(sys.stderr)
    os._exit(status)


def _flush(stream: TextIO | None) -> None:
    if stream is not None:  # closed by whoever started the program
        stream.flush()


def _complain(line: str, status: int = BAD_INPUT) -> int:
    from engine.commands.output import tell

    tell(line)
    return status
