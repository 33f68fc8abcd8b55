"""A toy command."""


def run(arguments: list[str]) -> int:
    print("hello", *arguments)
    return 0
