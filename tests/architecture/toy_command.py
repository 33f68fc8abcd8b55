"""A toy command."""

from engine.commands.output import say


def run(arguments: list[str]) -> int:
    say(" ".join(["hello", *arguments]))
    return 0
