"""`filter`, `batch`, `bench` of operations and of chains, and `chains`: what is saved, said and refused."""

import csv
import json
from functools import partial

import numpy as np
import pytest

import engine
from engine.image.open import open_sample
from engine.image.picture import Picture
from engine.tasks import read_results

PHOTO = open_sample("astronaut").pixels[100:164, 180:252]


@pytest.fixture
def photo(tmp_path):
    """A small colour photograph."""
    path = tmp_path / "photo.png"
    engine.save_image(PHOTO, path)
    return path


def test_that_mask_and_operation_exclude_one_another(refused, photo, tmp_path):
    check, both = partial(refused, "filter", photo, tmp_path / "out.png"), "--mask box-3 --operation median"
    check(says="nothing to do: neither --mask nor --operation ... median")
    check(both, says="--mask with --operation ... Give one of the two.")
    refused("batch", photo, "--out", tmp_path / "o", both, says="--mask with --operation")
    check("--mask box-3 --set size=5", says="--set with --mask: it is for --operation")
    for option in ("--border mirror", "--flip", "--anchor 0,0", "--range absolute", "--alpha filter"):
        check("--operation median", option, says=f"{option.split()[0]} with --operation ... mask is")


def test_that_what_an_operation_cannot_take_is_refused(refused, photo, tmp_path):
    check = partial(refused, "filter", photo, tmp_path / "out.png")
    check("--operation meidan", says="Did you mean median?")
    check("--operation median --set size=4", says="size '4': it is not one of 3, 5. Give size=3.")
    check("--operation median --set 4", says="--set '4': it is not name=value")
    check("--operation median --set sise=3", says="Choose one of size.")
    check("--operation median --variant dct-tiled", says="no variant of median is called that ... cpu-median")
    check(f"--operation median --patch {photo}", says="--patch with --operation median: it takes none")
    patch, block = "--operation find-patch --patch", "--operation median --variant median-tiled --block"
    check(patch, photo, says="a patch of 72 × 64: each side can have up to 64 pixels")
    check(patch, "none.png", says="none.png")
    check(block, "3", says="block '3': it is not two whole numbers")


@pytest.mark.slow
@pytest.mark.parametrize("operation", ["negative", "desaturate", "hue-shift", "median", "compress"])
def test_that_a_picture_is_saved_as_it_is_computed(command, photo, tmp_path, operation):
    out = tmp_path / "out.png"
    answer = command("filter", photo, out, f"--operation {operation}")
    assert (answer.status, answer.err) == (0, "")
    assert f"out.png: {operation}" in answer.out
    assert "verified: every pixel" in answer.out
    saved = engine.open_image(out).pixels
    assert np.array_equal(saved, engine.operate(PHOTO, operation, device="cpu").picture)
    assert ("PSNR" in answer.out) == (operation == "compress")


@pytest.mark.slow
def test_that_json_has_what_an_operation_found(command, photo, tmp_path):
    out, patch = tmp_path / "out.png", tmp_path / "patch.png"
    engine.save_image(PHOTO[20:32, 30:40], patch)
    found = command("filter", photo, out, f"--operation find-patch --patch {patch} --json").document
    assert (found["format"], found["operation"]) == ("haloscope-operation", "find-patch")
    assert found["mark"] == {"row": 20, "column": 30, "height": 12, "width": 10}
    assert found["numbers"]["score"] == pytest.approx(1.0, abs=1e-5)
    assert found["settings"] == {"left": -1, "top": -1, "width": 10, "height": 12}
    assert found["result"]["problem"]["result_shape"] == [53, 63, 1]
    saved = engine.open_image(out).pixels
    assert (saved[19, 29:41] == 255).all()
    assert np.array_equal(saved[20:32, 30:40], PHOTO[20:32, 30:40])
    counted = command("filter", photo, out, "--operation histogram --set bins=16 --json").document
    assert np.array_equal(counted["counts"], engine.operate(PHOTO, "histogram", bins=16, device="cpu").counts)
    assert engine.open_image(out).pixels.shape == (256, 512, 3)
    squeezed = command("filter", photo, out, "--operation compress --no-verify --json").document
    assert squeezed["numbers"].keys() == {"psnr_db", "estimated_bytes", "ratio", "zeros"}
    assert squeezed["result"] is None


@pytest.mark.slow
def test_that_alpha_and_depth_are_kept_unless_asked_otherwise(command, tmp_path):
    source, out = tmp_path / "deep.png", tmp_path / "out.tif"
    pixels = PHOTO.astype(np.uint16) * 257
    alpha = np.arange(pixels.shape[0] * pixels.shape[1], dtype=np.uint16).reshape(pixels.shape[:2])
    engine.save_image(Picture(pixels, alpha, None), source)
    assert command("filter", source, out, "--operation negative").status == 0
    saved = engine.open_image(out)
    assert np.array_equal(saved.pixels, 65535 - pixels)
    assert np.array_equal(saved.alpha, alpha)
    assert command("filter", source, out, "--operation negative --depth 8").status == 0
    assert engine.open_image(out).pixels.dtype == np.uint8


@pytest.mark.slow
def test_that_a_plot_has_8_bits_whatever_the_picture_has(command, tmp_path):
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    engine.save_image(PHOTO.astype(np.float32) / 255, folder / "float.tif")
    engine.save_image(PHOTO[..., 0].astype(np.uint16) * 257, folder / "deep.png")
    for source, target in (("float.tif", "plot.png"), ("deep.png", "plot.jpg")):
        assert command("filter", folder / source, tmp_path / target, "--operation histogram").status == 0
        plot = engine.open_image(tmp_path / target).pixels
        assert (plot.shape, plot.dtype) == ((256, 512, 3), np.uint8)
    answer = command("batch", folder, "--out", out, "--format", "jpg", "--operation histogram --depth 16")
    assert answer.status == 0
    # A picture that is not a plot keeps its samples, which these formats do not hold.
    refused = command("filter", folder / "float.tif", tmp_path / "n.png", "--operation negative")
    assert "PNG does not hold 32-bit float" in refused.err


@pytest.mark.slow
def test_that_a_batch_says_which_pictures_could_not_be_computed(command, tmp_path):
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    engine.save_image(PHOTO, folder / "a.png")
    engine.save_image(PHOTO[..., 0], folder / "b.png")
    answer = command("batch", folder, "--out", out, "--operation desaturate --json")
    found = answer.document
    assert answer.status == 2
    assert (found["operation"], found["mask"], found["done"], found["failed"]) == ("desaturate", None, 1, 1)
    assert "a grey picture" in found["files"][1]["failure"]
    wanted = engine.operate(PHOTO, "desaturate", device="cpu").picture
    assert np.array_equal(engine.open_image(out / "a.png").pixels, wanted)
    found = command("batch", folder, "--out", out, "--overwrite --operation compress --json").document
    assert all(file["numbers"]["psnr_db"] > 20 for file in found["files"])
    assert all(file["verification"]["passed"] for file in found["files"])
    text = command("batch", folder, "--out", out, "--overwrite --operation median").out
    assert "2 of 2 pictures computed (median)" in text


@pytest.mark.slow
def test_that_kernels_run_in_the_simulator(command, tmp_path):
    small, out = tmp_path / "small.png", tmp_path / "out.png"
    engine.save_image(PHOTO[:12, :14], small)
    options = "--operation median --variant median-naive --device simulator --block 8x4"
    answer = command("filter", small, out, options)
    assert answer.status == 0
    assert "by median-naive on CUDA simulator, block 8 × 4" in answer.out
    wanted = engine.operate(PHOTO[:12, :14], "median", device="cpu").picture
    assert np.array_equal(engine.open_image(out).pixels, wanted)


@pytest.mark.slow
def test_that_bench_measures_the_variants_of_an_operation(command, refused, tmp_path):
    out = tmp_path / "runs.json"
    options = "--operation median --set size=3 --sizes 40x30 --channels 3 --dtype uint8 --device cpu"
    answer = command("bench", "--out", out, options, "--budget 0 --json")
    assert answer.status == 0
    runs = answer.document["results"]
    assert [run["variant"] for run in runs] == ["cpu-median", "median-naive", "median-local", "median-tiled"]
    assert runs[0]["verification"]["passed"]
    assert runs[0]["problem"]["settings"] == "size=3"
    assert runs[3]["failure"]
    assert answer.document["request"] == {"operation": "median", "settings": {"size": 3}}
    out.unlink()
    check = partial(refused, "bench", "--out", out)
    check("--operation median --masks 3", says="--masks with --operation: it is for masks")
    check("--operation median --variants tiled", says="no variant of median is called that")
    check("--operation median --set size=4", says="one of 3, 5")
    check("--operation meidan", says="Did you mean median?")
    check("--set size=4", says="--set without --operation")
    check("--operation desaturate", says="a grey picture ... three channels")
    # Before anything is measured: no line says how far it is.
    sizes = "--operation find-patch --variants cpu-match --budget 0 --sizes"
    check(f"{sizes} 64x64,9x9", says="a patch of 16 × 16: the picture has 9 × 9 pixels")
    check(f"{sizes} 64x64,40x40 --set left=40", says="it reaches over the edge of the picture of 40 × 40")


def test_that_filter_saves_what_a_chain_makes_with_times_of_its_steps(command, photo, tmp_path):
    out = tmp_path / "out.png"
    answer = command("filter", photo, out, "--chain sobel-magnitude --json")
    document = answer.document
    assert [step["id"] for step in document["step_times"]] == ["x", "y", "edges"]
    assert all(step["kernel_ms"] > 0 for step in document["step_times"])
    assert document["result"]["problem"]["chain"] == "Sobel magnitude"
    assert document["verified"]
    wanted = engine.chain(PHOTO, "sobel-magnitude", device="cpu", budget_s=0.0).picture
    assert np.array_equal(engine.open_image(out).pixels, wanted)


def test_that_a_chain_is_written_edited_and_used_for_a_folder(command, photo, tmp_path):
    mine = tmp_path / "mine.json"
    assert "2 steps" in command("chains unsharp --out", mine).out
    document = json.loads(mine.read_text())
    document["steps"][1]["weight"] = -2
    mine.write_text(json.dumps(document))
    answer = command("batch", photo, "--out", tmp_path / "sharp", "--chain", mine)
    assert "1 of 1 picture computed (Unsharp masking)" in answer.out
    chain = engine.chain(PHOTO, str(mine), device="cpu", budget_s=0.0)
    assert np.array_equal(engine.open_image(tmp_path / "sharp" / "photo.png").pixels, chain.picture)


def test_that_bench_measures_a_chain_and_each_of_its_steps(command, refused, tmp_path):
    out, table = tmp_path / "runs.json", tmp_path / "runs.csv"
    options = "--chain unsharp --sizes 40x30,9 --channels 3 --dtype uint8 --budget 0 --variants cpu-chain"
    answer = command("bench", "--out", out, "--csv", table, options)
    runs = read_results.results_in_file(str(out))
    assert [run.problem.size_text for run in runs] == ["40 × 30 RGB", "9 × 9 RGB"]
    assert all(run.is_proven and run.kernel_ms for run in runs)
    assert [[step.id for step in run.steps] for run in runs] == [["blur", "sharp"]] * 2
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert [float(row["step_blur_ms"]) for row in rows] == [run.steps[0].ms for run in runs]
    assert all(run.steps_text in answer.out for run in runs)
    assert json.loads(out.read_text())["request"]["chain"]["steps"][1]["combine"] == "blend"
    check = partial(refused, "bench", "--out", out)
    check("--chain unsharp --masks 3", says="--masks with --chain: the chain has steps of its own")
    check("--chain unsharp --blocks 8x8", says="--blocks with --chain")
    check("--chain unsharp --variants tiled", says="no variant of chains: each step names its own")
    check("--chain none", says="chain 'none'")


@pytest.mark.slow
def test_that_bench_measures_a_chain_in_the_simulator_without_times(command, tmp_path):
    out = tmp_path / "runs.json"
    command("bench", "--out", out, "--chain unsharp --sizes 6 --budget 0 --device simulator")
    here, simulated = read_results.results_in_file(str(out))
    assert simulated.variant == "cuda-chain"
    assert simulated.is_proven
    assert [step.ms for step in simulated.steps] == [None, None]
    assert here.kernel_ms


def test_that_merging_is_said(command, photo, tmp_path):
    mine = tmp_path / "mine.json"
    steps = [{"mask": "1 2 1"}, {"mask": "3"}]
    mine.write_text(json.dumps({"format": "haloscope-chain", "version": 1, "steps": steps}))
    answer = command("filter", photo, tmp_path / "out.png", "--merge --chain", mine)
    assert "Merged: s1, s2 as one mask of 1 × 3" in answer.err
    none = command("filter", photo, tmp_path / "out.png", "--merge --chain sobel-magnitude")
    assert "--merge changed nothing" in none.err


def test_that_ready_chains_are_listed(command):
    entries = command("chains --json").document["chains"]
    assert len(entries) >= 10
    assert {"key", "title", "about", "steps"} < entries[0].keys()
    assert "unsharp" in command("chains").out
    assert "edges = magnitude of x and y" in command("chains sobel-magnitude").out


def test_that_what_a_chain_cannot_take_is_refused(refused, photo, tmp_path):
    check = partial(refused, "filter", photo, tmp_path / "out.png")
    check("--chain unsharp --mask box-3", says="--mask with --chain: a chain has steps of its own")
    check("--chain unsharp --operation median", says="--operation with --chain")
    check("--chain unsharp --border mirror", says="--border with --chain: each step of a chain has its own")
    check("--chain unsharp --variant naive", says="--variant with --chain")
    check("--mask box-3 --merge", says="--merge: it is for --chain")
    check("--chain none", says="chain 'none': there is no ready chain of that name and no such file")
    bad = tmp_path / "bad.json"
    bad.write_text('{"format": "haloscope-chain", "version": 1, "steps": [{"mask": 3}]}')
    check(f"--chain {bad}", says="bad.json ... step 1, 'mask'")
    refused("chains", "--out", tmp_path / "x.json", says="--out without a chain")
