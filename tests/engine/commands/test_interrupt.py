"""Ctrl+C in the commands that measure: one line of what was done and of the files, status 130, nothing half written."""

import pytest

from engine.commands import measuring
from engine.commands.output import log, report_interrupt


def pressed(*arguments, **named):
    raise KeyboardInterrupt


def stopped_after(most):
    """Return what prints progress, whose line number `most` is the last one before Ctrl+C."""
    shown = []

    def one(line):
        if len(shown) == most:
            raise KeyboardInterrupt
        shown.append(line)
        log(line)

    return one


def test_that_a_stopped_bench_says_what_was_done_and_leaves_old_files(command, monkeypatch, tmp_path):
    out, csv = tmp_path / "r.json", tmp_path / "r.csv"
    out.write_text("old")
    monkeypatch.setattr(measuring, "log", stopped_after(1))
    cells = ("--variants", "cpu-serial", "--sizes", "9", "--masks", "1,2,3", "--budget", "0")
    answer = command("bench", *cells, "--out", out, "--csv", csv)
    assert (answer.status, answer.out) == (130, "")
    assert answer.err.splitlines()[1:] == [
        f"Stopped: 2 of 3 cells done; {out} was not written; {csv} was not written."
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["r.json"]
    assert out.read_text() == "old"


def test_that_a_bench_that_is_stopped_between_its_files_says_which_one_is_there(
    command, monkeypatch, tmp_path
):
    out, csv = tmp_path / "r.json", tmp_path / "r.csv"
    monkeypatch.setattr(measuring, "results_csv", pressed)
    cells = ("--variants", "cpu-serial", "--sizes", "9", "--masks", "1", "--budget", "0")
    answer = command("bench", *cells, "--out", out, "--csv", csv)
    assert answer.status == 130
    assert answer.err.splitlines()[1:] == [
        f"Stopped: 1 of 1 cells done; {out} was written; {csv} was not written."
    ]
    assert out.is_file()


def test_that_a_stopped_matmul_without_files_says_what_was_done(command, monkeypatch):
    monkeypatch.setattr(measuring, "log", stopped_after(0))
    answer = command("matmul", "--size", "4", "--variants", "numpy", "--budget", "0")
    assert (answer.status, answer.out, answer.err) == (130, "", "Stopped: 1 of 1 cells done.\n")


def test_that_a_file_counts_as_written_only_where_its_content_was_replaced(tmp_path):
    kept, made, impossible = tmp_path / "kept", tmp_path / "made", "a\0b"
    kept.write_text("old")

    def stopped():
        with report_interrupt([str(kept), str(made), impossible]):
            made.write_text("new")
            raise KeyboardInterrupt

    with pytest.raises(
        KeyboardInterrupt, match=r"kept was not written; .*made was written; a\0b was not written\.$"
    ):
        stopped()


def test_that_other_errors_go_through_as_they_are(tmp_path):
    with pytest.raises(ZeroDivisionError, match="as it is"), report_interrupt([str(tmp_path)]):
        raise ZeroDivisionError("as it is")
