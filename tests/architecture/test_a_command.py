"""A new command costs one module and one line in one table: it is called, listed and named in refusals."""

import pytest

import main
from engine import commands
from engine.commands.arguments import Parser
from engine.commands.output import print_answer


def run(arguments):
    """Say hello."""
    print_answer(" ".join(["hello", *arguments]))
    return 0


@pytest.fixture(autouse=True)
def toy(monkeypatch):
    line = commands.Command("say hello", __name__, "[NAME]")
    monkeypatch.setitem(commands.COMMANDS, "hello", line)


def test_that_a_new_command_is_called_from_the_program(capsys):
    assert main.main(["hello", "you"]) == 0
    assert capsys.readouterr().out == "hello you\n"


def test_that_a_new_command_is_listed_and_has_its_help(capsys):
    assert "  hello [NAME]                  say hello" in commands.listed().splitlines()
    assert "Say hello. In short." in Parser("hello", "In short.", ["you"]).format_help()
    assert commands.main(["hullo"]) == commands.BAD_INPUT
    assert "course, hello." in capsys.readouterr().err
