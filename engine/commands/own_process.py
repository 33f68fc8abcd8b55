"""What the program answers in as a process of its own: streams, threads, crash log, shortages, end."""

import gc
from collections.abc import Callable
from importlib import import_module

from engine.commands import COMMANDS
from engine.files.crash_log import open_crash_log
from engine.files.standard_streams import flushed, keep_answers_alone, log, open_closed_streams
from engine.host.blas_threads import start_without
from engine.interrupts import listen
from engine.shortages import shortage_of


def answered(main: Callable[[list[str]], int], arguments: list[str]) -> int:
    """Answer by `main` as a process of its own; return the exit status."""
    open_closed_streams()
    try:
        if arguments[:1] == ["batch"]:
            # A process that shall do the work goes on.
            status: int | None = import_module("engine.commands.batch_watch").watch()
            if status is not None:
                return status
        listen()
        command = COMMANDS.get(arguments[0]) if arguments else None
        # Of the window's two processes the engine's multiplies matrices.
        if command is None or not command.multiplies:
            start_without()
        open_crash_log()
        # A window prints no answer.
        if command is not None:
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
