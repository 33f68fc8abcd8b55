"""A new command costs its settings, a function and one line in one table: it is read, called and listed."""

from dataclasses import dataclass

import pytest

import main
from bench import document
from engine import commands
from engine.commands import command_line
from engine.commands.arguments import Settings, option, whole
from engine.commands.output import print_answer


@dataclass(frozen=True, kw_only=True)
class HelloSettings(Settings):
    """What the toy takes."""

    about = "In short."
    examples = ("you --times 2",)

    name: str | None = option("NAME  who is greeted", None)
    times: int = option("--times N  how often (default 1)", 1, whole("--times", 1, 9))
    loud: bool = option("--loud  in capitals", False)


def run(settings: HelloSettings) -> int:
    """Say hello."""
    text = " ".join(["hello"] * settings.times + [settings.name or "all"])
    print_answer(text.upper() if settings.loud else text)
    return 0


NAMES = list(commands.COMMANDS)


@pytest.fixture(autouse=True)
def toy(monkeypatch):
    line = commands.Command("say hello", __name__, "[NAME]")
    monkeypatch.setitem(commands.COMMANDS, "hello-toy", line)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [([], "hello all"), (["--times", "2", "you"], "hello hello you"), (["you", "--loud"], "HELLO YOU")],
)
def test_that_a_new_command_is_called_with_its_settings_from_the_program(capsys, arguments, says):
    assert main.main(["hello-toy", *arguments]) == 0
    assert capsys.readouterr().out == f"{says}\n"


def test_that_what_it_does_not_take_is_refused_in_words(capsys):
    assert command_line.main(["hello-toy", "--times", "10"]) == commands.BAD_INPUT
    assert "--times 10: it is not a whole number from 1 to 9." in capsys.readouterr().err
    assert command_line.main(["hello-toy", "--quiet"]) == commands.BAD_INPUT
    assert "unrecognized arguments: --quiet" in capsys.readouterr().err


def test_that_a_new_command_is_listed_with_its_help(capsys):
    assert "  hello-toy [NAME]              say hello" in commands.listed().splitlines()
    assert command_line.main(["hello-toy", "--help"]) == 0
    shown = capsys.readouterr().out
    for part in (
        "Say hello. In short.",
        "NAME        who is greeted",
        "--times N",
        "you --times 2",
        "--json",
    ):
        assert part in shown
    assert command_line.main(["hullo"]) == commands.BAD_INPUT
    assert f"{NAMES[-1]}, hello-toy." in capsys.readouterr().err


def test_that_the_page_of_commands_is_to_have_its_options():
    (table,) = [table for table in document.of_commands() if table.name == "options:hello-toy"]
    assert "| `--times N` | how often (default 1) |" in table.lines
    assert "python main.py hello-toy you --times 2" in table.lines
