"""Scripts with which bash, zsh and fish complete words, from the parsers of all commands."""

import argparse
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import EnumType
from importlib import import_module
from typing import Any, NamedTuple

from engine.commands import COMMANDS, DONE
from engine.commands.arguments import Parser, settings_of
from engine.commands.option_readers import OneOf
from engine.commands.output import print_answer
from engine.course.papers import PAPERS
from engine.device_info import ALL_GPUS
from engine.explain.architectures import ARCHITECTURES
from engine.geometry.border import Border
from engine.mask.presets import preset_names
from engine.tasks.network.variants import NETWORK_VARIANTS
from engine.tasks.product.variants import MATMUL_VARIANTS
from engine.tasks.registry import TASKS
from engine.work.filtering.variants import VARIANTS
from engine.work.operations.table import OPERATIONS

PROGRAM = "haloscope"

_KNOWN: dict[str, Callable[[str], Sequence[str]]] = {
    "arch": lambda command: list(map(str, ARCHITECTURES)),
    "border": lambda command: list(Border),
    "mask": lambda command: preset_names(),
    "masks": lambda command: preset_names(),
    "operation": lambda command: list(OPERATIONS),
    "diff": lambda command: _variants(command),
    "device": lambda command: [
        *("auto", "cpu", "cuda", "simulator"),
        *((ALL_GPUS,) if command in ("filter", "batch") else ()),
    ],
    "paper": lambda command: [paper.key for paper in PAPERS],
    "variant": lambda command: _variants(command),
    "variants": lambda command: _variants(command),
}
"""Words for an argument that its parser cannot name, by the name of its field."""


class Option(NamedTuple):
    """An option with its names, a few words on it, and the words that may be written for its value."""

    names: tuple[str, ...]
    about: str
    takes_value: bool
    values: tuple[str, ...]


class Place(NamedTuple):
    """After the name of a command (empty: none is named yet): its options, and words with what they mean."""

    command: str
    options: Sequence[Option]
    words: Sequence[tuple[str, str]]


def print_script(shell: str, others: Mapping[str, argparse.ArgumentParser]) -> int:
    """Print what `script` returns; return the exit status."""
    print_answer(script(shell, others))
    return DONE


def script(shell: str, others: Mapping[str, argparse.ArgumentParser]) -> str:
    """Return what completes words in "bash", "zsh" or "fish".

    `others` are the parsers of what is no command of the engine, by the name of the command; "" is the
    window, which is opened without one.
    """
    parsers = dict(others)
    for name, command in COMMANDS.items():
        parsers[name] = Parser(name, settings_of(getattr(import_module(command.module), command.function)))
    named = [(name, _short(parser.description)) for name, parser in parsers.items() if name]
    places = [_place(name, parser, [] if name else named) for name, parser in parsers.items()]
    return "\n".join({"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](places))


def _place(command: str, parser: argparse.ArgumentParser, words: Iterable[tuple[str, str]]) -> Place:
    options, operands = [], list(words)
    for action in parser._actions:
        values = tuple(_values(command, action))
        if action.option_strings:
            names = tuple(action.option_strings)
            options.append(Option(names, _short(action.help), action.nargs != 0, values))
        else:
            operands += [(value, "") for value in values]
    return Place(command, options, operands)


def _values(command: str, action: argparse.Action) -> Iterable[str]:
    """Return the words that may be written for an argument; none where it is anything, such as a file."""
    # The class of a method such as Border.named.
    kind: Any = getattr(action.type, "__self__", None)
    if action.choices is not None:
        return action.choices
    if isinstance(action.type, OneOf):
        return list(action.type.choices)
    if type(kind) is EnumType:
        return list(map(str, kind))
    return _KNOWN[action.dest](command) if action.dest in _KNOWN else ()


def _variants(command: str) -> list[str]:
    if command == "matmul":
        return [variant.key for variant in MATMUL_VARIANTS]
    if command == "network":
        return [variant.key for variant in NETWORK_VARIANTS]
    if command == "code":
        return [variant.key for task in TASKS.values() for variant in task.variants]
    return [variant.key for variant in VARIANTS]


def _short(text: str | None) -> str:
    """Return the first words of a help text, up to a mark that ends a thought."""
    return re.split(r"[.;:(,]", " ".join((text or "").split()), maxsplit=1)[0].strip()


def _bash(places: Iterable[Place]) -> Iterator[str]:
    yield f"# Completes the words of {PROGRAM} in bash."
    yield f"_{PROGRAM}() {{"
    yield "    local words= word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]}"
    yield "    [[ $COMP_CWORD -gt 1 && $command != -* ]] || command="
    yield '    case "$command:${COMP_WORDS[COMP_CWORD - 1]}:$word" in'
    for command, options, words in places:
        for option in options:
            if option.takes_value:
                cases = "|".join(f"{command}:{name}:*" for name in option.names)
                yield f"    {cases}) words={shlex.quote(' '.join(option.values))} ;;"
        names = " ".join(name for option in options for name in option.names)
        yield f"    {command}:*:-*) words={shlex.quote(names)} ;;"
        yield f"    {command}:*) words={shlex.quote(' '.join(word for word, _ in words))} ;;"
    yield "    esac"
    yield '    COMPREPLY=($(compgen -W "$words" -- "$word"))'
    yield "}"
    yield "# Files where no word fits."
    yield f"complete -o default -o bashdefault -F _{PROGRAM} {PROGRAM}"


def _zsh(places: Iterable[Place]) -> Iterator[str]:
    yield f"#compdef {PROGRAM}"
    yield f"_{PROGRAM}() {{"
    yield "    local command=${words[2]}"
    yield "    local -a known"
    yield "    [[ $CURRENT -gt 2 && $command != -* ]] || command="
    yield '    case "$command:${words[CURRENT - 1]}:$PREFIX" in'
    for command, options, words in places:
        for option in options:
            if option.takes_value:
                cases = "|".join(f"{command}:{name}:*" for name in option.names)
                does = f"compadd -- {shlex.join(option.values)}" if option.values else "_files"
                yield f"    ({cases}) {does} ;;"
        described = shlex.join(f"{name}:{option.about}" for option in options for name in option.names)
        yield f"    ({command}:*:-*) known=({described}); _describe option known ;;"
        described = shlex.join(f"{word}:{about}" if about else word for word, about in words)
        yield f"    ({command}:*) known=({described}); _describe word known; _files ;;"
    yield "    esac"
    yield "}"
    # From a folder of completions it is called, otherwise read.
    yield f'if [[ "${{funcstack[1]}}" == _{PROGRAM} ]]; then'
    yield f'    _{PROGRAM} "$@"'
    yield f"else\n    compdef _{PROGRAM} {PROGRAM}\nfi"


def _fish(places: Iterable[Place]) -> Iterator[str]:
    yield f"# Completes the words of {PROGRAM} in fish."
    for command, options, words in places:
        when = f"__fish_seen_subcommand_from {command}" if command else "__fish_use_subcommand"
        start = f"complete -c {PROGRAM} -n {shlex.quote(when)}"
        for word, about in words:
            yield f"{start} -a {shlex.quote(word)} -d {shlex.quote(about)}"
        for option in options:
            names = " ".join(f"-{'l' * (name[1] == '-') or 's'} {name.lstrip('-')}" for name in option.names)
            values = f" -x -a {shlex.quote(' '.join(option.values))}" if option.values else ""
            value = values or " -r" * option.takes_value
            yield f"{start} {names}{value} -d {shlex.quote(option.about)}"
