"""`batch`: many files in, a folder of results out, whatever becomes of single ones."""

import json
from pathlib import Path

import numpy as np
import pytest

import engine
import engine.commands
from engine.commands import batch_pipeline, filter_steps
from engine.commands.batch_files import tasks_for
from engine.errors import DeviceFault, OutOfDeviceMemory
from engine.image.samples import sample_path
from tests.engine.commands.wrong_variant import make_every_variant_wrong

MASK = ("--mask", "gaussian:3:1", "--border", "mirror", "--device", "cpu")


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Return a folder: three pictures of different kinds, one in a folder of its own, a broken one, and a letter."""
    folder = tmp_path / "photos"
    (folder / "more").mkdir(parents=True)
    random = np.random.default_rng(1)
    engine.save_image(random.integers(0, 256, (9, 7), np.uint8), folder / "grey.png")
    engine.save_image(random.integers(0, 256, (5, 12, 3), np.uint8), folder / "rgb.tif")
    engine.save_image(random.integers(0, 65536, (6, 6), np.uint16), folder / "more" / "deep.png")
    (folder / "broken.png").write_bytes(sample_path("camera").read_bytes()[:500])
    (folder / "letter.txt").write_text("Dear sir or madam")
    (folder / ".hidden.png").write_bytes(b"")
    return folder


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("is_stream", [False, True])
@pytest.mark.parametrize("kind", ["float32", "same"])
def test_that_each_result_is_what_filter_gives_and_a_bad_file_stops_nothing(
    command, monkeypatch, photos, tmp_path, is_stream, kind
):
    monkeypatch.setattr(batch_pipeline.Batch, "_is_for_stream", lambda self, request: is_stream)
    out = tmp_path / "out"
    answer = command("batch", photos, "--recursive", "--out", out, *MASK, "--result-type", kind)
    assert answer.status == 2
    assert names(out) == ["grey.png", "more/deep.png", "rgb.tif"]
    for name in names(out):
        alone = tmp_path / Path(name).name
        assert command("filter", photos / name, alone, *MASK, "--result-type", kind).status == 0
        assert alone.read_bytes() == (out / name).read_bytes()
    first, second, third = answer.out.splitlines()
    assert first.startswith(f"3 of 4 pictures filtered into {out}, by cpu-")
    assert "each verified" in first
    assert second == "1 failed:"
    assert third.startswith(f"  {photos / 'broken.png'} cannot be opened: it ends after 500 bytes")
    assert sorted(line.split()[0] for line in answer.err.splitlines()) == [f"[{n}/4]" for n in (1, 2, 3, 4)]
    assert f"{photos / 'grey.png'} -> {out / 'grey.png'}" in answer.err


def test_that_files_folders_and_patterns_are_taken_once_and_in_order(photos, tmp_path):
    inputs = [str(photos / "rgb.tif"), str(photos), str(photos / "*.png")]
    found = [Path(task.source).name for task in tasks_for(inputs, str(tmp_path / "out"))]
    assert found == ["rgb.tif", "broken.png", "grey.png"]
    deep = tasks_for([str(photos)], str(tmp_path / "out"), recursive=True)
    assert [Path(task.target).relative_to(tmp_path / "out").as_posix() for task in deep] == [
        "broken.png",
        "grey.png",
        "rgb.tif",
        "more/deep.png",
    ]


def test_that_a_pattern_that_nothing_fits_is_told_and_stops_nothing(command, photos, tmp_path):
    pattern, out = str(photos / "*.jpg"), tmp_path / "out"
    answer = command("batch", pattern, photos / "gr*.png", "--out", out, *MASK)
    assert answer.status == 2
    assert names(out) == ["grey.png"]
    assert f"\n  {pattern}: it is a pattern, and no file matches it." in answer.out
    assert answer.err.count("no file matches it") == 1


def test_that_files_may_stand_before_and_after_options(command, photos, tmp_path):
    out = tmp_path / "out"
    answer = command("batch", photos / "grey.png", "--out", out, photos / "rgb.tif", *MASK)
    assert answer.status == 0, answer.err
    assert names(out) == ["grey.png", "rgb.tif"]


def test_that_a_folder_that_a_pattern_fits_is_searched_as_if_it_was_named(photos, tmp_path):
    (named,) = tasks_for([str(photos / "more")], str(tmp_path / "out"))
    (fitting,) = tasks_for([str(photos / "mor*")], str(tmp_path / "out"))
    assert fitting == named


def test_that_results_within_the_input_are_not_filtered_again(command, photos):
    (photos / "broken.png").unlink()
    out = photos / "more" / "out"
    assert command("batch", photos, "--recursive", "--out", out, *MASK).status == 0
    assert command("batch", photos, "--recursive", "--out", out, "--overwrite", *MASK).status == 0
    assert names(out) == ["grey.png", "more/deep.png", "rgb.tif"]


def test_that_nothing_is_replaced_unasked(command, photos, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "grey.png").write_bytes(b"mine")
    answer = command("batch", photos / "grey.png", photos / "rgb.tif", "--out", out, *MASK)
    assert answer.status == 2
    assert (out / "grey.png").read_bytes() == b"mine"
    assert "grey.png exists already: nothing is replaced unasked. Add --overwrite." in answer.out
    assert names(out) == ["grey.png", "rgb.tif"]
    answer = command("batch", photos / "grey.png", "--out", out, "--overwrite", *MASK)
    assert answer.status == 0
    assert engine.open_image(out / "grey.png").pixels.shape == (9, 7)


def test_that_two_pictures_of_one_name_do_not_share_a_place(command, photos, tmp_path):
    engine.save_image(np.zeros((2, 2), np.uint8), photos / "more" / "grey.png")
    answer = command(
        "batch", photos / "grey.png", photos / "more" / "grey.png", "--out", tmp_path / "out", *MASK
    )
    assert answer.status == 2
    assert f"the result of {photos / 'grey.png'} has the same name" in answer.out
    assert engine.open_image(tmp_path / "out" / "grey.png").pixels.shape == (9, 7)


def test_that_a_format_serves_all_and_one_that_cannot_be_kept_says_so(command, photos, tmp_path):
    from PIL import Image

    Image.new("L", (4, 3), 7).save(photos / "old.bmp")
    engine.save_image(np.zeros((3, 3), np.float32), photos / "float.tif")
    out = tmp_path / "out"
    answer = command("batch", photos / "old.bmp", "--out", out, *MASK)
    assert answer.status == 2
    assert ".bmp files are not written. Choose what to write: --format png, jpg, tif or webp." in answer.out
    answer = command(
        "batch", photos / "old.bmp", photos / "float.tif", "--out", out, "--format", "png", *MASK
    )
    assert answer.status == 2
    assert names(out) == ["old.png"]
    assert "PNG does not hold 32-bit float" in answer.out


def test_that_json_is_one_document_with_every_file(command, photos, tmp_path):
    answer = command("batch", photos, "nowhere.png", "--out", tmp_path / "out", *MASK, "--json")
    assert answer.status == 2
    document = json.loads(answer.out)
    assert (document["format"], document["done"], document["failed"]) == ("haloscope-batch", 2, 2)
    assert document["devices"] == [engine.list_devices()[0].title]
    broken, grey, rgb, nowhere = document["files"]
    assert (broken["output"], broken["verification"]) == (None, None)
    assert grey["verification"]["passed"] is True
    assert rgb["output"] == str(tmp_path / "out" / "rgb.tif")
    assert nowhere["failure"] == (
        "nowhere.png cannot be opened: there is no such file. Check the name and the folder."
    )


def test_that_a_wrong_result_is_not_saved_and_has_status_4(command, monkeypatch, photos, tmp_path):
    make_every_variant_wrong(monkeypatch)
    out = tmp_path / "out"
    answer = command("batch", photos / "grey.png", photos / "broken.png", "--out", out, *MASK)
    assert answer.status == 4
    assert names(out) == []
    assert "not verified: row 0" in answer.out
    assert command("batch", photos / "grey.png", "--out", out, *MASK, "--no-verify").status == 0
    assert names(out) == ["grey.png"]


def test_that_a_stream_that_breaks_off_is_taken_up_again(command, monkeypatch, photos, tmp_path):
    (photos / "broken.png").unlink()
    whole, calls = batch_pipeline.filter_stream, []

    def break_off(pictures, *arguments, **options):
        calls.append(1)
        if len(calls) == 1:
            next(pictures), next(pictures)
            raise OutOfDeviceMemory("picture 2 of the batch", "the device is full", "Use a smaller one.")
        return whole(pictures, *arguments, **options)

    monkeypatch.setattr(batch_pipeline, "filter_stream", break_off)
    monkeypatch.setattr(batch_pipeline.Batch, "_is_for_stream", lambda self, request: True)
    answer = command("batch", photos, "--recursive", "--out", tmp_path / "out", *MASK)
    assert (answer.status, len(calls)) == (0, 2)
    assert names(tmp_path / "out") == ["grey.png", "more/deep.png", "rgb.tif"]


def test_that_after_a_lost_device_what_was_done_is_saved_and_the_rest_is_listed(
    command, monkeypatch, photos, tmp_path
):
    filter_one, left = engine.api.filtering.Request.filter, []

    def lose(self):
        if self.samples.shape[2] == 3:
            raise DeviceFault("cuda:0", "illegal address", "Start again.")
        return filter_one(self)

    monkeypatch.setattr(engine.api.filtering.Request, "filter", lose)
    monkeypatch.setattr(engine.commands, "leave_at_once", left.append)
    arguments = (photos / "grey.png", photos / "rgb.tif", photos / "more", "--out", tmp_path / "out")
    answer = command("batch", *arguments, *MASK)
    assert (answer.status, left) == (3, [3])
    assert names(tmp_path / "out") == ["grey.png"]
    assert answer.out.splitlines()[1] == "2 failed:"
    assert answer.err.splitlines()[-1] == "cuda:0: illegal address. Start again."


def test_that_an_option_that_changes_nothing_is_told_once(command, photos, tmp_path):
    answer = command(
        "batch", photos / "grey.png", photos / "rgb.tif", "--out", tmp_path / "out", *MASK, "--cval", "3"
    )
    assert answer.err.count("--cval was not used") == 1


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (("{photos}",), 2, ("required: --out, --mask",)),
        (
            ("{photos}/letter.txt/..", "--out", "{photos}/letter.txt", *MASK),
            2,
            ("letter.txt", "cannot be made"),
        ),
        (("{photos}", "--out", "{out}", "--mask", "sobelx"), 2, ("the closest is sobel-x",)),
        (("{photos}", "--out", "{out}", *MASK, "--variant", "tield"), 2, ("Did you mean tiled?",)),
        (("{photos}", "--out", "{out}", *MASK, "--format", "bmp"), 2, ("--format bmp", "keep, png, jpg")),
        (("{photos}", "--out", "{out}", "--mask", "box-3", "--device", "cuda:77"), 3, ("no such device",)),
        (
            ("{photos}", "--out", "{out}", "--mask", "disk:7", "--variant", "cpu-separable"),
            2,
            ("variant 'cpu-separable'", "rank"),
        ),
        (
            ("{photos}/more", "--out", "{out}", "--mask", "2 3", "--divisor", "0"),
            2,
            ("cannot be divided by 0",),
        ),
        (("{empty}", "--out", "{out}", *MASK), 2, ("nothing to filter", "there is no picture in it")),
        (
            ("{photos}/*.jpg", "--out", "{out}", *MASK),
            2,
            ("*.jpg: it is a pattern, and no file matches it.",),
        ),
        (
            ("{photos}", "--out", "{out}", *MASK, "--result-type", "same", "--range", "absolute"),
            2,
            ("--range absolute with --result-type same", "Leave one of the two out."),
        ),
        (
            ("{photos}", "--out", "{out}", *MASK, "--depth", "float32", "--range", "rescale"),
            2,
            ("--range rescale: a float32 result keeps its values",),
        ),
        (
            ("{photos}", "--out", "{out}", *MASK, "--depth", "16", "--format", "jpg"),
            2,
            ("--format jpg with --depth 16: JPEG does not hold 16 bit values", "Save it as PNG or TIFF"),
        ),
    ],
)
def test_that_bad_use_is_refused_before_any_work(
    refused, monkeypatch, photos, tmp_path, arguments, status, says
):
    (tmp_path / "empty").mkdir()
    monkeypatch.setattr(filter_steps, "open_image", None)
    places = {"{photos}": photos, "{out}": tmp_path / "out", "{empty}": tmp_path / "empty"}
    for word, place in places.items():
        arguments = tuple(argument.replace(word, str(place)) for argument in arguments)
    refused("batch", *arguments, status=status, says=says)


def test_that_no_other_picture_of_the_batch_is_replaced_by_a_result(command, tmp_path):
    folder = tmp_path / "both"
    folder.mkdir()
    engine.save_image(np.full((5, 4), 9, np.uint8), folder / "a.jpg")
    engine.save_image(np.array([[0, 90], [255, 30], [8, 0]], np.uint8), folder / "a.png")
    before = (folder / "a.png").read_bytes()
    answer = command("batch", folder, "--out", folder, "--format", "png", "--overwrite", *MASK)
    assert answer.status == 2
    assert "a.png cannot be written: it is another picture of this batch" in answer.out
    assert (folder / "a.png").read_bytes() != before  # by its own result
    assert engine.open_image(folder / "a.png").pixels.shape == (3, 2)


def test_that_no_result_replaces_its_own_picture_unasked(command, photos):
    before = {path: path.read_bytes() for path in photos.glob("*.png")}
    assert before
    answer = command("batch", photos, "--out", photos, *MASK)
    assert answer.status != 0
    assert "is the picture itself: its result would replace it. Give --out another folder, or" in answer.out
    assert {path: path.read_bytes() for path in before} == before


def test_that_a_stopped_batch_says_what_is_there(command, photos, tmp_path, monkeypatch):
    from engine.commands import batch_pipeline

    filtered = []
    look_up = batch_pipeline.look_up

    def interrupted(*arguments):
        if filtered:
            raise KeyboardInterrupt
        filtered.append(True)
        return look_up(*arguments)

    monkeypatch.setattr(batch_pipeline, "look_up", interrupted)
    out = tmp_path / "out"
    answer = command("batch", photos / "grey.png", photos / "rgb.tif", "--out", out, *MASK)
    assert answer.status == 130
    assert "Stopped: 1 of 2 pictures filtered into" in answer.out
    assert names(out) == ["grey.png"]


def test_that_a_quality_is_noted_once_where_no_result_takes_one(command, photos, tmp_path):
    options = (*MASK, "--quality", "30", "--out")
    pictures = (photos / "grey.png", photos / "rgb.tif")
    note = "note: --quality was not used: it is for JPEG and WebP; PNG and TIFF are exact.\n"
    assert command("batch", *pictures, *options, tmp_path / "kept").err.count(note) == 1
    assert note not in command("batch", *pictures, *options, tmp_path / "jpeg", "--format", "jpg").err


def test_that_nan_in_a_result_of_8_bit_is_noted_with_its_file(command, tmp_path):
    source = tmp_path / "in.tif"
    engine.save_image(np.array([[1, np.nan]], np.float32), source)
    options = ("--mask", "1", "--device", "cpu", "--depth", "8", "--format", "png")
    answer = command("batch", source, "--out", tmp_path / "out", *options)
    assert answer.status == 0
    assert (
        f"note: {source}: Of 2 samples of the result 1 is NaN, which 8 bit cannot hold: saved as 0."
        in answer.err
    )
