"""A `filter` in bands that was stopped goes on where it was; what is damaged or of others is begun anew."""

import errno
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from engine.errors import EngineError, FileWriteError
from engine.flow import file as in_file
from engine.image.formats.npy import NpyResult
from engine.image.formats.tiff import TiffResult
from engine.image.large.opening import open_large
from engine.image.large.zarr import ZarrResult
from engine.image.open import open_image
from tests.engine.commands.large_pictures import (
    as_read,
    filtered,
    ome_tiff,
    picture,
    written,
)
from tests.fresh_python import ROOT

pytestmark = pytest.mark.usefixtures("small_bands")

KILLED = """
import os, signal, sys
from engine import interrupts
from engine.flow import file as in_file
from engine.commands.command_line import main
from engine.image.large.result import PartFolder
from engine.flow import rows as memory_plan
memory_plan._BAND_BYTES, in_file.JOURNAL_S = 2048, 0.0
interrupts.listen()
note, notes = PartFolder.note, []
def noted(*given):
    note(*given)
    notes.append(1)
    if len(notes) == int(sys.argv[1]):
        os.kill(os.getpid(), signal.SIGKILL)
PartFolder.note = noted
sys.exit(main(sys.argv[2:]))
"""


class Killed(Exception):
    """A run was stopped as by a kill: nothing is tidied up."""


def stopped(monkeypatch, count, *arguments):
    """Filter, and stop when it was written down so often what is done, which is after each band."""
    note, notes = in_file.PartFolder.note, []
    monkeypatch.setattr(in_file, "JOURNAL_S", 0.0)

    def noted(*given):
        note(*given)
        notes.append(1)
        if len(notes) == count:
            raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(in_file.PartFolder, "note", noted)
        with pytest.raises(Killed):
            filtered(*arguments)


def killed(count, *arguments):
    """Filter in a process that is killed when it has written down so often what is done."""
    command = [sys.executable, "-c", KILLED, str(count), "filter", *arguments, "--device", "cpu"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tif tile=1 compression=zlib", "tif strip=8", "npy", "zarr 2", "zarr 3"])
def test_that_a_stopped_run_goes_on_and_has_the_same_bits(kind, tmp_path, monkeypatch):
    source = written(kind, picture("uint16", height=100), tmp_path)
    output = tmp_path / f"out.{kind.split()[0]}"
    arguments = ("--mask", "1 2 0 -1; 3 5 1 0; -2 0 4 1", "--border", "wrap")
    stopped(monkeypatch, 2, source, output, *arguments)
    done = filtered(source, output, *arguments)
    again = tmp_path / f"again.{kind.split()[0]}"
    in_one_go = filtered(source, again, *arguments)
    assert done.facts["resumed_row"] > 0
    assert in_one_go.clipped.above > 0.9
    assert done.clipped.above == pytest.approx(in_one_go.clipped.above, abs=0.05)
    assert np.array_equal(as_read(output), as_read(again))


@pytest.mark.slow
def test_that_a_killed_run_leaves_no_file_of_the_name_and_its_pyramid_goes_on(tmp_path):
    ome_tiff(tmp_path / "in.ome.tif", picture(height=160), compression="zlib")
    source = str(tmp_path / "in.ome.tif")
    assert killed(12, source, str(tmp_path / "a.tif"), "--mask", "box:3", "--memory", "4G").returncode == -9
    assert sorted(os.listdir(tmp_path)) == ["a.tif.part", "in.ome.tif"]
    for path in (tmp_path / "a.tif.part").iterdir():
        with pytest.raises(EngineError):
            open_image(path)
    levels = []
    for name in "ab":
        filtered(source, tmp_path / f"{name}.tif", "--mask", "box:3")
        with open_large(tmp_path / f"{name}.tif") as found:
            levels.append([found.read(n, slice(0, h), slice(0, w)) for n, (h, w) in enumerate(found.levels)])
    assert all(np.array_equal(a, b) for a, b in zip(*levels, strict=True))


def flipped(path, at):
    """Change a byte of a file."""
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def halved(path):
    os.truncate(path, path.stat().st_size // 2)


def one_chunk(part):
    """Return the file of a chunk of the first rows."""
    return min(path for path in part.glob("result*/0/**/*") if path.is_file() and path.name[0] != ".")


DAMAGE = {
    "npy": (
        lambda part: halved(part / "result.npy-unfinished"),
        lambda part: flipped(part / "result.npy-unfinished", 1000),
        lambda part: (part / "result.npy-unfinished").unlink(),
        lambda part: as_link(part / "result.npy-unfinished"),
        lambda part: journal_with(part, '"rows": ', '"rows": 1'),
        lambda part: halved(part / "journal.json"),
    ),
    "tif tile=1": (
        lambda part: flipped(part / "result.tif-unfinished", 1000),
        lambda part: flipped(part / "result-segments", 8),
    ),
    "tif of a pyramid": (lambda part: flipped(part / "level-1", 40),),
    "zarr 2": (
        lambda part: flipped(one_chunk(part), -1),
        lambda part: one_chunk(part).unlink(),
        lambda part: as_pipe(one_chunk(part)),
        lambda part: flipped(next(part.glob("*/0/.zarray")), 20),
    ),
}


def as_link(path):
    path.rename(path.with_name("result-other"))
    path.symlink_to("result-other")


def as_pipe(path):
    path.unlink()
    os.mkfifo(path)


def journal_with(part, old, new):
    text = (part / "journal.json").read_text()
    assert old in text
    (part / "journal.json").write_text(text.replace(old, new, 1))


@pytest.mark.slow
@pytest.mark.parametrize("kind", DAMAGE)
def test_that_a_damaged_part_is_begun_anew(kind, tmp_path, monkeypatch):
    """A result of 120 M pixels had 58.7 M wrong ones, and was called verified."""
    output = tmp_path / f"out.{kind[:4].strip()}"
    if "pyramid" in kind:
        source = str(tmp_path / "in.ome.tif")
        ome_tiff(source, picture(height=160), compression="zlib")
    else:
        source = written(kind, picture(height=100), tmp_path)
    monkeypatch.setattr("engine.image.large.opening._UNIT_BYTES", 4096)
    stopped(monkeypatch, 3, source, output, "--mask", "box:3")
    part, kept = tmp_path / f"{output.name}.part", tmp_path / "kept"
    part.rename(kept)
    filtered(source, output, "--mask", "box:3")
    whole = as_read(output)
    for number, damage in enumerate(DAMAGE[kind]):
        shutil.copytree(kept, part)
        damage(part)
        done = filtered(source, output, "--mask", "box:3")
        assert done.facts["resumed_row"] == 0, number
        assert any("damaged" in note for note in done.notes), number
        assert np.array_equal(as_read(output), whole), number
        assert not part.exists()


def test_that_other_settings_and_another_source_begin_anew_and_say_so(tmp_path, monkeypatch):
    source, output = written("tif tile=1", picture(height=200), tmp_path), tmp_path / "out.tif"
    for height, mask in ((200, "box:5"), (204, "box:3")):
        stopped(monkeypatch, 2, source, output, "--mask", "box:3")
        written("tif tile=1", picture(height=height), tmp_path)
        done = filtered(source, output, "--mask", mask)
        assert any("begun anew" in note for note in done.notes)
        assert done.facts["resumed_row"] == 0


def test_that_no_other_folder_and_no_part_of_a_living_process_is_replaced(tmp_path):
    source = written("npy", picture(), tmp_path)
    for folder, output, says in [
        ("out.zarr", "out.zarr", "no Zarr store"),
        ("out.npy.part", "out.npy", "no folder that an earlier run has left"),
    ]:
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "letter.txt").write_text("dear")
        with pytest.raises(FileWriteError, match=says):
            filtered(source, tmp_path / output, "--mask", "box:3")
    part = in_file.PartFolder(str(tmp_path / "other.npy"))
    part.begin()
    with pytest.raises(FileWriteError, match="another process writes it now"):
        filtered(source, tmp_path / "other.npy", "--mask", "box:3")
    part.remove()


@pytest.mark.slow
def test_that_ctrl_c_says_that_the_same_command_goes_on(tmp_path):
    source = written("tif tile=1", picture(height=200), tmp_path)
    script = KILLED.replace("os.getpid(), signal.SIGKILL", "os.getpid(), signal.SIGINT), signal.pause(")
    words = f"filter {source} {tmp_path / 'out.tif'} --mask box:3 --memory 4G --device cpu"
    command = [sys.executable, "-c", script, "2", *words.split()]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 130
    assert "the same command goes on from there; " in ended.stderr


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tif tile=1", "npy", "zarr 2"])
def test_that_a_disk_that_fills_up_keeps_what_is_done(kind, tmp_path, monkeypatch):
    source = written(kind, picture(height=200), tmp_path)
    output = tmp_path / f"out.{kind.split()[0]}"
    monkeypatch.setattr(in_file, "JOURNAL_S", 0.0)
    monkeypatch.setattr("engine.image.large.opening._UNIT_BYTES", 4096)
    with monkeypatch.context() as full:
        for writer in (TiffResult, NpyResult, ZarrResult):

            def write(result, level, top, rows, *, real=writer.write):
                if top > 100:
                    raise OSError(errno.ENOSPC, "No space left on device")
                real(result, level, top, rows)

            full.setattr(writer, "write", write)
        with pytest.raises(FileWriteError, match="the same command goes on from there"):
            filtered(source, output, "--mask", "box:3")
    assert filtered(source, output, "--mask", "box:3").facts["resumed_row"] > 0
