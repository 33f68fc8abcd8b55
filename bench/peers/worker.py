"""The process of one library: reads a JSON command per line, answers with a line. NumPy alone.

python -m bench.peers.worker MODULE --threads N [--methods a,b]     started by `pipe.py`, not by people

    {"do": "about"}                                           facts of the library, or why it is not there
    {"do": "methods", "cell": {...}}                          the ways in which it can do a cell
    {"do": "prepare", "cell": {...}, "method": "...", "pictures": "x.npy", "copies": 1}
    {"do": "verify", "method": "...", "result": "y.npy"}      filters once and writes the result
    {"do": "sample", "method": "..."}                         ms per run
    {"do": "drop"}                                            forgets what was prepared
    {"do": "end"}

An answer has "ok": true, or "refused": a reason, or "failed": what went wrong.
"""

import gc
import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, TextIO

import numpy as np

from bench.options import parser_of
from bench.peers.cells import Cell, mask_of
from bench.peers.library import Clock, Job, Library, Ready, Refused

Command = dict[str, Any]
"""A command or an answer, as JSON."""


class Server:
    """Answers commands for one library."""

    def __init__(self, library: Library, threads: int) -> None:
        self._library = library
        self._threads = threads
        self._ready: dict[str, Ready] = {}
        self._clocks: dict[str, Clock] = {}

    def answer(self, command: Command) -> Command:
        """Return the answer to one command."""
        try:
            return {"ok": True} | getattr(self, f"_{command['do']}")(command)
        except Refused as refused:
            return {"refused": str(refused)}
        except Exception as error:  # noqa: BLE001 - whatever a library raises is told to the other side
            return {"failed": _words(error)}

    def _about(self, command: Command) -> Command:
        return asdict(self._library.about())

    def _methods(self, command: Command) -> Command:
        return {"methods": list(self._library.methods(Cell.from_json(command["cell"])))}

    def _prepare(self, command: Command) -> Command:
        cell = Cell.from_json(command["cell"])
        pictures = np.load(command["pictures"], mmap_mode="r")
        job = Job(cell, pictures, mask_of(cell), command["copies"], self._threads)
        begin = time.perf_counter()
        ready = self._library.prepare(job, command["method"])
        self._ready[command["method"]] = ready
        return {
            "prepare_s": time.perf_counter() - begin,
            "border": ready.border,
            "note": ready.note,
            "added_error": ready.added_error,
            "steps": ready.steps,
        }

    def _verify(self, command: Command) -> Command:
        ready = self._ready[command["method"]]
        ready.filter.run(0)
        np.save(command["result"], ready.filter.results())
        return {}

    def _sample(self, command: Command) -> Command:
        method = command["method"]
        if method not in self._clocks:
            self._clocks[method] = self._ready[method].clock()
        ms, runs = self._clocks[method].sample()
        return {"ms": ms, "runs": runs, "clock": self._clocks[method].name}

    def _drop(self, command: Command) -> Command:
        self._clocks.clear()
        self._ready.clear()
        gc.collect()
        return {}


def opened(module: str, threads: int, methods: tuple[str, ...]) -> Callable[[Command], Command]:
    """Return what answers for the library of that module, or what tells why it is not there."""
    try:
        return Server(importlib.import_module(module).open_library(threads, methods), threads).answer
    except ImportError as error:
        why = f"not installed ({error.name or error})"
    except Refused as refused:
        why = str(refused)
    except Exception as error:  # noqa: BLE001 - a library that cannot even start must not end the benchmark
        why = f"cannot be used: {_words(error)}"
    return lambda command: {"refused": why}


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def serve(answer: Callable[[Command], Command], commands: TextIO, answers: TextIO) -> None:
    """Answer until the end is asked for, or until nobody asks any more."""
    for line in commands:
        command = json.loads(line)
        if command["do"] == "end":
            return
        answers.write(json.dumps(answer(command)) + "\n")
        answers.flush()


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("module")
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--methods", default="")
    arguments = parser.parse_args()
    # What a library prints must not come between the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    methods = tuple(text for text in arguments.methods.split(",") if text)
    serve(opened(arguments.module, arguments.threads, methods), sys.stdin, answers)


if __name__ == "__main__":
    main()
