"""Reading arguments: a frozen dataclass says what a command takes, and its parser and help follow from it.

A field is made by `option`, `required`, `operands`, `group` or `fields_of`: how it is written on the command
line, its help, how its text is read. `read` returns an instance. No other module knows argparse.
"""

import argparse
import math
import re
import textwrap
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NoReturn, TypeVar, get_type_hints, overload

from engine.commands import COMMANDS
from engine.commands.output import print_answer
from engine.errors import BadValue, UnknownName

if TYPE_CHECKING:
    from msgspec import Struct

T = TypeVar("T")
D = TypeVar("D")

_HELP_WIDTH = 79
_ON_A_SERVER = ("a command computes where it is started", "There: ssh user@server haloscope {command} ...")

Text = str | Callable[[], str]
"""Names, placeholder, two spaces, help: "--size, --sizes 3,5  sides". A function where it lists what is in a
table: each parser calls it anew."""


@overload
def option(text: Text, default: D) -> D: ...
@overload
def option(text: Text, default: D, read: Callable[[str], T]) -> T | D: ...
def option(text: Text, default: object, read: Callable[[str], object] = str) -> object:
    """Return the field of an argument that may be left out: an option, or one by its position.

    One that is False or True by default is a switch to the other; one that is () may be given several times.
    """
    how: dict[str, object] = {"type": read}
    if isinstance(default, bool):
        how = {"action": "store_const", "const": not default}
    elif default == () and read is str:
        how = {"action": "append"}
    return field(default=default, metadata={"text": text, "how": how})


def required(text: Text, read: Callable[[str], T]) -> T:
    """Return the field of an argument that has to be given."""
    made: T = field(metadata={"text": text, "how": {"type": read}})
    return made


def operands(text: Text) -> tuple[str, ...]:
    """Return the field of one or more arguments by their position."""
    made: tuple[str, ...] = field(metadata={"text": text, "how": {"nargs": "+"}})
    return made


def group(kind: type[T], **words: str) -> T:
    """Return a field for options that several commands take; `words` are filled into their help."""
    made: T = field(default_factory=kind, metadata={"group": kind, "words": words})
    return made


def fields_of(kind: "type[Struct]", **how: tuple[Text, Callable[[str], object]]) -> Mapping[str, object]:
    """Return a field for fields of a struct where given; `how` says of each how it is written and read."""
    # As msgspec keeps them, of the last fields: its import takes 10 ms, a sixth of what `masks` takes.
    defaults = dict(zip(reversed(kind.__struct_fields__), reversed(kind.__struct_defaults__), strict=False))
    written = {name: option(text, defaults[name], read) for name, (text, read) in how.items()}
    made: Mapping[str, object] = field(default_factory=dict, metadata={"fields_of": written})
    return made


def _arguments(kind: Any, words: Mapping[str, str]) -> Iterator[tuple[str, Field[Any], Mapping[str, str]]]:
    """Yield every argument of a dataclass with its name and the words of its help."""
    for known in fields(kind):
        if "group" in known.metadata:
            yield from _arguments(known.metadata["group"], known.metadata["words"])
        elif "fields_of" in known.metadata:
            yield from ((name, made, words) for name, made in known.metadata["fields_of"].items())
        else:
            yield known.name, known, words


def _written(known: Field[object]) -> tuple[list[str], str, str]:
    """Return the names of an argument (none: it is known by its position), its placeholder and its help."""
    text: Text = known.metadata["text"]
    head, _, help_text = (text if isinstance(text, str) else text()).partition("  ")
    *_, last = words = head.split()
    names = [word.rstrip(",") for word in words if word.startswith("--")]
    return names, "" if last.startswith("--") else last, " ".join(help_text.split())


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What every command takes; those of a command are derived from it."""

    about: ClassVar[str]  # what the help says after the command's line in the table
    examples: ClassVar[Sequence[str]] = ("", "--json")  # arguments that work
    exit_statuses: ClassVar[str] = "0 done, 2 bad use or bad input, 3 no such device, 4 failed verification"
    """What the program ends with, as the help says it."""
    gone: ClassVar[dict[str, tuple[str, str]]] = dict.fromkeys(("--host", "--host-python"), _ON_A_SERVER)
    """Options of earlier versions: why each is refused, and what does it now."""
    json: bool = option("--json  print one JSON document on standard output and nothing else there", False)


S = TypeVar("S", bound=Settings)


def settings_of(function: Callable[[S], int]) -> type[S]:
    """Return the type of the settings that the function of a command takes: its parameter names it."""
    kind: type[S] = get_type_hints(function)["settings"]
    return kind


def read(command: str, kind: type[S], arguments: Sequence[str]) -> S:
    """Return the settings that arguments say. Raises BadValue, and SystemExit after --help."""
    if "--" in arguments:
        at = list(arguments).index("--")
        arguments = [*arguments[:at], *map(_Name, arguments[at + 1 :])]
    for argument in arguments:
        name = argument.partition("=")[0]
        if name in kind.gone and not isinstance(argument, _Name):
            why, remedy = kind.gone[name]
            raise BadValue(name, why, remedy.format(command=command))
    # Intermixed: files may stand before, between and after options.
    typed = Parser(command, kind).parse_intermixed_args(_with_joined_numbers(arguments))
    return _instance(kind, vars(typed))


def refuse_used(settings: Any, names: Sequence[str], where: str, why: str, remedy: str) -> None:
    """Refuse the first of these options whose value is not its default."""
    for name, written in used_options(settings):
        if name in names:
            raise BadValue(f"{written} {where}", why, remedy)


def used_options(settings: Any) -> Iterator[tuple[str, str]]:
    """Yield the names of arguments whose values are not their defaults, and how each is written."""
    for known in fields(settings):
        value, metadata = getattr(settings, known.name), known.metadata
        if "group" in metadata:
            yield from used_options(value)
        for name, made in metadata.get("fields_of", {}).items():
            if value.get(name, made.default) != made.default:
                yield name, _written(made)[0][0]
        if "text" in metadata and value != known.default:
            yield known.name, "".join(_written(known)[0][:1])


def _instance(kind: type[T], typed: dict[str, object]) -> T:
    values: dict[str, object] = {}
    for known in fields(kind):  # type: ignore[arg-type]
        if "group" in known.metadata:
            values[known.name] = _instance(known.metadata["group"], typed)
        elif "fields_of" in known.metadata:
            values[known.name] = {name: typed[name] for name in known.metadata["fields_of"] if name in typed}
        elif known.name in typed:
            value = typed[known.name]
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
            epilog=f"examples:\n{lines}\n\nexit status: {kind.exit_statuses}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            # What is not given is left out: the settings have the defaults.
            argument_default=argparse.SUPPRESS,
            allow_abbrev=False,
        )
        for name, known, words in _arguments(kind, {}):
            names, placeholder, text = _written(known)
            how = known.metadata["how"] | {"help": text.format(**words) if words else text}
            if placeholder:
                how["metavar"] = placeholder
            if names:
                self.add_argument(*names, dest=name, **how, required=known.default is MISSING)
            else:
                # It has no name but its field's. argparse stores a default of one that is not given.
                may_be_left_out = {} if known.default is MISSING else {"nargs": "?", "default": known.default}
                self.add_argument(name, **how, **may_be_left_out)

    def _parse_optional(self, arg_string: str) -> Any:
        # Intermixed arguments are parsed twice, and the second time argparse has forgotten the --.
        return None if isinstance(arg_string, _Name) else super()._parse_optional(arg_string)

    def print_help(self, file: object = None) -> None:
        """Print the help as an answer; argparse would not say that it cannot be printed."""
        print_answer(self.format_help().rstrip("\n"))

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


W = TypeVar("W", bound=str)


def _reader(option: str, parse: Callable[[str], T | None], why: str, remedy: str) -> Callable[[str], T]:
    """Return the reader of an option; `parse` returns None for a text that is refused."""

    def read(text: str) -> T:
        value = parse(text)
        if value is None:
            raise BadValue(f"{option} {text}", why, remedy)
        return value

    return read


@dataclass(frozen=True)
class OneOf(Generic[W]):
    """The reader of an option that is one of some words."""

    option: str
    choices: Collection[W]

    def __call__(self, text: str) -> W:
        """Return the choice that a text is."""
        for choice in self.choices:
            if choice == text:
                return choice
        remedy = f"Choose one of {', '.join(self.choices)}."
        raise UnknownName(f"{self.option} {text}", "there is no such choice", remedy)


def whole(option: str, least: int, most: int) -> Callable[[str], int]:
    """Return the reader of an option that is a whole number within a range."""

    def parse(text: str) -> int | None:
        value = int(text) if re.fullmatch(r"[+-]?\d{1,18}", text) else least - 1
        return value if least <= value <= most else None

    why = f"it is not a whole number from {least:,} to {most:,}"
    return _reader(option, parse, why, "Choose one in that range.")


def number(option: str, least: float = -math.inf, most: float = math.inf) -> Callable[[str], float]:
    """Return the reader of an option that is a finite number within a range."""

    def parse(text: str) -> float | None:
        try:
            value = float(text)
        except ValueError:
            return None
        return value if math.isfinite(value) and least <= value <= most else None

    span = "" if math.isinf(most) else f" from {least:g} to {most:g}"
    return _reader(option, parse, f"it is not a finite number{span}", "Write one such as 0.5.")


def size_in_bytes(option: str) -> Callable[[str], int]:
    """Return the reader of an option that is a number of bytes, plain or in KiB, MiB, GiB or TiB."""

    def parse(text: str) -> int | None:
        match = re.fullmatch(r"\s*(\d{1,18})\s*(?:([kmgt])i?b?)?\s*", text.lower())
        # 0 bytes are refused too.
        return int(match[1]) << 10 * " kmgt".index(match[2] or " ") or None if match else None

    return _reader(option, parse, "it is not a number of bytes", "Write it as 8GiB or as 8589934592.")


def cell(option: str) -> Callable[[str], tuple[int, int]]:
    """Return the reader of an option that is a row and a column."""

    def parse(text: str) -> tuple[int, int] | None:
        match = re.fullmatch(r"\s*(-?\d{1,9})\s*,\s*(-?\d{1,9})\s*", text)
        return (int(match[1]), int(match[2])) if match else None

    why = "it is not a row and a column with a comma between them"
    return _reader(option, parse, why, "Write it as 1,1.")


def several(option: str, read: Callable[[str], T]) -> Callable[[str], tuple[T, ...]]:
    """Return the reader of a list with commas; a value that is given twice is taken once."""

    def read_all(text: str) -> tuple[T, ...]:
        words = [word.strip() for word in text.split(",")]
        if not all(words):
            why = "a part of the list is empty"
            raise BadValue(f"{option} '{text}'", why, "Separate the parts by single commas.")
        return tuple(dict.fromkeys(read(word) for word in words))

    return read_all


def sides(
    option: str, order: str, most: int, is_allowed: Callable[[int, int], bool] | None = None, limits: str = ""
) -> Callable[[str], tuple[int, int]]:
    """Return the reader of an option that is one side of a square, or two with an x between them.

    `order` names the two in the error ("width x height"); `most` is for each side, and `is_allowed` for both
    together; `limits` says in the error what it allows.
    """

    def read(text: str) -> tuple[int, int]:
        match = re.fullmatch(r"(\d{1,9})(?:[xX×](\d{1,9}))?", text)
        pair = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if match and is_allowed and not is_allowed(*pair):
            raise BadValue(f"{option} {text}", limits, "Choose a size within these.")
        if not (1 <= pair[0] <= most and 1 <= pair[1] <= most):
            why = f"it is neither a side from 1 to {most:,} nor {order}"
            raise BadValue(f"{option} {text}", why, "Write it as 5 or as 5x7.")
        return pair

    return read
