"""`filter` and `batch` of pictures that are larger than memory: the bits of the whole, whatever the file."""

import json
import os

import numpy as np
import pytest
import tifffile
from PIL import Image

import engine
from engine.commands.arguments import read
from engine.commands.filtering import FilterSettings
from engine.commands.picture_work import work_for
from engine.errors import BadValue, EngineError, FileWriteError, ImageReadError
from engine.flow import file as in_file
from engine.geometry.border import Border
from engine.image.large.opening import open_large
from engine.image.metadata import metadata_of
from engine.image.open import open_image
from engine.image.picture import Picture
from engine.image.save import save_image
from tests.engine.commands.large_pictures import (
    HEIGHT,
    WIDTH,
    as_read,
    filtered,
    ome_tiff,
    picture,
    written,
)
from tests.fresh_python import ROOT, fresh_python

pytestmark = pytest.mark.usefixtures("small_bands")

zarr = pytest.importorskip("zarr")

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


STEPS = [
    {"id": "soft", "mask": "gaussian:5:1", "border": "mirror", "variant": "cpu-separable"},
    {"id": "high", "operation": "maximum", "settings": {"size": 5}},
    {"id": "off", "mask": "box:9", "on": False},
    {"id": "y", "mask": "sobel-y", "input": "soft", "border": "constant", "variant": "cpu-parallel"},
    {"id": "sum", "combine": "blend", "input": "high", "second": "y", "weight": 0.25},
    {"id": "higher", "operation": "maximum", "settings": {"size": 3}},
]


def chain_file(folder, steps):
    """Return the options for a chain of these steps."""
    path = folder / "chain.json"
    path.write_text(json.dumps({"format": "haloscope-chain", "version": 1, "steps": steps}))
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
        *((f"--operation {key}", "uint8", 3) for key in ("negative", "desaturate", "median")),
        pytest.param("--operation hue-shift", "uint8", 3, marks=pytest.mark.matrix),
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


def test_that_an_ome_tiff_has_its_pyramid_and_physical_sizes_again_or_says_what_is_not_kept(tmp_path):
    ome_tiff(tmp_path / "in.ome.tif", picture())
    filtered(str(tmp_path / "in.ome.tif"), tmp_path / "out.ome.tif", "--mask", "box:3")
    with open_large(tmp_path / "out.ome.tif") as found:
        assert found.levels == ((75, 51), (38, 26), (19, 13))
        first, second = (found.read(n, slice(0, h), slice(0, w)) for n, (h, w) in enumerate(found.levels[:2]))
    mean = first[:74, :50].reshape(37, 2, 25, 2, 3).astype(int).sum((1, 3)) + 2
    assert np.array_equal(second[:37, :25], mean // 4)
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
        offset = tiff.pages.first.dataoffsets[5]
    with open(source, "r+b") as file:
        file.seek(offset)
        file.write(b"\xff" * 40)
    with pytest.raises(ImageReadError, match=r"in\.tif cannot be read"):
        filtered(source, tmp_path / "out.tif", "--mask", "box:3")
    assert os.listdir(tmp_path) == ["in.tif"]


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


BOX = {"mask": "box:3", "variant": "cpu-parallel"}


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="Linux says the peak of a process there")
@pytest.mark.parametrize(
    ("rows", "steps"),
    [(40_000, []), (500, [BOX, {"combine": "blend", "second": "picture", "weight": 0.5}])],
    ids=["mask", "chain"],
)
def test_that_a_bound_of_memory_holds_for_a_process(rows, steps, tmp_path):
    source = tmp_path / "in.npy"
    stored = np.lib.format.open_memmap(source, "w+", np.uint8, (rows, 10_000))  # 400 MB of the mask's
    stored[::64] = 100
    del stored
    what = chain_file(tmp_path, steps) if steps else ["--mask", "box:3"]
    words = ["filter", str(source), str(tmp_path / "out.npy"), *what, "--memory", "390M", "--device", "cpu"]
    script = (
        "import sys; from engine.commands.command_line import main; assert main(sys.argv[1:]) == 0;"
        "print(open('/proc/self/status').read())"
    )
    peak = fresh_python("-c", script, *words).partition("VmHWM:")[2].split()[0]
    assert int(peak) * 1024 < 390 << 20


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
        monkeypatch.setattr("engine.image.formats.tiff._CLASSIC_BYTES", 0)
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
