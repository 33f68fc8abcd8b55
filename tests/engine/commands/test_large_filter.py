"""`filter` and `batch` of pictures that are larger than memory: the bits of the whole, whatever the file."""

import errno
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import tifffile
from PIL import Image

import engine
from engine.commands.arguments import read
from engine.commands.filtering import FilterSettings
from engine.commands.picture_work import work_for
from engine.device.launches import DeviceKind
from engine.errors import BadValue, EngineError, FileWriteError, ImageReadError
from engine.flow import file as in_file
from engine.flow import rows as memory_plan
from engine.geometry.border import Border
from engine.image.formats.npy import NpyResult
from engine.image.large.opening import open_large
from engine.image.large.tiff_writer import TiffResult
from engine.image.large.zarr import ZarrResult
from engine.image.metadata import metadata_of
from engine.image.open import open_image
from engine.image.picture import Picture
from engine.image.save import save_image
from engine.work.filtering.variants import VARIANTS
from tests.fresh_python import ROOT

zarr = pytest.importorskip("zarr")

HEIGHT, WIDTH = 131, 83
CPU = [known.key for known in VARIANTS if known.device is DeviceKind.CPU and known.band_invariant]


@pytest.fixture(autouse=True)
def _small_bands(monkeypatch):
    """Cut small pictures into many steps and bands, as large ones are."""
    monkeypatch.setattr(memory_plan, "_BAND_BYTES", 2048)


def picture(dtype="uint8", channels=3, height=HEIGHT, width=WIDTH):
    random = np.random.default_rng(7)
    if dtype == "float32":
        return random.random((height, width, channels), np.float32)
    return random.integers(0, np.iinfo(dtype).max, (height, width, channels), dtype, endpoint=True)


def as_read(path):
    with open_large(path) as found:
        return found.read(0, slice(0, found.height), slice(0, found.width))


def written(kind, pixels, folder):
    """Return the path of a file of a kind with these pixels."""
    squeezed = pixels[..., 0] if pixels.shape[2] == 1 else pixels
    path = folder / f"in.{kind.split()[0]}"
    if kind.startswith("tif"):
        options = dict(word.split("=") for word in kind.split()[1:])
        tifffile.imwrite(
            path,
            squeezed,
            photometric="rgb" if pixels.shape[2] >= 3 else "minisblack",
            extrasamples=["unassalpha"] if pixels.shape[2] == 4 else None,
            tile=(16, 32) if "tile" in options else None,
            rowsperstrip=int(options["strip"]) if "strip" in options else None,
            compression=options.get("compression"),
            predictor="predictor" in options or None,
            bigtiff="big" in options,
            metadata=None,
        )
    elif kind.startswith("npy"):
        np.save(path, squeezed)
    else:
        version = int(kind.split()[1])
        group = zarr.create_group(str(path), zarr_format=version)
        planes = np.moveaxis(pixels, 2, 0)
        group.create_array("0", shape=planes.shape, chunks=(1, 16, 32), dtype=planes.dtype)[...] = planes
        axes = [{"name": "c", "type": "channel"}, *({"name": name, "type": "space"} for name in "yx")]
        scale = [{"type": "scale", "scale": [1.0, 0.5, 0.5]}]
        datasets = [{"path": "0", "coordinateTransformations": scale}]
        multiscales = [{"axes": axes, "datasets": datasets, "version": "0.4", "name": "cells"}]
        group.attrs.update(
            {"multiscales": multiscales}
            if version == 2
            else {"ome": {"version": "0.5", "multiscales": multiscales}}
        )
    return str(path)


def filtered(source, output, *arguments, memory=None):
    """Filter a file in bands; return what became of it."""
    settings = read("filter", FilterSettings, [source, str(output), *arguments, "--device", "cpu"])
    return work_for(settings.steps, replace(settings.saving, memory=memory)).filter_file(source, str(output))


KINDS = [
    "tif tile=1", "tif tile=1 compression=zlib predictor=1 big=1", "tif strip=7 compression=lzw", "tif",
    "tif strip=5 compression=zstd", "npy", "zarr 2", "zarr 3",
]  # fmt: skip


# Each kind with two borders, and each border with TIFF and with one of the others, or two.
KINDS_AND_BORDERS = [
    (kind, border) for number, kind in enumerate(KINDS) for border in list(Border)[number % 3 :: 3]
]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "border"), KINDS_AND_BORDERS)
def test_that_every_kind_of_file_has_the_bits_of_the_whole_at_every_border(kind, border, tmp_path):
    pixels = picture()
    source = written(kind, pixels, tmp_path)
    output = tmp_path / f"out.{kind.split()[0]}"
    mask = "1 2 0 -1; 3 5 1 0; -2 0 4 1"
    filtered(
        source, output, "--mask", mask, "--border", str(border), "--depth", "float32",
        "--cval", str(9 * (border == "constant")),
        "--variant", "cpu-parallel",
    )  # fmt: skip
    whole = engine.correlate(
        pixels, mask, border=border, cval=9 * (border == "constant"), variant="cpu-parallel", device="cpu"
    )
    assert np.array_equal(as_read(output), whole)


HEADER = {"format": "haloscope-chain", "version": 1}
STEPS = [
    {"id": "soft", "mask": "gaussian:5:1", "border": "mirror", "variant": "cpu-separable"},
    {"id": "low", "operation": "minimum", "settings": {"size": 5}},
    {"id": "off", "mask": "box:9", "on": False},
    {"id": "y", "mask": "sobel-y", "input": "soft", "border": "constant", "variant": "cpu-parallel"},
    {"id": "sum", "combine": "blend", "input": "low", "second": "y", "weight": 0.25},
    {"id": "even", "operation": "median", "settings": {"size": 3}},
]


def chain_file(folder, steps):
    """Return the options for a chain of these steps."""
    path = folder / "chain.json"
    path.write_text(json.dumps(HEADER | {"steps": steps}))
    return ["--chain", str(path)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("work", "dtype", "channels"),
    [
        ("--mask sobel-x --range clip", "uint8", 1),
        ("--mask sobel-x --range clip", "uint8", 4),
        ("--mask sobel-x --range absolute", "uint8", 3),
        ("--mask sobel-x --range offset", "uint8", 1),
        ("--mask sobel-x --range rescale", "uint8", 3),
        ("--mask sobel-x --range rescale", "uint8", 4),
        ("--chain --range clip", "uint8", 3),
        ("--chain --range offset", "uint16", 4),
        # A float32 file keeps its values.
        ("--chain --range rescale --depth 8", "float32", 1),
        ("--chain --range clip", "float32", 1),
        *((f"--operation {key}", "uint8", 3) for key in ("negative", "desaturate", "hue-shift", "median")),
    ],
)
def test_that_a_result_is_that_of_a_picture_in_memory(work, dtype, channels, tmp_path, command):
    source = written("tif tile=1 compression=zlib", picture(dtype, channels), tmp_path)
    arguments = work.split()
    if "--chain" in arguments:
        arguments[:1] = chain_file(tmp_path, STEPS)
    whole, parts = tmp_path / "whole.tif", tmp_path / "parts.tif"
    assert command("filter", source, str(whole), *arguments, "--device", "cpu").status == 0
    filtered(source, parts, *arguments)
    assert np.array_equal(as_read(parts), as_read(whole))


@pytest.mark.parametrize("work", ["--mask sobel-x", "--mask sobel-x --result-type float32", "--chain"])
def test_that_a_result_in_bands_that_is_clipped_is_said(work, tmp_path, command):
    source = written("tif strip=9", picture(), tmp_path)
    steps = [{"mask": "gaussian:5:1"}, {"mask": "sobel-x"}]
    arguments = chain_file(tmp_path, steps) if work == "--chain" else work.split()
    arguments += ["--device", "cpu", "--json"]
    whole = command("filter", source, str(tmp_path / "whole.tif"), *arguments).document["clipped"]
    parts = tmp_path / "parts.tif"
    answer = command("filter", source, str(parts), *arguments, "--memory", "4G")
    assert "bands" in answer.document
    assert whole > 0.3
    assert answer.document["clipped"] == pytest.approx(whole, abs=0.05)
    assert "negative and shown black; --range absolute keeps them apart" in answer.err
    answer = command("filter", source, str(parts), *arguments, "--memory", "4G", "--range", "absolute")
    assert (answer.document["clipped"], "shown black" in answer.err) == (0.0, False)
    out = str(tmp_path / "out")
    answer = command("batch", source, "--out", out, *arguments, "--memory", "4G")
    assert "--range absolute" in answer.err


def test_that_what_needs_the_whole_picture_is_refused(tmp_path):
    source = written("npy", picture(), tmp_path)
    for step, says in [
        ({"mask": "box:3", "border": "wrap"}, "with the border wrap"),
        ({"operation": "equalise"}, "depends on the whole picture"),
        ({"mask": "box:5", "variant": "cpu-box"}, "its sums run through the whole picture"),
    ]:
        with pytest.raises(EngineError, match=says):
            filtered(source, tmp_path / "out.npy", *chain_file(tmp_path, [{"mask": "sobel-x"}, step]))
    for operation in ["equalise", "histogram", "compress", "find-patch"]:
        with pytest.raises(BadValue, match="depends on the whole picture"):
            filtered(source, tmp_path / "out.npy", "--operation", operation)


def test_that_an_alpha_is_kept_as_it_is_and_what_is_left_is_one_file(tmp_path):
    pixels = picture(channels=4)
    source = written("tif tile=1", pixels, tmp_path)
    filtered(source, tmp_path / "out.tif", "--mask", "gaussian:5:1")
    assert np.array_equal(as_read(tmp_path / "out.tif")[..., 3], pixels[..., 3])
    assert sorted(os.listdir(tmp_path)) == ["in.tif", "out.tif"]


def test_that_a_tiff_keeps_its_tiles_or_strips_and_whether_it_is_compressed(tmp_path):
    for kind in KINDS[:5]:
        source = written(kind, picture(), tmp_path)
        filtered(source, tmp_path / "out.tif", "--mask", "box:3")
        stored = []
        for path in (source, tmp_path / "out.tif"):
            with tifffile.TiffFile(path) as tiff:
                page = tiff.pages.first
                shape = (page.tilelength, page.tilewidth) if page.is_tiled else ()
                stored.append((page.is_tiled, shape, page.compression > 1))
        assert stored[0] == stored[1]


def ome_tiff(path, pixels, **settings):
    with tifffile.TiffWriter(path, ome=True) as tiff:
        metadata = {"axes": "YXS", "PhysicalSizeX": 0.25, "PhysicalSizeXUnit": "µm", "Name": "cells"}
        tiff.write(pixels, subifds=2, tile=(16, 32), photometric="rgb", metadata=metadata, **settings)
        for step in (2, 4):
            tiff.write(pixels[::step, ::step], subfiletype=1, tile=(16, 32), photometric="rgb", **settings)


def test_that_an_ome_tiff_has_its_pyramid_and_physical_sizes_again_or_says_what_is_not_kept(tmp_path):
    ome_tiff(tmp_path / "in.ome.tif", picture())
    filtered(str(tmp_path / "in.ome.tif"), tmp_path / "out.ome.tif", "--mask", "box:3")
    with open_large(tmp_path / "out.ome.tif") as found:
        assert found.levels == ((131, 83), (66, 42), (33, 21))
        first, second = (found.read(n, slice(0, h), slice(0, w)) for n, (h, w) in enumerate(found.levels[:2]))
    mean = first[:130, :82].reshape(65, 2, 41, 2, 3).astype(int).sum((1, 3)) + 2
    assert np.array_equal(second[:65, :41], mean // 4)
    with tifffile.TiffFile(tmp_path / "out.ome.tif") as tiff:
        assert 'PhysicalSizeX="0.25"' in tiff.ome_metadata
    done = filtered(str(tmp_path / "in.ome.tif"), tmp_path / "out.zarr", "--mask", "box:3")
    assert any("OME metadata" in note for note in done.notes)


def test_that_channels_on_pages_become_those_of_one_page(tmp_path):
    planes = np.moveaxis(picture("uint16"), 2, 0)
    tifffile.imwrite(tmp_path / "in.ome.tif", planes, metadata={"axes": "CYX"}, photometric="minisblack")
    filtered(
        str(tmp_path / "in.ome.tif"), tmp_path / "out.ome.tif", "--mask", "identity", "--result-type", "same"
    )
    assert np.array_equal(tifffile.imread(tmp_path / "out.ome.tif"), picture("uint16"))


@pytest.mark.slow
def test_that_an_ome_zarr_keeps_the_size_of_its_pixels_and_has_every_chunk_even_of_zeros(tmp_path):
    for version in (2, 3):
        (folder := tmp_path / str(version)).mkdir()
        source = written(f"zarr {version}", np.zeros((40, 40, 1), np.uint8), folder)
        filtered(source, folder / "out.zarr", "--mask", "box:3")
        group = zarr.open(str(folder / "out.zarr"))
        first = group.attrs.get("ome", group.attrs)["multiscales"][0]
        assert first["datasets"][0]["coordinateTransformations"][0]["scale"] == [1.0, 0.5, 0.5]
        assert group["0"].nchunks_initialized == 6


def test_that_too_little_memory_or_disk_is_said_before_anything_is_written(tmp_path, monkeypatch):
    source = written("tif tile=1", picture(), tmp_path)
    with pytest.raises(BadValue, match=r"takes .* at least.*Give --memory \d+M"):
        filtered(source, tmp_path / "out.tif", "--mask", "box:3", memory=1 << 20)
    monkeypatch.setattr(in_file.PartFolder, "free_bytes", lambda part: 1000)
    with pytest.raises(FileWriteError, match="1000 bytes free"):
        filtered(source, tmp_path / "out.tif", "--mask", "box:3")
    assert os.listdir(tmp_path) == ["in.tif"]


def test_that_damage_in_the_middle_is_said_and_leaves_nothing(tmp_path):
    source = written("tif tile=1 compression=zlib", picture(), tmp_path)
    with tifffile.TiffFile(source) as tiff:
        offset = tiff.pages.first.dataoffsets[11]
    with open(source, "r+b") as file:
        file.seek(offset)
        file.write(b"\xff" * 40)
    with pytest.raises(ImageReadError, match=r"in\.tif cannot be read"):
        filtered(source, tmp_path / "out.tif", "--mask", "box:3")
    assert os.listdir(tmp_path) == ["in.tif"]


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
    source = written(kind, picture("uint16", height=400), tmp_path)
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
    ome_tiff(tmp_path / "in.ome.tif", picture(height=300), compression="zlib")
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
        ome_tiff(source, picture(height=300), compression="zlib")
    else:
        source = written(kind, picture(height=400), tmp_path)
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
    source, output = written("tif tile=1", picture(height=400), tmp_path), tmp_path / "out.tif"
    for height, mask in ((400, "box:5"), (404, "box:3")):
        stopped(monkeypatch, 2, source, output, "--mask", "box:3")
        written("tif tile=1", picture(height=height), tmp_path)
        done = filtered(source, output, "--mask", mask)
        assert any("begun anew" in note for note in done.notes)
        assert done.facts["resumed_row"] == 0


def test_that_an_array_and_a_tiff_beyond_the_limit_are_filtered_in_bands(tmp_path, command):
    def answered(source, output, *more):
        return command("filter", source, tmp_path / output, "--mask box:3 --device cpu", *more)

    proof = answered(written("npy", picture(), tmp_path), "out.npy", "--json").document["verification"]
    assert proof["passed"]
    assert 0 < proof["checked_pixels"] <= proof["total_pixels"] == HEIGHT * WIDTH
    source = written("tif tile=1", picture(), tmp_path)
    assert "bands" not in answered(source, "out.tif", "--json").document
    assert "bands" in answered(source, "out.tif", "--json --max-bytes 20k").document
    answer = answered(source, "out.png", "--memory 1G")
    assert (answer.status, "End the name in .tif, .zarr or .npy." in answer.err) == (2, True)
    sample = ROOT / "assets" / "samples" / "impulse.png"
    assert "--memory was not used" in answered(sample, "out.png", "--memory 2G").err


def test_that_an_array_is_saved_as_any_picture_and_any_picture_as_an_array(tmp_path, command):
    source, png, npy = written("npy", picture(), tmp_path), tmp_path / "out.png", tmp_path / "out.npy"
    for given, out in ((source, png), (png, npy)):
        assert command("filter", given, out, "--mask", "identity", "--device", "cpu").status == 0
    assert np.array_equal(np.load(npy), np.load(source))


def test_that_a_batch_takes_such_files_beside_others_and_one_that_fails(tmp_path, command):
    folder = tmp_path / "in"
    folder.mkdir()
    np.save(folder / "bad.npy", np.zeros((4, 4), np.complex64))
    written("npy", picture(), folder)
    written("zarr 2", picture(), folder)
    tifffile.imwrite(folder / "small.tif", picture())
    answer = command("batch", folder, "--out", tmp_path / "out", "--mask box:3 --device cpu")
    assert (answer.status, sorted(os.listdir(tmp_path / "out"))) == (2, ["in.npy", "in.zarr", "small.tif"])


def test_that_a_missing_package_is_named_with_what_installs_it(tmp_path, monkeypatch):
    source, missing = written("npy", picture(), tmp_path), ModuleNotFoundError("no zarr", name="zarr")

    def import_nothing(name):
        raise missing

    monkeypatch.setattr("engine.image.large.zarr.import_module", import_nothing)
    with pytest.raises(EngineError, match=r"pip install 'haloscope\[zarr\]'"):
        filtered(source, tmp_path / "out.zarr", "--mask", "box:3")


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
    source = written("tif tile=1", picture(height=400), tmp_path)
    script = KILLED.replace("os.getpid(), signal.SIGKILL", "os.getpid(), signal.SIGINT), signal.pause(")
    words = f"filter {source} {tmp_path / 'out.tif'} --mask box:3 --memory 4G --device cpu"
    command = [sys.executable, "-c", script, "2", *words.split()]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 130
    assert "the same command goes on from there; " in ended.stderr


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="Linux says the peak of a process there")
@pytest.mark.parametrize(
    ("rows", "what"), [(30_000, ("--mask", "box:3")), (500, ("--chain", "soft-glow"))], ids=["mask", "chain"]
)
def test_that_a_bound_of_memory_holds_for_a_process(rows, what, tmp_path):
    source = tmp_path / "in.npy"
    stored = np.lib.format.open_memmap(source, "w+", np.uint8, (rows, 20_000))  # 600 MB of the mask's
    stored[::64] = 100
    del stored
    script = (
        "import sys; from engine.commands.command_line import main; status = main(sys.argv[1:]);"
        "print(next(line for line in open('/proc/self/status') if line.startswith('VmHWM')).split()[1]);"
        "sys.exit(status)"
    )
    arguments = ["filter", str(source), str(tmp_path / "out.npy"), *what, "--memory", "500M"]
    command = [sys.executable, "-c", script, *arguments, "--device", "cpu"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=True)
    assert int(ended.stdout.split()[-1]) * 1024 < 500 << 20


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tif tile=1", "npy", "zarr 2"])
def test_that_a_disk_that_fills_up_keeps_what_is_done(kind, tmp_path, monkeypatch):
    source = written(kind, picture(height=400), tmp_path)
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


@pytest.mark.slow
def test_that_the_simulator_has_the_bits_of_the_whole(tmp_path):
    pixels = picture(height=40, width=9)
    source = written("npy", pixels, tmp_path)
    words = [source, str(tmp_path / "out.npy"), "--mask", "box:3", "--depth", "float32"]
    settings = read("filter", FilterSettings, [*words, "--variant", "naive", "--device", "simulator"])
    work_for(settings.steps, settings.saving).filter_file(source, words[1])
    whole = engine.correlate(pixels, "box:3", variant="naive", device="simulator")
    assert np.array_equal(as_read(words[1]), whole)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["plain", "big", "compressed"])
def test_that_bands_keep_exif_data_and_resolution(tmp_path, kind, monkeypatch):
    block, source, out = Image.Exif(), tmp_path / "in.tif", tmp_path / "out.tif"
    block[271], block[306] = "A camera", "2020:02:03 04:05:06"
    block[0x8769] = {0x9003: "2020:02:03 04:05:06", 0x829A: (1, 125), 0xA002: 9}
    block[0x8825] = {1: "N", 2: (1.0, 2.0, 3.0)}
    if kind == "compressed":
        save_image(Picture(picture(), metadata=metadata_of(block.tobytes(), (300, 200))), source)
    else:
        how = {"exif": block.tobytes(), "dpi": (300, 200), "big_tiff": kind == "big"}
        Image.fromarray(picture()).save(source, "TIFF", **how)
    if kind == "big":
        monkeypatch.setattr("engine.image.large.tiff_writer._CLASSIC_BYTES", 0)
    done = filtered(str(source), out, "--mask", "box:3")
    assert not [note for note in done.notes if "EXIF" in note or "tags" in note]
    with tifffile.TiffFile(out) as saved:
        assert saved.is_bigtiff == (kind == "big")
    with Image.open(out) as saved:
        found = saved.getexif()
        camera, place, dpi = found.get_ifd(0x8769), found.get_ifd(0x8825), saved.info["dpi"]
    assert (found[271], found[306], dpi) == ("A camera", "2020:02:03 04:05:06", (300, 200))
    assert camera == {0x9003: "2020:02:03 04:05:06", 0x829A: (1, 125), 0xA002: WIDTH}
    assert place == {1: "N", 2: (1.0, 2.0, 3.0)}
    again = open_image(out)
    assert again.metadata.dpi == (300, 200)
    assert b"A camera" in again.metadata.exif
    left_out = filtered(str(source), tmp_path / "out.npy", "--mask", "box:3")
    assert (
        "EXIF data and resolution (DPI) of the opened file are not saved: NumPy has none." in left_out.notes
    )
    filtered(str(source), tmp_path / "none.tif", "--mask", "box:3", "--no-metadata")
    with Image.open(tmp_path / "none.tif") as saved:
        assert not {271, 282, 306, 0x8769, 0x8825} & set(saved.getexif())


def test_that_damaged_exif_data_is_a_note_of_bands_too(tmp_path):
    source = tmp_path / "in.tif"
    block = Image.Exif()
    block[0x8769] = {0x9003: "2020:02:03 04:05:06"}
    Image.fromarray(picture()).save(source, "TIFF", exif=block.tobytes())
    data = source.read_bytes()
    # Its list lies among the pixels.
    at = data.index(b"\x69\x87\4\0\1\0\0\0") + 8
    source.write_bytes(data[:at] + (1000).to_bytes(4, "little") + data[at + 4 :])
    done = filtered(str(source), tmp_path / "out.tif", "--mask", "box:3")
    assert any(note.startswith("The EXIF data of the opened file is damaged: ") for note in done.notes)
