"""What the program answers in as a process of its own: streams, threads, crash log, shortages, end.

`python -m engine.commands.own_process COMMAND ...` is a command of the window's, which ends with it: its
standard input closes then.
"""

import _thread
import gc
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path

from engine.commands import COMMANDS
from engine.files import standard_streams
from engine.files.standard_streams import flushed, keep_answers_alone, open_closed_streams, open_crash_log
from engine.interrupts import listen
from engine.process import shortage_of, start_no_blas_threads, take_process, with_blas_threads

_LEAVING_S = 2.0


def command_process(arguments: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Return the words and the environment of a process that runs a command, and ends with this one."""
    root = Path(__file__).resolve().parents[2]
    places = os.pathsep.join(dict.fromkeys([str(root), *filter(None, sys.path)]))
    command = [sys.executable, "-P", "-m", f"{__package__}.own_process", *arguments]
    return command, with_blas_threads(os.environ) | {"PYTHONPATH": places}


def answered(
    main: Callable[[list[str]], int], arguments: list[str], *, ends_with_starter: bool = False
) -> int:
    """Answer by `main` as a process of its own; return the exit status."""
    open_closed_streams()
    answer = partial(_answer_of, main, arguments, ends_with_starter=ends_with_starter)
    try:
        if arguments[:1] == ["batch"]:
            status: int = import_module("engine.commands.batch_watch").watched.status_of(answer)
            return status
        return answer()
    except SystemExit as leaving:  # after --help, or a line on bad use
        return flushed(leaving.code if isinstance(leaving.code, int) else 0)
    except (OSError, ImportError, RuntimeError, MemoryError) as error:
        # Not even what would say so could be loaded.
        if (shortage := shortage_of(error)) is None:
            raise
        standard_streams.log(str(shortage))
        return 2
    finally:
        # At its exit Python looks for cycles among all objects, several times: 22 of the 260 ms of `filter`.
        gc.freeze()


def _answer_of(main: Callable[[list[str]], int], arguments: list[str], *, ends_with_starter: bool) -> int:
    listen()
    take_process(lives_on=False)
    if ends_with_starter:
        _thread.start_new_thread(_end_with_starter, ())
    command = COMMANDS.get(arguments[0]) if arguments else None
    # Of the window's two processes the engine's multiplies matrices.
    if command is None or not command.multiplies:
        start_no_blas_threads()
    open_crash_log()
    # A window prints no answer.
    if command is not None:
        keep_answers_alone()
    return flushed(main(arguments))


def _end_with_starter() -> None:
    while os.read(0, 4096):
        pass
    # In order, with its own processes and after a file that is being written; else at once.
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_LEAVING_S)
    os._exit(128 + signal.SIGTERM)


def _main(arguments: list[str]) -> int:
    status: int = import_module("engine.commands.command_line").main(arguments)
    return status


if __name__ == "__main__":
    sys.exit(answered(_main, sys.argv[1:], ends_with_starter=True))
