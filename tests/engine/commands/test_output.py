import io
import json
import sys

import pytest

from engine.commands.output import log, print_answer, print_json, printable, report_interrupt, table
from engine.errors import FileWriteError
from tests.engine.commands.conftest import raising


def test_that_columns_are_aligned_and_numbers_on_the_right():
    lines = table(("key", "ms"), [("a", "10"), ("long", "1")], right=(1,)).splitlines()
    assert lines == ["key   ms", "a     10", "long   1"]


def test_that_a_name_that_the_terminal_cannot_write_is_shown_all_the_same(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    print_answer("\N{EURO SIGN} \udcff.png")
    assert stream.buffer.getvalue() == b"\\u20ac \\udcff.png\n"


def test_that_a_full_disk_behind_standard_output_is_an_error_in_words(monkeypatch):
    stream = io.StringIO()
    stream.write = raising(OSError(28, "No space left on device"))
    monkeypatch.setattr(sys, "stdout", stream)
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


def test_that_a_note_is_one_line_and_one_without_a_reader_stops_nothing(monkeypatch, capsys):
    log("what:\n  why")
    assert capsys.readouterr().err == "what: why\n"
    stream = io.StringIO()
    stream.write = raising(BrokenPipeError())
    monkeypatch.setattr(sys, "stderr", stream)
    log("note")


def test_that_after_ctrl_c_a_file_counts_as_written_only_where_its_content_was_replaced(tmp_path):
    kept, made, impossible = tmp_path / "kept", tmp_path / "made", "a\0b"
    kept.write_text("old")

    def stopped():
        with report_interrupt([str(kept), str(made), impossible], lambda: "1 of 3 done"):
            made.write_text("new")
            raise KeyboardInterrupt

    line = r"Stopped: 1 of 3 done; .*kept was not written; .*made was written; a\0b was not written\.$"
    with pytest.raises(KeyboardInterrupt, match=line):
        stopped()
    # Other errors pass unchanged.
    with pytest.raises(ZeroDivisionError, match="as it is"), report_interrupt([str(tmp_path)]):
        raise ZeroDivisionError("as it is")
