import csv
import json
from dataclasses import replace

import pytest

# Before a test replaces what is in the registry: a command that is imported meanwhile would keep that.
import engine.commands.matmul
import engine.variants.registry
from engine.errors import DeviceFault, DeviceUnavailable
from engine.host.executor import SimulatorExecutor
from engine.results.metrics import number_of
from engine.results.read import result_from_json
from engine.run import device_choice
from engine.variants.registry import matmul_variant


def _strict(text):
    def refuse(word):
        raise ValueError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.fixture
def no_gpu(monkeypatch):
    """Make this a machine without a CUDA device, whatever it is."""
    named = device_choice.device_named

    def refuse(key):
        if key.startswith("cuda"):
            raise DeviceUnavailable(f"device '{key}'", "No NVIDIA driver was found.", "Install one.")
        return named("cpu" if key == "auto" else key)

    monkeypatch.setattr(device_choice, "device_named", refuse)


def test_that_without_a_gpu_the_counted_cells_are_there_and_the_measured_say_why_not(
    command, no_gpu, tmp_path
):
    out, table = tmp_path / "r.json", tmp_path / "r.csv"
    answer = command(
        "matmul", "--size", "32", "--tiles", "4,8,16,32", "--out", out, "--csv", table, "--budget", "0.01"
    )
    assert answer.status == 0
    document = _strict(out.read_text())
    assert (document["format"], document["version"]) == ("haloscope-results", 2)
    results = document["results"]
    assert [(r["variant"], r["block"] and r["block"]["x"]) for r in results] == [
        *(("matmul-naive", tile) for tile in (4, 8, 16, 32)),
        *(("matmul-tiled", tile) for tile in (4, 8, 16, 32)),
        ("numpy", None),
    ]
    *cuda, numpy = results
    assert [r["cgma_flop_per_load"] for r in cuda] == [1.0] * 4 + [4.0, 8.0, 16.0, 32.0]
    assert cuda[6]["lecture_limit_gflops"] == pytest.approx(345.6, abs=1e-9)
    assert cuda[0]["lecture_limit_gflops"] == pytest.approx(21.6, abs=1e-9)
    assert all("No NVIDIA driver was found." in r["failure"] for r in cuda)
    assert all((r["timing"], r["gflops"], r["verification"]) == (None, None, None) for r in cuda)
    assert numpy["title"] == "numpy (BLAS)"
    assert numpy["verification"]["passed"] is True
    assert len(numpy["timing"]["kernel"]["samples_ms"]) >= 5
    assert numpy["gflops"] > 0
    assert number_of(result_from_json(numpy), "gflops") == numpy["gflops"]
    with table.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["cgma_flop_per_load"] for row in rows] == [*["1.0"] * 4, "4.0", "8.0", "16.0", "32.0", ""]
    assert [value for name, value in rows[0].items() if name.endswith("_ms")] == [""] * 18
    assert rows[-1]["verified"] == "yes"
    assert rows[0]["status"] == cuda[0]["failure"]
    assert [row["refused"] for row in rows] == [*["yes"] * 8, "no"]
    assert [r["refused"] for r in results] == [*[True] * 8, False]


def test_that_the_table_tells_each_reason_once_and_progress_goes_to_stderr(command, no_gpu):
    answer = command("matmul", "--sizes", "8,3x5x7", "--tiles", "4,16", "--budget", "0")
    assert answer.status == 0
    assert [line.split()[0] for line in answer.err.splitlines()] == [f"[{n}/10]" for n in range(1, 11)]
    lines = answer.out.splitlines()
    assert lines[0].startswith("run  rows x inner x columns  variant")
    # As `bench` says it: nothing was tried.
    assert lines[1].endswith("cannot (1)")
    assert lines[3].endswith("cannot (2)")
    assert "numpy (BLAS)" in lines[5]
    assert "verified" in lines[5]
    assert lines[6].split()[:6] == ["6", *["3", "x", "5", "x", "7"]]
    assert [line[:4] for line in lines[11:]] == ["(1) ", "(2) "]
    assert answer.err.count(": cannot\n") == 8


def test_that_the_simulator_proves_small_products_and_has_no_times(command, tmp_path):
    out = tmp_path / "r.json"
    answer = command(
        "matmul", "--size", "5x7x6", "--tiles", "4", "--device", "simulator", "--out", out, "--json", "--budget", "0"
    )  # fmt: skip
    assert answer.status == 0
    assert _strict(answer.out) == _strict(out.read_text())
    naive, tiled, numpy = _strict(answer.out)["results"]
    for result in (naive, tiled):
        assert (result["device"], result["verification"]["passed"], result["timing"]) == (
            "simulator",
            True,
            None,
        )
    assert (numpy["device"], numpy["timing"] is None) == ("cpu", False)


def test_that_what_is_too_large_for_the_simulator_stands_with_its_reason(command):
    answer = command("matmul", "--size", "65", "--tiles", "4", "--device", "simulator", "--json")
    assert answer.status == 0
    naive, _, numpy = _strict(answer.out)["results"]
    assert naive["failure"].startswith("matrices of 65 x 65 x 65 in the simulator")
    assert (naive["device"], naive["cgma_flop_per_load"]) == ("simulator", 1.0)
    assert numpy["verification"]["passed"] is True


def test_that_a_measurement_in_which_nothing_could_run_says_so(command, no_gpu, tmp_path):
    out = tmp_path / "r.json"
    answer = command("matmul", "--size", "8", "--variants", "matmul-tiled", "--out", out)
    assert answer.status == 3
    assert "needs a CUDA device: No NVIDIA driver was found." in answer.err.splitlines()[-1]
    assert len(_strict(out.read_text())["results"]) == 4


def test_that_a_wrong_product_has_status_4_and_no_speed(command, monkeypatch, tmp_path):
    class Wrong:
        def launch(self, image, out, stream=None):
            out[...] = 1e9

    wrong = replace(matmul_variant("numpy"), prepare=lambda product, constant, block: Wrong())
    monkeypatch.setattr(engine.variants.registry, "MATMUL_VARIANTS", (wrong,))
    out = tmp_path / "r.json"
    answer = command("matmul", "--size", "8", "--variants", "numpy", "--out", out)
    assert answer.status == 4
    (result,) = _strict(out.read_text())["results"]
    assert (result["timing"], result["gflops"]) == (None, None)
    assert result["status"].startswith("not verified: row 0, column 0")


def test_that_after_a_lost_device_the_other_cells_are_told_so_and_all_is_written(
    command, monkeypatch, tmp_path
):
    def lose(executor, function, *arguments):
        raise DeviceFault("cuda:0", "illegal address", "Start again.")

    monkeypatch.setattr(SimulatorExecutor, "submit", lose)
    left = []
    monkeypatch.setattr(engine.commands, "leave_at_once", left.append)
    out = tmp_path / "r.json"
    answer = command(
        "matmul", "--size", "8", "--tiles", "4", "--device", "simulator", "--budget", "0", "--out", out
    )
    assert (answer.status, left) == (3, [3])
    naive, tiled, numpy = _strict(out.read_text())["results"]
    assert naive["failure"] == "cuda:0: illegal address. Start again."
    assert not naive["refused"]
    assert tiled["failure"].startswith("Not measured: the device was lost before (cuda:0: illegal address)")
    assert numpy["verification"]["passed"] is True


@pytest.mark.parametrize(
    ("options", "status", "says"),
    [
        (("--size", "0"), 2, ("matrices of 0 x 0", "from 1 to 1,048,576")),
        (("--size", "big"), 2, ("size 'big'", "Write it as 512 or as 17x33x5")),
        (("--sizes", "512,3x4"), 2, ("size '3x4'",)),
        (("--size", "100000"), 2, ("the three take", "the limit is 4.0 GiB")),
        (("--tiles", "33"), 2, ("tile 33", "2 to 32", "The nearest legal tile is 32.")),
        (("--tiles", "4,1"), 2, ("tile 1", "The nearest legal tile is 2.")),
        (("--tiles", "3.7"), 2, ("tile 3.7", "not a whole number", "The nearest legal tile is 4.")),
        (("--tiles", "x"), 2, ("tile x", "The nearest legal tile is 16.")),
        (("--tiles", "4,,8"), 2, ("a part of the list is empty",)),
        (("--variants", "tiled"), 2, ("variant 'tiled'", "Did you mean matmul-tiled?")),
        (("--budget", "-1"), 2, ("--budget -1", "from 0 to 3600")),
        (("--csv", "{folder}/r.json"), 2, ("--out and --csv", "the same file")),
        (("--csv", "{folder}/nowhere/r.csv"), 2, ("its folder does not exist",)),
        (("--device", "cuda:77"), 3, ("device 'cuda:77'", "no such device")),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) and value[0].startswith("--") else "",
)
def test_that_bad_input_is_refused_before_the_work(refused, monkeypatch, tmp_path, options, status, says):
    monkeypatch.setattr("engine.commands.matmul.sweep", None)  # any work would fail
    options = [option.replace("{folder}", str(tmp_path)) for option in options]
    refused("matmul", "--out", tmp_path / "r.json", *options, status=status, says=says)


def test_that_help_shows_the_example_of_the_course(command):
    answer = command("matmul", "--help")
    assert answer.status == 0
    assert "matmul --size 1024 --tiles 4,8,16,32 --out r.json" in answer.out
