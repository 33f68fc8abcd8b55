import io
import json
import sys

import pytest

from engine.commands.output import log, print_answer, print_json, printable, table
from engine.errors import FileWriteError


def test_that_columns_are_aligned_and_numbers_on_the_right():
    lines = table(("key", "ms"), [("a", "10"), ("long", "1")], right=(1,)).splitlines()
    assert lines == ["key   ms", "a     10", "long   1"]


def test_that_a_name_that_the_terminal_cannot_write_is_shown_all_the_same(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    print_answer("\N{EURO SIGN} \udcff.png")
    assert stream.buffer.getvalue() == b"\\u20ac \\udcff.png\n"


def test_that_a_line_for_the_person_is_one_line(capsys):
    log("what:\n  why")
    assert capsys.readouterr().err == "what: why\n"


def test_that_a_full_disk_behind_standard_output_is_told_in_words(monkeypatch):
    class Full(io.StringIO):
        def write(self, text):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(sys, "stdout", Full())
    with pytest.raises(FileWriteError, match="no space left on device"):
        print_answer("answer")


def test_that_control_characters_of_a_name_never_reach_the_terminal(capsys):
    name = "a\x1b[31m\x07\x7f\x9b2J\u202egnp.png"
    shown = r"a\u001b[31m\u0007\u007f\u009b2J\u202egnp.png"
    print_answer(f"{name}\nsecond line")
    log(name)
    assert capsys.readouterr() == (f"{shown}\nsecond line\n", f"{shown}\n")
    assert printable("a\nb") == r"a\u000ab"
    print_json({"name": name})
    assert json.loads(capsys.readouterr().out) == {"name": name}


def test_that_a_note_that_nobody_reads_stops_nothing(monkeypatch):
    class Gone(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stderr", Gone())
    log("note")
