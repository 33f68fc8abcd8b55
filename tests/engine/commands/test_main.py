"""Exit statuses, streams, documents, listings: as a shell sees them once each, all else in this process."""

import io
import os
import resource
import signal
import subprocess
import sys

import numpy as np
import pytest

import engine
from engine.commands import COMMANDS
from engine.commands.output import log, print_answer, report_interrupt
from engine.commands.own_process import command_process
from engine.errors import EngineError, FileWriteError
from engine.image.open import sample_path
from engine.mask.generator_table import GENERATORS
from engine.mask.presets import presets
from engine.tasks.network.task import NETWORK_VARIANTS
from engine.tasks.product.problem import MATMUL_VARIANTS
from engine.work.filtering.variants import VARIANTS
from engine.work.operations.contract import OPERATION_VARIANTS
from engine.work.planned import CHAIN_VARIANTS
from tests.engine.commands.conftest import LOST, Left, raising, strict_json
from tests.fresh_python import ROOT, fresh_python


@pytest.mark.slow
def test_that_a_program_prints_json_on_stdout_or_one_line_on_stderr(program, tmp_path):
    out = tmp_path / "out.png"
    answer = program("filter", sample_path("impulse"), out, "--mask sobel-x --json")
    assert (answer.status, answer.err) == (0, "")
    assert answer.document["operation"] == "correlation"
    assert out.stat().st_size > 0
    answer = program("filter nowhere.png", tmp_path / "out.png", "--mask box-3 --json")
    line = "nowhere.png cannot be opened: there is no such file. Check the name and the folder.\n"
    assert (answer.status, answer.out, answer.err) == (2, "", line)


def test_that_a_reader_who_leaves_early_is_no_error(program):
    reader, writer = os.pipe()
    os.close(reader)
    answer = program("masks", stdout=writer)
    os.close(writer)
    assert (answer.status, answer.err) == (141, "")


@pytest.mark.slow
def test_that_a_list_loads_only_what_it_shows_also_beside_a_driver():
    """On a machine with a GPU `devices` took 1.04 s, of which 0.65 were Numba's CUDA target."""
    # In an order in which each may load more than the one before.
    code = "import sys, engine.commands\n"
    code += "assert not {'numba', 'numpy', 'argparse'} & set(sys.modules)\n"
    code += "import engine.commands.command_line as c\n"
    for command, unneeded in [
        ("masks", "numpy numba llvmlite engine.mask.mask engine.device.devices"),
        ("devices", "numpy numba llvmlite cuda engine.device.devices engine.device.cuda"),
        ("variants", "PySide6 gui numba cuda scipy engine.run.measure engine.mask.text"),
        ("explain 9x8 --mask box:3 --variant cpu-serial", "PySide6 gui numba cuda scipy"),
    ]:
        code += (
            f"assert c.main({command.split()!r}) == 0; loaded = {set(unneeded.split())} & set(sys.modules)\n"
        )
        code += f"assert not loaded, {command!r} + str(loaded)\n"
    # A library that is found, but is no driver.
    assert fresh_python("-c", code, NUMBA_CUDA_DRIVER="libc.so.6")


@pytest.mark.slow
def test_that_a_filter_loads_only_what_it_needs(command, tmp_path):
    """Of 450 modules 30 were not needed: 15 of 200 ms."""
    unneeded = (
        "numpy.random statistics engine.mask.text engine.tasks.network engine.tasks.product "
        "engine.results.columns engine.flow engine.device.cuda numba scipy PIL tifffile"
    )
    words = ["filter", sample_path("impulse"), tmp_path / "out.png", "--mask", "box-3", "--device", "cpu"]
    run = f"import sys, engine.commands.command_line as c; assert c.main({list(map(str, words))}) == 0"
    assert command(*words).status == 0  # its code is compiled and kept
    loaded = f"{set(unneeded.split())} & set(sys.modules)"
    fresh_python("-c", f"{run}; assert not {loaded}, {loaded}")


def test_that_help_shows_what_to_type_with_what_comes_back(command):
    for name in COMMANDS:
        answer = command(name, "--help")
        assert (answer.status, answer.err) == (0, "")
        assert f"python main.py {name}" in answer.out
        assert "examples:" in answer.out
        assert "exit status: 0 " in answer.out


def test_that_bad_use_is_refused_in_one_line(refused):
    for arguments, says in [
        ("", "there is no such command ... filter, batch, bench"),
        ("sharpen", "'sharpen' ... there is no such command ... filter, batch, bench"),
        ("masks --jsn", "unrecognized arguments: --jsn ... `python main.py masks --help`"),
        ("variants tiled", "unrecognized arguments: tiled"),
        ("bench", "no file for the results ... --out ... --best"),
    ]:
        refused(arguments, says=says)


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (MemoryError(), 2, "Not enough memory: the system gave no more. Use a smaller picture, or close"),
        (OSError(24, "Too many open files"), 2, "No more files can be opened: this process may have "),
        (RuntimeError("can't start new thread"), 2, "No more threads or processes can be started: the"),
        (EngineError("a", "b", "c"), 2, "a: b. c\n"),
        (ZeroDivisionError("by\nzero"), 1, "Unexpected error: ZeroDivisionError: by zero. "),
        (LOST, 3, "cuda:0: illegal address. Start again.\n"),
    ],
    ids=repr,
)
def test_that_every_end_is_one_line(command, monkeypatch, left, error, status, line):
    monkeypatch.setattr("engine.commands.masks.print_answer", raising(error))
    answer = command("masks")
    assert (answer.status, answer.out) == (status, "")
    assert answer.err.startswith(line)
    assert answer.err.count("\n") == 1
    # After a device fault destructors raise or hang.
    assert left == ([3] if error is LOST else [])


@pytest.fixture
def filtered(program, tmp_path):
    """Return a function that filters a picture in a process of its own and checks the result."""
    pixels = np.arange(48 * 40, dtype=np.uint8).reshape(48, 40) % 251
    engine.save_image(pixels, tmp_path / "in.png")
    engine.save_image(pixels, tmp_path / "in.jpg", quality=100)

    def do(cache, before=None, source="in.png", **environment):
        # What compiles soonest.
        words = "filter", tmp_path / source, tmp_path / "out.png", "--operation negative --no-verify --json"
        answer = program(*words, NUMBA_CACHE_DIR=str(cache), before=before, **environment)
        assert answer.status == 0, answer
        assert answer.document["variant"] == "cpu-negative"
        found = engine.open_image(tmp_path / "out.png").pixels
        assert np.abs(255 - found.astype(int) - pixels).max() <= (0 if source == "in.png" else 4)
        return answer.err

    return do


@pytest.mark.slow
def test_that_a_full_cache_disk_is_one_note(filtered, tmp_path):
    def small_disk():
        # Compiled code takes 6 kB, the result 200 bytes.
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    # A JPEG is checked by compiled code too.
    # Python would keep the beginning of its bytecode there, in the sources' folder, and not notice.
    without_bytecode = {"PYTHONDONTWRITEBYTECODE": "1"}
    (line,) = filtered(tmp_path / "cache", small_disk, "in.jpg", **without_bytecode).splitlines()
    assert line.startswith(f"note: Compiled code cannot be kept in {tmp_path / 'cache'}")


@pytest.mark.slow
def test_that_damaged_compiled_code_is_replaced_without_a_word(filtered, tmp_path):
    cache = tmp_path / "cache"
    assert filtered(cache) == ""
    good = {path: path.read_bytes() for path in sorted(cache.glob("*/*"))}
    assert good
    for number, (path, content) in enumerate(good.items()):
        middle = len(content) // 2
        flipped = content[:middle] + bytes([content[middle] ^ 16]) + content[middle + 1 :]
        path.write_bytes((flipped, content[:middle], b"")[number % 3])
    assert filtered(cache) == ""
    assert all(path.stat().st_size == len(content) for path, content in good.items())


def test_that_devices_are_listed_with_the_reason_where_one_is_unavailable(command, no_gpu):
    answer = command("devices")
    assert (answer.status, answer.err) == (0, "")
    assert "cuda:0     CUDA device: unavailable. There is no driver." in answer.out
    assert "simulator  CUDA simulator: ready" in answer.out
    devices = command("devices --json").document["devices"]
    assert [d["available"] for d in devices] == [True, False, True]
    assert devices[2]["times_mean_speed"] is False


TASKS = {
    "filtering": VARIANTS,
    "product": MATMUL_VARIANTS,
    "network": NETWORK_VARIANTS,
    "operation": OPERATION_VARIANTS,
    "chain": CHAIN_VARIANTS,
}


def test_that_the_variants_of_every_task_are_listed_with_their_facts(command):
    text, entries = command("variants").out, command("variants --json").document["variants"]
    for task, variants in TASKS.items():
        listed = [entry for entry in entries if entry["task"] == task]
        for entry, known in zip(listed, variants, strict=True):
            names = ("key", "title", "idea", "device", "remark", *["operation"] * (task == "operation"))
            assert [entry[name] for name in names] == [getattr(known, name) for name in names]
            assert f"{known.key}: {known.remark}" in text or task != "filtering" or not known.remark
            assert known.key in text
            assert known.idea in text
            block = known.default_block
            if task == "filtering":
                wanted = {"x": block.x, "y": block.y} if known.uses_block else None
                assert entry["default_block"] == wanted
            if task == "product":
                assert entry["default_tile"] == (block.x if known.uses_block else None)


def test_that_masks_are_listed_with_their_weights(command):
    text, entries = command("masks").out, command("masks --json").document["masks"]
    assert all(one.form in text for one in GENERATORS.values())
    for entry, preset in zip(entries, presets(), strict=True):
        assert preset.key in text
        assert (entry["key"], entry["title"], entry["teaches"]) == (preset.key, preset.title, preset.teaches)
        assert np.array_equal(entry["weights"], preset.mask.weights)
        assert (entry["rows"], entry["columns"]) == preset.mask.shape
        assert tuple(entry["anchor"]) == preset.mask.anchor


def test_that_standard_streams_that_cannot_be_written_are_met_in_words(monkeypatch, capsys):
    log("what:\n  why")
    assert capsys.readouterr().err == "what: why\n"
    ascii_only, full, left = io.TextIOWrapper(io.BytesIO(), encoding="ascii"), io.StringIO(), io.StringIO()
    full.write, left.write = raising(OSError(28, "No space left on device")), raising(BrokenPipeError())
    # A name that the terminal cannot write is shown all the same.
    monkeypatch.setattr(sys, "stdout", ascii_only)
    print_answer("\N{EURO SIGN} \udcff.png")
    assert ascii_only.buffer.getvalue() == b"\\u20ac \\udcff.png\n"
    monkeypatch.setattr(sys, "stdout", full)
    with pytest.raises(FileWriteError, match="no space left on device"):
        print_answer("answer")
    monkeypatch.setattr(sys, "stderr", left)
    log("note")


def test_that_after_ctrl_c_a_file_counts_as_written_only_where_its_content_was_replaced(ctrl_c, tmp_path):
    kept, made, impossible = tmp_path / "kept", tmp_path / "made", "a\0b"
    kept.write_text("old")
    line = r"Stopped: 1 of 3 done; .*kept was not written; .*made was written; a\\u0000b was not written\.$"
    with report_interrupt([str(kept), str(made), impossible], lambda: "1 of 3 done"):
        made.write_text("new")
        with pytest.raises(Left, match=line):
            ctrl_c()
    with pytest.raises(Left, match=r"^Stopped\.$"):
        ctrl_c()


def test_that_numpy_starts_threads_only_where_matrices_are_multiplied():
    """They take 25 ms of each start; what a person has chosen stays."""
    fresh_python(
        "-c",
        "import os, main, engine.commands.command_line\n"
        "from engine.commands.own_process import answered\n"
        "from engine.process import is_own_process, lives_on, with_blas_threads\n"
        "key, seen = 'OPENBLAS_NUM_THREADS', []\n"
        "def note(arguments):\n"
        # What this process has, and what its children get.
        "    seen.append([of.get(key, '') for of in (os.environ, with_blas_threads(os.environ))])\n"
        "    os.environ.pop(key, None)\n"
        "    return 0\n"
        "engine.commands.command_line.main = note\n"
        # Another test may have set it for this process and its children.
        "os.environ.pop(key, None)\n"
        "answered(main.main, ['matmul'])\n"
        "os.environ[key] = '3'\n"
        "answered(main.main, ['masks'])\n"
        "answered(main.main, ['masks'])\n"
        "assert seen == [['', ''], ['3', '3'], ['1', '']], seen\n"
        # What compiles loads Numba without scipy.linalg, and keeps LLVM's code.
        "assert (is_own_process(), lives_on()) == (True, False)",
    )


@pytest.mark.skipif(os.name != "posix", reason="a signal ends it there")
def test_that_a_command_of_the_window_ends_with_it(tmp_path):
    (tmp_path / "photos").mkdir()
    engine.save_image(np.zeros((8, 8), np.uint8), tmp_path / "photos" / "a.png")
    words, environment = command_process(["batch", "photos", "--out", "results", "--mask", "box-3"])
    ended = subprocess.run(words, env=environment, cwd=tmp_path, input=b"", capture_output=True, timeout=300)
    assert ended.returncode == 128 + signal.SIGTERM, ended.stderr


# What commands need beside `--json`.
ARGUMENTS = {
    "batch": "in.png --out out --mask box:3",
    "bench": "--out r.json --sizes 64 --masks 3 --variants cpu-parallel --budget 0",
    "chains": "unsharp --out chain.json",
    "code": "tiled --ptx",
    "course": "report --sizes 16 --device cpu --budget 0 --out tables",
    "explain": "64x48 --mask gaussian:5 --variant cpu-parallel",
    # A bound counts what this process already has, with all tests before.
    "filter": "in.npy out.zarr --mask box:3 --memory 8G",
    "judge": "kernel.cu",
    "masks": "sobel-x --as opencv",
    "matmul": "--size 16 --budget 0",
    "network": "--batch 1 --stage network-cpu --budget 0",
}
KERNEL = ROOT / "tests" / "judge" / "kernels" / "right" / "naive.cu"


@pytest.fixture
def folder(tmp_path):
    """A folder with what the commands read."""
    (tmp_path / "in.png").write_bytes(sample_path("impulse").read_bytes())
    (tmp_path / "kernel.cu").write_bytes(KERNEL.read_bytes())
    np.save(tmp_path / "in.npy", np.ones((300, 200), np.uint8))
    return tmp_path


@pytest.mark.slow
def test_that_every_command_answers_with_one_document(command, folder, monkeypatch):
    monkeypatch.chdir(folder)
    for name in COMMANDS:
        answer = command(name, ARGUMENTS.get(name, ""), "--json")
        assert answer.status == 0, (name, answer.err)
        assert answer.document, name


def test_that_what_libraries_print_is_no_part_of_an_answer():
    """Python's print, a descriptor, a child, and C, which keeps it in a buffer until the process ends."""
    noise = (
        "libc.printf(b'noise\\n'); os.write(1, b'noise\\n'); print('noise'); "
        "subprocess.run([sys.executable, '-c', 'print(\"noise\")'])"
    )
    code = (
        "import ctypes, os, subprocess, sys; import engine.commands.masks as listing, main\n"
        "libc = ctypes.CDLL(None)\nanswer = listing.print_entries\n"
        f"def noisy(*given):\n    {noise}\n    answer(*given)\n    {noise}\n"
        "listing.print_entries = noisy\nsys.argv[1:] = ['masks', '--json']\nsys.exit(main.run())"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    assert strict_json(done.stdout)["masks"]
    assert done.stderr.count("noise") == 8
