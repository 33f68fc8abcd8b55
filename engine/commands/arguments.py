"""Reading arguments: a frozen dataclass says what a command takes, and its parser and help follow from it.

A field is made by `option`, `switch`, `required` and their like: how it is written on the command line, its
help, how its text is read. `read` returns an instance. No other module knows argparse.
"""

import argparse
import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, NoReturn, TypeVar, get_type_hints

from engine.commands import COMMANDS
from engine.errors import BadValue

T = TypeVar("T")
D = TypeVar("D")

_HELP_WIDTH = 79
_ARGUMENT, _GROUP = "argument", "group"


@dataclass(frozen=True, slots=True)
class _Argument:
    """How a field is written: its names (none: by its position), its help, what else argparse needs."""

    names: tuple[str, ...]
    help: str
    how: dict[str, Any]


def _field(text: str, begin: dict[str, Any], **how: Any) -> Any:
    head, _, help_text = text.strip().partition("  ")
    names = tuple(word.rstrip(",") for word in head.split() if word.startswith("--"))
    placeholder = head.split()[-1]
    if not placeholder.startswith("--"):
        how["metavar"] = placeholder
    return field(**begin, metadata={_ARGUMENT: _Argument(names, " ".join(help_text.split()), how)})


def option(text: str, default: D, read: Callable[[str], T] = str) -> T | D:  # type: ignore[assignment]
    """Return the field of an option: names, placeholder, two spaces, help; "--size, --sizes 3,5  sides"."""
    made: T | D = _field(text, {"default": default}, type=read)
    return made


def required(text: str, read: Callable[[str], T] = str) -> T:  # type: ignore[assignment]
    """Return the field of what has to be given: an option, or an argument by its position ("IN  picture")."""
    is_option = text.startswith("--")
    made: T = _field(text, {}, type=read, **({"required": True} if is_option else {}))
    return made


def optional(text: str, read: Callable[[str], T] = str) -> T | None:  # type: ignore[assignment]
    """Return the field of an argument by its position that may be left out."""
    made: T | None = _field(text, {"default": None}, type=read, nargs="?", default=None)
    return made


def several_of(text: str) -> tuple[str, ...]:
    """Return the field of an option that may be given several times, or of one or more arguments."""
    is_option = text.startswith("--")
    made: tuple[str, ...] = (
        _field(text, {"default": ()}, action="append") if is_option else _field(text, {}, nargs="+")
    )
    return made


def switch(text: str, *, turns: bool = True) -> bool:
    """Return the field of an option without a value, which is what it `turns` to where it is given."""
    made: bool = _field(text, {"default": not turns}, action="store_const", const=turns)
    return made


def group(kind: type[T], **words: str) -> T:
    """Return a field for options that several commands take; `words` are filled into their help."""
    made: T = field(default_factory=kind, metadata={_GROUP: (kind, words)})
    return made


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What every command takes; those of a command are derived from it."""

    about: ClassVar[str]
    """What the help says after the command's line in the table."""
    examples: ClassVar[Sequence[str]] = ("", "--json")
    """Arguments that work."""
    json: bool = switch("--json  print one JSON document on standard output and nothing else there")


S = TypeVar("S", bound=Settings)


def call(command: str, function: Callable[[S], int], arguments: Sequence[str]) -> int:
    """Call the function of a command with the settings that its parameter names; return the exit status."""
    kind: type[S] = get_type_hints(function)["settings"]
    return function(read(command, kind, arguments))


def read(command: str, kind: type[S], arguments: Sequence[str]) -> S:
    """Return the settings that arguments say. Raises BadValue, and SystemExit after --help."""
    if "--" in arguments:
        at = list(arguments).index("--")
        arguments = [*arguments[:at], *map(_Name, arguments[at + 1 :])]
    # Intermixed: files may stand before, between and after options.
    given = Parser(command, kind).parse_intermixed_args(_with_joined_numbers(arguments))
    return _instance(kind, vars(given))


def refuse_given(settings: Any, names: Sequence[str], where: str, why: str, remedy: str) -> None:
    """Refuse the first of these options whose value is not its default."""
    for known in fields(settings):
        if known.name in names and getattr(settings, known.name) != known.default:
            raise BadValue(f"{known.metadata[_ARGUMENT].names[0]} {where}", why, remedy)


def _instance(kind: type[T], given: dict[str, Any]) -> T:
    values: dict[str, Any] = {}
    for known in fields(kind):  # type: ignore[arg-type]
        if _GROUP in known.metadata:
            values[known.name] = _instance(known.metadata[_GROUP][0], given)
        elif known.name in given:
            value = given[known.name]
            values[known.name] = tuple(value) if isinstance(value, list) else value
    return kind(**values)


class _Name(str):
    """An argument after --: a name, even if it begins with a dash."""


class Parser(argparse.ArgumentParser):
    """The parser of a command, a key of `COMMANDS`, for its settings."""

    def __init__(self, command: str, kind: type[Settings]) -> None:
        lines = "\n".join(f"  python main.py {command} {example}".rstrip() for example in kind.examples)
        heading = COMMANDS[command].help
        super().__init__(
            prog=f"python main.py {command}",
            description=textwrap.fill(f"{heading[0].upper()}{heading[1:]}. {kind.about}", _HELP_WIDTH),
            epilog=f"examples:\n{lines}\n\nexit status: 0 done, 2 bad use or bad input, "
            "3 no such device, 4 failed verification",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            # What is not given is left out: the settings have the defaults.
            argument_default=argparse.SUPPRESS,
            allow_abbrev=False,
        )
        self._add(kind, {})

    def _add(self, kind: Any, words: dict[str, str]) -> None:
        for known in fields(kind):
            if _GROUP in known.metadata:
                self._add(*known.metadata[_GROUP])
                continue
            argument: _Argument = known.metadata[_ARGUMENT]
            text = argument.help.format(**words) if words else argument.help
            # An argument by its position has no name but its field's.
            how = argument.how | ({"dest": known.name} if argument.names else {})
            self.add_argument(*argument.names or [known.name], help=text, **how)

    def _parse_optional(self, arg_string: str) -> Any:
        # Intermixed arguments are parsed twice, and the second time argparse has forgotten the --.
        return None if isinstance(arg_string, _Name) else super()._parse_optional(arg_string)

    def error(self, message: str) -> NoReturn:
        """Raise what argparse complains of as bad use."""
        raise BadValue(self.prog, message, f"`{self.prog} --help` shows what can be written, with examples.")


def _with_joined_numbers(arguments: Sequence[str]) -> list[str]:
    """Join an option with a value such as -1,0,1 by =; argparse would take the value for another option."""
    joined: list[str] = []
    for argument in arguments:
        is_number = not isinstance(argument, _Name) and re.match(r"-[\d.]", argument)
        if is_number and joined and re.fullmatch(r"--[a-z-]+", joined[-1]):
            joined[-1] += f"={argument}"
        else:
            joined.append(argument)
    return joined
