"""A disk that is full when the measuring is done: nothing that was measured is lost, and the right file is named."""

import json

import pytest

from engine.course.papers import paper

BENCH = ("bench", "--variants", "cpu-serial", "--sizes", "9x7", "--masks", "3", "--budget", "0.001")
MATMUL = ("matmul", "--size", "8", "--variants", "numpy", "--budget", "0.001")


@pytest.mark.parametrize("measuring", [BENCH, MATMUL], ids=["bench", "matmul"])
@pytest.mark.parametrize("lost", ["--out", "--csv"])
def test_that_a_full_disk_loses_one_file_and_no_measurement(command, full_disk, tmp_path, measuring, lost):
    bad, good = full_disk / "a.txt", tmp_path / "b.txt"
    other = {"--out": "--csv", "--csv": "--out"}[lost]
    answer = command(*measuring, lost, bad, other, good)
    assert answer.status == 2
    assert "verified" in answer.out
    assert answer.err.splitlines()[-1].startswith(f"{bad} cannot be written: the disk is full.")
    assert str(good) not in answer.err
    assert ("cpu-serial" in good.read_text()) if measuring is BENCH else ("numpy" in good.read_text())
    assert not bad.exists()


def test_that_the_json_answer_is_whole_although_its_file_is_not_written(command, full_disk):
    answer = command(*BENCH, "--out", full_disk / "a.json", "--json")
    assert answer.status == 2
    assert len(json.loads(answer.out)["results"]) == 1


def test_that_a_papers_tables_are_printed_although_they_cannot_be_written(command, full_disk):
    answer = command(
        "course", "report", "--sizes", "16", "--device", "cpu", "--budget", "0.001", "--out", full_disk
    )
    assert answer.status == 2
    assert paper("report").tables[0] in answer.out
    assert "cannot be written: the disk is full" in answer.err.splitlines()[-1]
