import io
import sys

import pytest

from engine.commands.output import say, table, tell
from engine.errors import FileWriteError


def test_that_columns_are_aligned_and_numbers_on_the_right():
    lines = table(("key", "ms"), [("a", "10"), ("long", "1")], right=(1,)).splitlines()
    assert lines == ["key   ms", "a     10", "long   1"]


def test_that_a_name_that_the_terminal_cannot_write_is_shown_all_the_same(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    say("\N{EURO SIGN} \udcff.png")
    assert stream.buffer.getvalue() == b"\\u20ac \\udcff.png\n"


def test_that_a_line_for_the_person_is_one_line(capsys):
    tell("what:\n  why")
    assert capsys.readouterr().err == "what: why\n"


def test_that_a_full_disk_behind_standard_output_is_told_in_words(monkeypatch):
    class Full(io.StringIO):
        def write(self, text):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(sys, "stdout", Full())
    with pytest.raises(FileWriteError, match="no space left on device"):
        say("answer")
