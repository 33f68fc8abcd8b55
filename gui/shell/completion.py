"""The command `completion`: a script with which a shell completes words, by shtab from all parsers."""

import argparse
import re
from collections.abc import Callable, Iterable
from enum import EnumType

import shtab

from engine.commands import COMMANDS
from engine.commands.arguments import OneOf, Parser, settings_of
from engine.course.papers import PAPERS
from engine.device_info import ALL_GPUS
from engine.explain.launches import ARCHITECTURES
from engine.geometry.border import Border
from engine.mask.presets import preset_names
from engine.tasks.registry import TASKS
from engine.work.operations.contract import OPERATIONS
from gui.shell.command_line import own_parsers, window_options

PROGRAM = "haloscope"
# Words for an argument that its parser cannot name, by the name of its field.
_KNOWN: dict[str, Callable[[str], Iterable[str]]] = {
    "arch": lambda command: map(str, ARCHITECTURES),
    "border": lambda command: Border,
    "mask": lambda command: preset_names(),
    "masks": lambda command: preset_names(),
    "operation": lambda command: OPERATIONS,
    "diff": lambda command: _variants(command),
    "device": lambda command: [
        *("auto", "cpu", "cuda", "simulator"),
        *((ALL_GPUS,) if command in ("filter", "batch") else ()),
    ],
    "paper": lambda command: [paper.key for paper in PAPERS],
    "variant": lambda command: _variants(command),
    "variants": lambda command: _variants(command),
}


def command_parsers() -> dict[str, argparse.ArgumentParser]:
    """Return the parser of each command."""
    kinds = {name: settings_of(command.loaded()) for name, command in COMMANDS.items()}
    return own_parsers() | {name: Parser(name, kind) for name, kind in kinds.items()}


def script(shell: str) -> str:
    """Return what completes words in "bash", "zsh" or "fish"."""
    window = window_options()
    _name_words("", window)
    parser = argparse.ArgumentParser(PROGRAM, parents=[window], add_help=False)
    commands = parser.add_subparsers()
    for name, one in command_parsers().items():
        _name_words(name, one)
        about = _short(one.description)
        commands.add_parser(name, help=about, description=about, parents=[one], add_help=False)
    made = shtab.complete(parser, shell)
    # Files where no word fits.
    return f"{made}\ncomplete -o default -F _shtab_{PROGRAM} {PROGRAM}" if shell == "bash" else made


def _name_words(command: str, parser: argparse.ArgumentParser) -> None:
    """Note with each argument the words that may be written for it, or that it may be a file."""
    for action in parser._actions:
        action.help = _short(action.help)
        if action.nargs == 0 or action.choices is not None:
            continue
        if words := _words(command, action):
            action.choices = words
        else:
            action.complete = shtab.FILE  # type: ignore[attr-defined]


def _words(command: str, action: argparse.Action) -> list[str]:
    # The class of a method such as Border.named.
    kind: object = getattr(action.type, "__self__", None)
    if isinstance(action.type, OneOf):
        return list(action.type.choices)
    if isinstance(kind, EnumType):
        return list(map(str, kind))
    return list(map(str, _KNOWN[action.dest](command))) if action.dest in _KNOWN else []


def _variants(command: str) -> list[str]:
    if command == "code":
        tasks = list(TASKS.values())
    else:
        # A command without a task of its own filters.
        tasks = [TASKS.get("product" if command == "matmul" else command, TASKS["filtering"])]
    return [variant.key for task in tasks for variant in task.variants]


def _short(text: str | None) -> str:
    """Return the first words of a help text, up to a mark that ends a thought."""
    return re.split(r"[.;:(,]", " ".join((text or "").split()), maxsplit=1)[0].strip()
