"""Runs a command: its module is imported, its settings are read, and an error becomes a line and a status."""

import os
import sys
from contextlib import suppress

from engine import errors
from engine.commands import BAD_INPUT, COMMANDS, DONE, NO_DEVICE, NOT_VERIFIED, UNEXPECTED
from engine.commands.arguments import read, settings_of
from engine.commands.output import log, log_notes
from engine.compiled.code_store import report_code_not_kept
from engine.errors import DeviceFault, EngineError, UnknownName
from engine.files.standard_streams import PIPE_CLOSED, answers, silence
from engine.process import shortage_of


def main(argv: list[str]) -> int:
    """Run the command that `argv` names, without the program's name, and return the exit status.

    0 done, 2 bad use or bad input, 3 no such device or server, or one that cannot be used, 4 failed
    verification; 1 for an unexpected error, 141 where the reader of standard output closed it. An error is
    one line on standard error. Ctrl+C ends the process (`engine.interrupts`).
    """
    try:
        with report_code_not_kept(lambda warning: log_notes([str(warning)])):
            name, arguments = (argv[0], argv[1:]) if argv else ("", [])
            if name not in COMMANDS:
                remedy = f"Choose one of {', '.join(COMMANDS)}."
                raise UnknownName(f"command '{name}'", "there is no such command", remedy)
            function = COMMANDS[name].loaded()
            return function(read(name, settings_of(function), arguments))
    except SystemExit:  # after --help
        return DONE
    except EngineError as error:
        line, status = str(error), BAD_INPUT
        if isinstance(error, errors.DeviceUnavailable | errors.LineLost):
            status = NO_DEVICE
        elif isinstance(error, errors.VerificationFailed):
            status = NOT_VERIFIED
        if isinstance(error, DeviceFault):
            log(line)
            leave_at_once(status)
            return status
    except BrokenPipeError:
        # Python would report it once more when it closes standard output.
        silence(answers())
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
    for stream in (answers(), sys.stderr):
        # AttributeError: a stream that was closed before the start is None.
        with suppress(OSError, AttributeError):
            stream.flush()
    os._exit(status)
