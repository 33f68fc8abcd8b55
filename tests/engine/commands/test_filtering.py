import json
import re
import shlex

import numpy as np
import pytest
from msgspec.structs import replace

import engine
from engine.commands import NOT_VERIFIED, picture_work
from engine.commands.arguments import size_in_bytes
from engine.device import devices as device_module
from engine.device.device_list import cpu_info
from engine.geometry.border import Border
from engine.image.formats import quality_words
from engine.image.open import open_sample, sample_path
from engine.mask.mask import Mask
from engine.mask.presets import resolve_mask
from engine.variants.cpu import serial
from engine.work.filter_task import describe_problem
from engine.work.filtering import planner
from engine.work.filtering.variants import variant as find_variant
from engine.work.problem import Problem, as_samples
from tests.engine.commands.conftest import Left, make_every_variant_wrong
from tests.engine.variants.cases import error_in_bounds


# With a block, without, and with a mask of one row: tests/engine/variants has all, on many more cases, and
# compiles these.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("variant", "device", "mask", "border"),
    [
        ("cpu-serial", "cpu", "sobel-x", Border.MIRROR),
        ("cpu-fft", "cpu", "gaussian:5:1.3", Border.REFLECT),
        ("tiled", "simulator", "sobel-x", Border.CONSTANT),
        ("row-naive", "simulator", "1 0 -2 0 3 0 0 0 1", Border.CONSTANT),
        pytest.param("box", "simulator", "0.5 0.5 0.5; 0.5 0.5 0.5", Border.MIRROR, marks=pytest.mark.matrix),
    ],
)
def test_that_a_photograph_agrees_with_the_oracle(command, tmp_path, variant, device, mask, border):
    photo, out = tmp_path / "photo.png", tmp_path / "out.tif"
    pixels = open_sample("astronaut").pixels[100:107, 200:209]
    engine.save_image(pixels, photo)
    known, cval = find_variant(variant), 9.0 * border.takes_value
    block = {"x": 8, "y": 4} if known.uses_block else None
    options = f"--variant {variant} --device {device} {'--block 8x4' if block else ''} --mask '{mask}'"
    answer = command("filter", photo, out, options, f"--border {border} --cval {cval} --depth float32 --json")
    assert (answer.status, answer.err) == (0, "")
    found = answer.document
    assert (found["variant"], found["device"], found["block"]) == (variant, device, block)
    assert found["result"]["verification"]["passed"]
    assert (found["result"]["timing"] is None) == (device == "simulator")
    mask, saved = resolve_mask(mask), engine.open_image(out).pixels
    assert (saved.dtype, saved.shape) == (np.float32, pixels.shape)
    problem = describe_problem(as_samples(pixels), mask, border, cval)
    assert error_in_bounds(known, problem, mask, pixels, saved) <= 1


@pytest.mark.parametrize("how", ["filter", "filter --memory 4GB", "batch"])
def test_that_a_result_whose_bound_proves_nothing_is_saved_and_said_not_to_be_verified(
    command, tmp_path, how
):
    texture = 1e6 + np.random.default_rng(4).random((90, 80), np.float32)
    name, _, memory = how.partition(" ")
    source, out = tmp_path / "in.npy", tmp_path / "out"
    np.save(source, texture.astype(np.float32))
    target = ("--out", out) if name == "batch" else (tmp_path / "out.npy",)
    answer = command(name, source, *target, "--mask log:9:1.4 --device cpu --json", memory)
    saved = np.load(out / "in.npy" if name == "batch" else target[0])
    assert (answer.status, saved.shape) == (NOT_VERIFIED, (90, 80))
    found = answer.document["files"][0] if name == "batch" else answer.document
    proof = found.get("verification") or found["result"]["verification"]
    assert (proof["passed"], proof["wrong_samples"], found.get("verified")) in (
        (False, 0, False),
        (False, 0, None),
    )
    assert proof["unproven_samples"] > 0
    plain = command(name, source, *target, "--mask log:9:1.4 --device cpu --overwrite", memory)
    assert plain.status == NOT_VERIFIED
    assert "not verified: " in plain.out + plain.err


@pytest.mark.parametrize("option", ["", "--no-metadata"])
def test_that_the_resolution_of_a_photograph_is_saved_unless_it_is_left_out(command, tmp_path, option):
    out = tmp_path / "out.tif"
    answer = command("filter", sample_path("astronaut"), out, "--mask sobel-x --device cpu", option)
    hint = "note: 46 % of the values are negative and shown black; --range absolute keeps them apart\n"
    assert (answer.status, answer.err) == (0, hint)
    given = open_sample("astronaut").metadata.dpi
    assert engine.open_image(out).metadata.dpi == (None if option else pytest.approx(given, abs=1e-3))


@pytest.mark.slow
def test_that_the_clipped_share_is_said_and_a_number_of_the_document(command, tmp_path):
    steps = '[{"mask": "gaussian:5:1"}, {"mask": "sobel-x"}]'
    chain = f'{{"format": "haloscope-chain", "version": 1, "steps": {steps}}}'
    for work in ("--mask sobel-x", f"--chain {shlex.quote(chain)}"):
        edges = "filter", sample_path("astronaut"), tmp_path / "out.png", work, "--device cpu --json"
        answer = command(*edges)
        assert 0.4 < answer.document["clipped"] < 0.55
        assert "negative and shown black; --range absolute" in answer.err
        assert command(*edges, "--range absolute").document["clipped"] == 0.0


@pytest.fixture
def grey(tmp_path):
    """Return a function that saves a grey picture."""

    def save(values=((0, 10, 0), (0, 0, 0), (0, 0, 200)), dtype=np.uint8, alpha=None):
        path = tmp_path / ("in.tif" if dtype == np.float32 else "in.png")
        engine.save_image(engine.Picture(np.array(values, dtype), alpha, None), path)
        return path

    return save


@pytest.fixture
def filtered(command, tmp_path):
    """Return a function that filters on the CPU; it returns the saved picture and the answer's words."""

    def do(source, options, name="out.png", err=""):
        answer = command("filter", source, tmp_path / name, options, "--device cpu")
        assert (answer.status, answer.err) == (0, err)
        return engine.open_image(tmp_path / name), answer.out

    return do


@pytest.mark.parametrize("variant", ["auto", "cpu-separable"])
def test_that_a_picture_of_subnormal_samples_is_verified(command, grey, tmp_path, variant):
    dark = grey(np.full((14, 15), 1e-42), np.float32)
    ones = "; ".join(["1 1 1 1 1 1 1"] * 7)
    for line in (f"filter {dark} {tmp_path / 'out.tif'}", f"batch {dark} --out {tmp_path / 'out'}"):
        answer = command(line, "--mask", f"'{ones}'", "--border mirror --variant", variant)
        assert answer.status == 0, answer.err


def test_that_the_answer_says_correlation_or_convolution(grey, filtered):
    picture, words = filtered(grey(), "--mask 1,0,0")
    assert "correlation with a custom mask (1 × 3), border zero" in words
    assert picture.pixels.tolist() == [[0, 0, 10], [0, 0, 0], [0, 0, 0]]
    picture, words = filtered(grey(), "--mask 1,0,0 --flip")
    assert "convolution with a custom mask (1 × 3, rotated by 180 degrees)" in words
    assert picture.pixels.tolist() == [[10, 0, 0], [0, 0, 0], [0, 200, 0]]
    assert "correlation with Gaussian 5 × 5, sigma 1, border" in filtered(grey(), "--mask gaussian:5:1")[1]


@pytest.mark.parametrize(
    ("options", "first_row"),
    [
        ("--mask -1,0,0 --range absolute", [0, 0, 10]),
        ("--mask -1,0,0 --range offset", [128, 128, 118]),
        ("--mask -1,0,0 --range rescale", [255, 255, 0]),
        ("--mask -1,0,0", [0, 0, 0]),
        ("--mask '1 1' --anchor 0,0", [10, 10, 0]),
        ("--mask '1 1' --normalize", [0, 5, 5]),
        ("--mask 4 --divisor -.5 --offset -1e1 --range absolute", [10, 90, 10]),
        ("--mask '1 0' --border constant --cval 7", [7, 0, 10]),
        ("--mask '1 0' --border wrap", [0, 0, 10]),
        ("--mask 3 --no-verify", [0, 30, 0]),
    ],
)
def test_that_each_option_does_what_it_says(grey, filtered, options, first_row):
    picture, _ = filtered(grey([[0, 10, 0]]), options)
    assert picture.pixels.tolist() == [first_row]


@pytest.mark.parametrize(
    ("dtype", "depth", "name", "source", "values"),
    [
        (np.uint8, "keep", "out.png", [150, 10], [255, 20]),
        (np.uint8, "16", "out.png", [150, 10], [65535, 5140]),
        (np.uint8, "float32", "out.tif", [150, 10], [300, 20]),
        (np.uint16, "keep", "out.png", [150, 10], [300, 20]),
        (np.uint16, "8", "out.png", [15000, 1000], [117, 8]),
        (np.float32, "keep", "out.tif", [150, 10], [300, 20]),
        # 1 is white, as it is shown.
        (np.float32, "8", "out.png", [0.6, 0.2], [255, 102]),
    ],
)
def test_that_the_depth_is_kept_or_changed_as_asked(grey, filtered, dtype, depth, name, source, values):
    picture, _ = filtered(grey([source], dtype), f"--mask 2 --depth {depth}", name)
    assert picture.dtype == {"8": np.uint8, "16": np.uint16, "float32": np.float32}.get(depth, dtype)
    assert picture.pixels.tolist() == [values]


RAMP = np.linspace(0, 1, 401)


def test_that_white_is_1_where_a_float_picture_is_saved_as_whole_numbers(command, tmp_path):
    """As the window shows it; a picture of which little is left gets a note."""
    for depth, how in [(8, ""), (16, "--memory 8G")]:
        for source, options, wanted, is_noted in [
            (RAMP, "--mask 1", RAMP, False),
            (RAMP, "--operation negative", 1 - RAMP, False),
            (RAMP, "--chain negative", 1 - RAMP, False),
            (0.002 * RAMP, "--mask 1", 0.002 * RAMP, True),
            (0.002 * RAMP, "--operation negative", 1 - 0.002 * RAMP, True),
            (0.002 * RAMP, "--mask 1 --range rescale", RAMP, False),
            (2 + RAMP, "--mask 1", np.ones(401), True),
            (255 * RAMP, "--mask 1", (255 * RAMP).clip(max=1), True),
            (255 * RAMP, "--operation negative", (1 - 255 * RAMP).clip(min=0), True),
            (np.full(401, 0.25), "--mask 1", np.full(401, 0.25), False),
        ]:
            chain = {"format": "haloscope-chain", "version": 1, "steps": [{"operation": "negative"}]}
            (tmp_path / "negative").write_text(json.dumps(chain))
            engine.save_image(np.float32([source]), tmp_path / "in.tif")
            options = options.replace("--chain ", f"--chain {tmp_path}/")
            answer = command(
                "filter", tmp_path / "in.tif", tmp_path / "out.tif", f"{options} --depth {depth} {how}"
            )
            pixels = engine.open_image(tmp_path / "out.tif").pixels.astype(float)
            np.testing.assert_allclose(pixels, [wanted * (2**depth - 1.0)], atol=0.51)
            notes = [line for line in answer.err.splitlines() if "filtered twice" not in line]
            assert bool(notes) == is_noted, notes


@pytest.mark.parametrize("target", ["out.npy", "out.png", "out.tif"])
def test_that_an_array_stored_by_columns_is_filtered(command, tmp_path, target):
    """As a whole: no rows can be read, so that none can be taken in bands."""
    array = np.arange(35, dtype=np.uint8).reshape(5, 7)
    np.save(tmp_path / "in.npy", array.T)
    assert command("filter", tmp_path / "in.npy", tmp_path / target, "--mask 1").status == 0
    np.testing.assert_array_equal(engine.open_image(tmp_path / target).pixels, array.T)


def test_that_alpha_is_carried_unless_it_is_to_be_filtered(grey, filtered):
    source = grey([[5, 10, 20]], alpha=np.array([[1, 100, 200]], np.uint8))
    kept, _ = filtered(source, "--mask '1 0'")
    assert (kept.pixels.tolist(), kept.alpha.tolist()) == ([[0, 5, 10]], [[1, 100, 200]])
    both, _ = filtered(source, "--mask '2 0' --alpha filter")
    assert (both.pixels.tolist(), both.alpha.tolist()) == ([[0, 10, 20]], [[0, 2, 200]])
    floats, _ = filtered(source, "--mask '3 0' --alpha filter --depth float32", "out.tif")
    np.testing.assert_allclose(floats.alpha, [[0, 3 / 255, 1]], rtol=1e-6)


def test_that_what_could_not_be_kept_or_used_is_noted_in_json(command, grey, tmp_path):
    source = grey([[5, 10]], alpha=np.array([[1, 2]], np.uint8))
    options = "--mask 1 --variant cpu-serial --block 8x8 --layout packed --device simulator --json"
    answer = command("filter", source, tmp_path / "out.jpg", options)
    assert answer.status == 0
    notes = answer.document["notes"]
    assert answer.err == "".join(f"note: {note}\n" for note in notes)
    assert [note.split(" was ")[0] for note in notes[:3]] == ["--block", "--layout", "--device"]
    assert notes[1] == "--layout was not used: cpu-serial runs on the CPU, where rows are always packed."
    assert answer.document["layout"] is None
    assert notes[3].startswith("JPEG has no alpha")


@pytest.mark.slow
def test_that_the_layout_of_the_rows_reaches_the_device(command, grey, tmp_path):
    source = grey([[5, 10, 20], [7, 1, 2]])
    options = "--mask '1 2' --variant naive --device simulator --result-type float32 --json --layout"
    for layout in ("packed", "pitched"):
        out = tmp_path / f"{layout}.png"
        found = command("filter", source, out, options, layout).document
        assert (found["layout"], found["result"]["layout"]) == (layout, layout)
        assert engine.open_image(out).pixels.tolist() == [[10, 25, 50], [14, 9, 5]]


def test_that_the_limit_on_pictures_can_be_raised_in_bytes_or_larger_units(command, grey, tmp_path):
    sizes = {"4097": 4097, "3KiB": 3 * 2**10, "2m": 2 * 2**20, "8 GiB": 8 * 2**30, "1TB": 2**40}
    assert {text: size_in_bytes("--max-bytes")(text) for text in sizes} == sizes
    arguments = ("filter", grey([[5] * 40] * 40), tmp_path / "out.png", "--mask 1")
    assert command(*arguments, "--max-bytes 1KiB").status == 2
    assert command(*arguments, "--max-bytes 1MiB").status == 0


def test_that_a_wrong_result_with_status_4_is_not_saved(refused, monkeypatch, tmp_path):
    make_every_variant_wrong(monkeypatch)
    says = "'cpu-serial' ... row 0, column 0, channel 0 is 1 ... the float64 reference"
    options = "--mask box-3 --variant cpu-serial"
    refused("filter", sample_path("impulse"), tmp_path / "out.png", options, status=4, says=says)


def test_that_ctrl_c_in_the_middle_of_the_plain_loops_leaves_the_old_file(
    command, ctrl_c, monkeypatch, tmp_path
):
    source, out = tmp_path / "in.png", tmp_path / "out.png"
    engine.save_image(np.full((30, 20), 7, np.uint8), source)
    out.write_bytes(b"old")
    loops, rows_done = serial.TextbookLoops, []
    new_calls = loops._new_calls

    class PressedAfterTheFirstRows:
        def __init__(self, call):
            self.call, self.given = call, {}

        def put(self, place, value):
            self.given[place] = value
            self.call.put(place, value)

        def __call__(self):
            self.call()
            rows_done.append(len(self.given[1]))
            # The tiny picture that a variant is made ready with has one row.
            if len(self.given[0]) == 30:
                ctrl_c()

    monkeypatch.setattr(
        loops, "_new_calls", lambda filtering: [*map(PressedAfterTheFirstRows, new_calls(filtering))]
    )
    monkeypatch.setattr(serial, "MULTIPLY_ADDS_PER_CALL", 10 * 20 * 9)
    with pytest.raises(Left) as left:
        command("filter", source, out, "--mask box-3 --variant cpu-serial")
    assert str(left.value) == f"Stopped: {out} was not written."
    assert rows_done == [10]
    assert out.read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.png", "out.png"]


def test_that_ctrl_c_after_the_file_was_written_says_so(command, ctrl_c, monkeypatch, grey, tmp_path):
    out = tmp_path / "out.png"
    monkeypatch.setattr("engine.commands.filtered_picture.print_one", ctrl_c)
    with pytest.raises(Left) as left:
        command("filter", grey(), out, "--mask 1 --variant cpu-serial")
    assert str(left.value) == f"Stopped: {out} was written."
    assert out.is_file()


def test_that_a_quality_that_changes_nothing_is_noted(command, grey, tmp_path):
    note = f"--quality was not used: it is for {quality_words()}."
    for name, is_noted in {"out.png": True, "out.tif": True, "out.jpg": False, "out.WEBP": False}.items():
        answer = command("filter", grey(), tmp_path / name, "--mask 1 --quality 30 --json")
        assert (note in answer.document["notes"]) == is_noted, name


def test_that_nan_and_infinity_in_a_result_of_8_bit_are_noted(grey, filtered):
    source = grey([[np.nan, 0.2, np.inf, -np.inf, 300]], np.float32)
    opened = "note: 1 value is NaN.\nnote: 2 values are infinite.\n"
    # 1 is white: so is all that is above it.
    saved = (
        "note: Of 5 samples of the result 1 is NaN, which 8 bit cannot hold: saved as 0. "
        "A float32 TIFF, JPEG XL or NumPy keeps them.\n"
        "note: Of 5 samples of the result 2 are infinite, which 8 bit cannot hold: "
        "saved as an end of the range. A float32 TIFF, JPEG XL or NumPy keeps them.\n"
    )
    bits, _ = filtered(source, "--mask 1 --depth 8", err=opened + saved)
    assert bits.pixels.tolist() == [[0, 51, 255, 0, 255]]
    kept, _ = filtered(source, "--mask 1", "out.tif", err=opened)
    assert np.array_equal(kept.pixels, np.float32([[np.nan, 0.2, np.inf, -np.inf, 300]]), equal_nan=True)


def test_that_values_that_are_no_numbers_make_no_warning(command, tmp_path):
    """Of NumPy's, which the tests turn into errors; those that spoil a whole picture are named."""
    for options, how in [
        ("", "--memory 8G"),
        ("--depth 8", ""),
        ("--depth 8 --range rescale", "--memory 8G"),
        ("--depth 16 --range offset", ""),
    ]:
        ramp = np.linspace(0, 1, 20 * 30, dtype=np.float32).reshape(20, 30)
        mixed = ramp.copy()
        mixed[3], mixed[5, 5], mixed[6, 6], mixed[7, 7:9] = np.nan, np.inf, -np.inf, (3e38, -3e38)
        for pixels, says in (
            (mixed, "30 values are NaN"),
            (np.full_like(ramp, np.nan), "All of its values are NaN"),
        ):
            engine.save_image(pixels, tmp_path / "in.tif")
            answer = command(
                "filter", tmp_path / "in.tif", tmp_path / "out.tif", "--mask sobel-x", options, how
            )
            assert answer.status == 0, answer.err
            assert (says in answer.err) or how


def test_that_a_gaussian_that_its_sides_cut_is_noted(command, tmp_path):
    for mask, share in [
        # By the error function: of 9 cells with sigma 5 erf(4.5 / 5 sqrt(2)) is kept along each side.
        ("gaussian:9:5", 60),
        ("gaussian:63:40", 68),
        ("gaussian:9x1:5 --memory 8G", 37),
        ("gaussian:3:1", 25),
        ("unsharp:5:4", 78),
        ("gaussian:9", 0),
        ("gaussian:5:1.3 --memory 8G", 0),
        ("gaussian:1x9:1.5", 0),
        ("dog:9", 0),
        ("box:3", 0),
        ("'1 2 1'", 0),
    ]:
        engine.save_image(np.zeros((20, 20), np.uint8), tmp_path / "in.tif")
        words = f"--mask {mask} --variant cpu-serial --json"
        notes = command("filter", tmp_path / "in.tif", tmp_path / "out.tif", words).document["notes"]
        assert [f"{share} % of the Gaussian" in note for note in notes] == [True] * (share > 0)


def test_that_clear_pixels_with_colours_are_noted(command, tmp_path):
    """Their colours show in pixels beside them, whose weights know nothing of the alpha."""
    pixels = np.zeros((9, 9, 3), np.uint8)
    for alpha, options, is_noted in ((0, "box:3", True), (0, "1", False), (1, "box:3", False)):
        opacity = np.full((9, 9), 255, np.uint8)
        opacity[0] = alpha
        engine.save_image(engine.Picture(pixels, opacity), tmp_path / "in.png")
        answer = command("filter", tmp_path / "in.png", tmp_path / "out.png", f"--mask {options}")
        assert ("Some pixels are clear" in answer.err) == is_noted


def test_that_a_result_replaces_neither_its_picture_nor_its_mask_nor_its_patch(command, grey, tmp_path):
    source, read = grey(), tmp_path / "read.png"
    (tmp_path / "link.png").symlink_to(source)
    read.write_text("1 2 1")
    before, says = source.read_bytes(), "itself: its result would replace it. Give the result another name"
    for name, options, what, remedy in [
        *(
            (name, "--mask box:3", "picture", ", or --overwrite")
            for name in ("in.png", "./in.png", "link.png")
        ),
        ("./read.png", f"--overwrite --mask {read}", "mask", ""),
        ("./read.png", f"--overwrite --operation find-patch --patch {read}", "patch", ""),
    ]:
        answer = command("filter", source, f"{tmp_path}/{name}", options)
        assert answer.status == 2
        assert f" is the {what} {says}{remedy}" in answer.err
    assert (source.read_bytes(), read.read_text()) == (before, "1 2 1")


def test_that_overwrite_is_for_the_picture_itself_alone(command, grey, filtered, tmp_path):
    source = grey()
    wanted, _ = filtered(source, "--mask box:3")
    for options in ("--mask box:3", "--mask box:3 --overwrite"):
        (tmp_path / "out.png").write_bytes(b"an older file")
        again, _ = filtered(source, options)
        assert np.array_equal(again.pixels, wanted.pixels)
    answer = command("filter", source, source, "--mask box:3 --overwrite")
    assert (answer.status, answer.err) == (0, "")
    assert np.array_equal(engine.open_image(source).pixels, wanted.pixels)


def test_that_a_gpu_that_takes_longer_to_start_is_not_even_asked_for(command, monkeypatch, tmp_path):
    def refuse():
        raise AssertionError("the driver is started")

    monkeypatch.setattr(picture_work, "has_driver", lambda: True)
    monkeypatch.setattr(device_module, "devices", refuse)
    out = tmp_path / "out.png"
    said = command("filter", sample_path("camera"), out, "--mask box:5").out
    assert re.search(r"on CPU, .*; a GPU would take 1,2\d\d ms to start and copy\)", said)
    # Work of minutes on the CPU is worth it.
    problem = Problem(20_000, 20_000, 1, "float32", (63, 63), (31, 31))
    mask = Mask(np.random.default_rng(1).random((63, 63)))
    assert planner.why_not_gpu(problem, mask, cpu_info(), 1000) == ""
    assert planner.why_not_gpu(replace(problem, height=9, width=9), mask, cpu_info(), 1)
