"""Haloscope: `python main.py` opens the window, `python main.py COMMAND` answers on the command line.

This file only chooses.
"""

# Not `signal`, which needs 4 ms until Ctrl+C is handled.
import _signal  # type: ignore[import-not-found]
import os


def _stop(number: int, _: object) -> None:
    """End the process at Ctrl+C until `engine.interrupts` listens, in the middle of any import."""
    try:
        os.write(2, b"Stopped.\n")
    finally:
        os._exit(128 + number)


# The second: the command that an installation makes calls `run`.
if (
    __name__ in ("__main__", "haloscope.__main__")
    and _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler
):
    _signal.signal(_signal.SIGINT, _stop)

import gc  # noqa: E402
import sys  # noqa: E402


def start(arguments: list[str]) -> int:
    """Answer as a process of its own; return the exit status."""
    from engine.commands import COMMANDS
    from engine.files.standard_streams import flushed, keep_answers_alone, log, open_closed_streams
    from engine.interrupts import listen
    from engine.shortages import shortage_of

    open_closed_streams()
    try:
        if arguments[:1] == ["batch"]:
            from engine.commands.batch_watch import watch

            # A process that shall do the work goes on.
            if (status := watch()) is not None:
                return status
        listen()
        # A window prints no answer.
        if arguments and arguments[0] in COMMANDS:
            keep_answers_alone()
        return flushed(main(arguments))
    except SystemExit as leaving:  # after --help, or a line on bad use
        return flushed(leaving.code if isinstance(leaving.code, int) else 0)
    except (OSError, ImportError, RuntimeError, MemoryError) as error:
        # Not even what would say so could be loaded.
        if (shortage := shortage_of(error)) is None:
            raise
        log(str(shortage))
        return 2
    finally:
        # At its exit Python looks for cycles among all objects, several times: 22 of the 260 ms of `filter`.
        gc.freeze()


def main(arguments: list[str]) -> int:
    """Open the window or run a command; return the exit status."""
    from engine.commands import COMMANDS
    from engine.host.blas_threads import start_without
    from gui.shell.crash_log import open_crash_log

    # Of the window's two processes the engine's multiplies matrices.
    multiplies = bool(arguments) and arguments[0] in COMMANDS and COMMANDS[arguments[0]].multiplies
    if not multiplies:
        start_without()
    open_crash_log()
    # Answered by the engine alone, without Qt. To open a picture of such a name, write ./filter.
    if arguments and arguments[0] in COMMANDS:
        from engine.commands.command_line import main as command

        return command(arguments)
    from gui.shell.launch import main as show

    return show(arguments)


def run() -> int:
    """Answer to the arguments of the command line; return the exit status."""
    return start(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(run())
