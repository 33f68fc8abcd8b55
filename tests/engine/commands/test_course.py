import csv
import json

import pytest

import engine.course.bench
from engine.course.papers import PAPERS
from engine.device.devices import device_named
from engine.errors import DeviceFault, DeviceUnavailable

TINY = ("--sizes", "33", "--budget", "0.001", "--device", "cpu")


def test_that_it_lists_the_papers_and_which_kernel_is_which(command):
    answer = command("course")
    assert (answer.status, answer.err) == (0, "")
    for one in PAPERS:
        assert f"{one.key}: {one.title}." in answer.out
        for kernel in one.kernels:
            line = next(line for line in answer.out.splitlines() if line.strip().startswith(kernel.name))
            assert kernel.here.variant in line
    document = json.loads(command("course", "--json").out)
    assert (document["format"], document["version"]) == ("haloscope-course", 1)
    assert [one["key"] for one in document["papers"]] == [one.key for one in PAPERS]
    assert document["papers"][0]["kernels"][2]["here"]["variant"] == "cached"


def test_that_a_paper_is_measured_and_printed_with_reasons_once(command):
    answer = command("course", "report", *TINY)
    assert answer.status == 0
    assert answer.err.splitlines()[0].startswith("[report 0%] cpu-serial, 33 x 33")
    lines = answer.out.splitlines()
    at = lines.index("Time and speed-up")
    assert lines[at + 1].split()[:2] == ["Matrix", "Size"]
    assert set(lines[at + 2].split()) == {"here"}
    assert float(lines[at + 3].split()[2]) > 0
    assert lines[at + 6].startswith("(1) This needs a CUDA device: the device chosen is the CPU")
    assert any("Measured for the sizes 33 only" in line for line in lines)
    assert any(line.startswith("CPU: ") for line in lines)


def test_that_files_are_written_and_json_is_one_document(command, tmp_path):
    out = tmp_path / "tables"
    answer = command("course", "lab", *TINY, "--out", out, "--json")
    assert answer.status == 0
    document = json.loads(answer.out)
    assert [table["title"] for table in document["papers"][0]["tables"]] == list(PAPERS[2].tables)
    assert document["machine"]["CPU"]
    written = {line.partition(": ")[2] for line in answer.err.splitlines() if line.startswith("written: ")}
    assert written == {str(path) for path in out.iterdir()}
    with (out / "lab-table-1.csv").open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.reader(file) if not row[0].startswith("# ")]
    assert rows[0][:2] == ["Size", "Serial (ms) (here)"]
    assert float(rows[1][1]) > 0


def test_that_without_a_paper_all_are_written(command, tmp_path):
    answer = command("course", *TINY, "--out", tmp_path)
    assert answer.status == 0
    assert {f"{one.key}.md" for one in PAPERS} <= {path.name for path in tmp_path.iterdir()}


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (("reprot",), 2, ["paper 'reprot'", "Did you mean report?"]),
        (("report", "--device", "cuda:77"), 3, ["device 'cuda:77'"]),
        (("report", "--device", "simulator"), 2, ["The simulator", "its times mean nothing"]),
        (("report", "--sizes", "0"), 2, ["--sizes 0", "1 to 16,384"]),
        (("report", "--sizes", "512,,1024"), 2, ["a part of the list is empty"]),
        (("report", "--budget", "-1"), 2, ["--budget -1"]),
        (("report", "--out", "nowhere/here"), 2, ["the folder around it does not exist"]),
    ],
)
def test_that_bad_use_is_one_line_with_its_status(refused, arguments, status, says):
    refused("course", *arguments, status=status, says=says)


@pytest.mark.parametrize(("device", "status"), [("cuda:77", 3), ("simulator", 2)])
def test_that_nothing_is_made_for_a_device_that_cannot_be(refused, tmp_path, device, status):
    refused("course", "report", "--device", device, "--out", tmp_path / "tables", status=status, says=[])


def test_that_a_wrong_result_has_status_4_and_the_tables_are_printed_all_the_same(command, monkeypatch):
    taken = engine.course.bench.Bench.take

    def wrong(self, run, checkpoint):
        found = taken(self, run, checkpoint)
        return (
            engine.course.bench.Measured(reason="not verified: row 0", not_verified=True)
            if found.values
            else found
        )

    monkeypatch.setattr(engine.course.bench.Bench, "take", wrong)
    answer = command("course", "report", *TINY)
    assert answer.status == 4
    assert "not verified: row 0" in answer.out


def test_that_without_a_gpu_the_cells_say_so_and_the_command_is_well(command, monkeypatch):
    def none(key):
        if key == "cuda":
            raise DeviceUnavailable("device 'cuda'", "No NVIDIA driver was found.", "Install one.")
        return device_named(key)

    monkeypatch.setattr(engine.course.bench, "device_named", none)
    answer = command("course", "lab", "--sizes", "33", "--budget", "0.001")
    assert answer.status == 0
    assert "(1) This needs a CUDA device: No NVIDIA driver was found." in answer.out
    assert "CUDA device: none: No NVIDIA driver was found." in answer.out


def test_that_papers_done_before_a_device_is_lost_are_kept(command, monkeypatch, tmp_path):
    ended = []
    monkeypatch.setattr("engine.commands.leave_at_once", ended.append)
    taken = engine.course.bench.Bench.take

    def lose(self, run, checkpoint):
        if "separable" in run.label:
            raise DeviceFault("cuda:0", "illegal address", "Start again.")
        return taken(self, run, checkpoint)

    monkeypatch.setattr(engine.course.bench.Bench, "take", lose)
    answer = command("course", *TINY, "--out", tmp_path)
    assert (answer.status, ended) == (3, [3])
    assert {path.name for path in tmp_path.glob("*.md")} == {"report.md", "cnn.md"}
