"""A toy command."""

from engine.commands.output import print_answer


def run(arguments: list[str]) -> int:
    print_answer(" ".join(["hello", *arguments]))
    return 0
