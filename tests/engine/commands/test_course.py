import csv

import pytest

import engine.course.bench
import engine.course.files
from engine.course.papers import PAPERS, paper
from engine.course.runs import Amount, FilterRun, StageRun
from tests.engine.commands.conftest import LOST

TINY = "--sizes 33 --budget 0.001 --device cpu"


def test_that_it_lists_the_kernels_of_each_paper(command):
    answer = command("course")
    assert (answer.status, answer.err) == (0, "")
    for one in PAPERS:
        assert f"{one.key}: {one.title}." in answer.out
        for kernel in one.kernels:
            line = next(line for line in answer.out.splitlines() if line.strip().startswith(kernel.name))
            assert kernel.variant in line
    document = command("course --json").document
    assert (document["format"], document["version"]) == ("haloscope-course", 1)
    assert [one["key"] for one in document["papers"]] == [one.key for one in PAPERS]
    assert document["papers"][0]["kernels"][3]["here"]["variant"] == "cached-constant"


@pytest.mark.slow
def test_that_a_paper_is_printed_with_each_reason_once(command):
    answer = command("course report", TINY)
    assert answer.status == 0
    assert answer.err.splitlines()[0].startswith("[report 0%] cpu-serial, 33 × 33")
    lines = answer.out.splitlines()
    at = lines.index("Time and speed-up")
    assert lines[at + 1].split()[:2] == ["Matrix", "Size"]
    assert set(lines[at + 2].split()) == {"here"}
    assert float(lines[at + 3].split()[2]) > 0
    assert lines[at + 6].startswith("(1) This needs a CUDA device: the device chosen is the CPU")
    assert any("Measured for the sizes 33 only" in line for line in lines)
    assert any(line.startswith("CPU: ") for line in lines)


@pytest.fixture
def quick(monkeypatch):
    """Filters take 2 ms, nothing else is measured or counted: `tests/engine/course` measures every paper."""

    def take(self, run, checkpoint):
        return {"kernel_ms": 2.0} if isinstance(run, FilterRun) else Amount(reason="not here")

    monkeypatch.setattr(engine.course.bench.Bench, "take", take)
    monkeypatch.setattr(engine.course.bench, "transactions_per_request", lambda *_, checkpoint: Amount(1.5))
    return take


@pytest.mark.slow
def test_that_without_a_paper_all_are_written(command, quick, tmp_path):
    out = tmp_path / "tables"
    answer = command("course", TINY, "--json --out", out)
    assert answer.status == 0
    papers = answer.document["papers"]
    assert [[table["title"] for table in one["tables"]] for one in papers] == [
        list(one.tables) for one in PAPERS
    ]
    assert answer.document["machine"]["CPU"]
    written = {line.partition(": ")[2] for line in answer.err.splitlines() if line.startswith("written: ")}
    assert written == {str(path) for path in out.iterdir()} >= {f"{out}/{one.key}.md" for one in PAPERS}
    with (out / "lab-table-1.csv").open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.reader(file) if not row[0].startswith("# ")]
    assert rows[0][:2] == ["Size", "Serial (ms) (here)"]
    assert float(rows[1][1]) > 0


def test_that_bad_use_is_one_line_with_its_status(refused, tmp_path):
    for arguments, status, says in [
        ("reprot", 2, "paper 'reprot' ... Did you mean report? Choose one of report, cnn, lab"),
        ("lecture", 2, "paper 'lecture' ... Choose one of report, cnn, lab, convolution, performance."),
        ("report --sizes 0", 2, "--sizes 0 ... 1 to 16,384"),
        ("report --sizes 512,,1024", 2, "a part of the list is empty"),
        ("report --budget -1", 2, "--budget -1"),
        ("report --out nowhere/here", 2, "its folder does not exist"),
        ("report --out {folder}/file", 2, "has its name"),
        ("--sizes 512", 2, "--sizes without a paper ... Name a paper, or --out FOLDER for all of them."),
        ("--device cuda:0 --json", 2, "--device without a paper"),
        ("--budget 1", 2, "--budget without a paper"),
        # Nothing is made for a device that cannot be used.
        ("report --out {folder}/tables --device cuda:77", 3, "device 'cuda:77'"),
        ("report --out {folder}/tables --device simulator", 2, "The simulator ... its times mean nothing"),
    ]:
        (tmp_path / "file").write_text("")
        refused("course", arguments.replace("{folder}", str(tmp_path)), status=status, says=says)


def test_that_only_figures_need_matplotlib_and_are_refused_before_anything_is_written(
    command, refused, quick, monkeypatch, tmp_path
):
    monkeypatch.setattr(engine.course.files, "find_spec", lambda name: None)
    says = "The figures need Matplotlib: pip install 'haloscope[figures]'"
    refused("course lab --out", tmp_path / "tables", says=says)
    assert command("course report --out", tmp_path, TINY).status == 0


def test_that_tables_with_a_wrong_result_are_printed_with_status_4(command, monkeypatch):
    taken = engine.course.bench.Bench.take

    def wrong(self, run, checkpoint):
        found = taken(self, run, checkpoint)
        refuted = Amount(reason="not verified: row 0", not_verified=True)
        return found if isinstance(found, Amount) else refuted

    monkeypatch.setattr(engine.course.bench.Bench, "take", wrong)
    answer = command("course report", TINY)
    assert answer.status == 4
    assert "not verified: row 0" in answer.out


def test_that_without_a_gpu_the_cells_say_so(command, no_gpu):
    answer = command("course lab --sizes 33 --budget 0.001")
    assert answer.status == 0
    assert "(1) This needs a CUDA device: There is no driver." in answer.out
    assert "CUDA device: none: There is no driver." in answer.out
    assert "--device simulator" in answer.out


def test_that_papers_done_before_a_device_is_lost_are_kept(command, quick, monkeypatch, left, tmp_path):
    def lose(self, run, checkpoint):
        if isinstance(run, StageRun):
            raise LOST
        return quick(self, run, checkpoint)

    monkeypatch.setattr(engine.course.bench.Bench, "take", lose)
    answer = command("course", TINY, "--out", tmp_path)
    assert (answer.status, left) == (3, [3])
    assert {path.name for path in tmp_path.glob("*.md")} == {"report.md"}


@pytest.mark.slow
def test_that_a_papers_tables_are_printed_although_they_cannot_be_written(command, full_disk):
    answer = command("course report --sizes 16 --device cpu --budget 0.001 --out", full_disk)
    assert answer.status == 2
    assert paper("report").tables[0] in answer.out
    assert "cannot be written: the disk is full" in answer.err.splitlines()[-1]


@pytest.mark.usefixtures("quick")
def test_that_the_recorded_column_is_printed_where_it_is_asked_for(command):
    assert "Recorded: NVIDIA H200" in command("course lab --sizes 512 --device cpu --recorded").out
    assert "ecorded" not in command("course lab --sizes 512 --device cpu").out
