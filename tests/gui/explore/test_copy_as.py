"""What the page is copied as: executed for random settings, and compared with what Save result writes."""

import ctypes
import os
import random
import shlex
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from msgspec import structs
from PySide6.QtGui import QGuiApplication

import engine
from engine.commands.command_line import main
from engine.errors import EngineError
from engine.geometry.border import RANGE_MODES, Border
from engine.host import shared
from engine.host.picture_jobs import open_picture, save_result
from engine.host.protocol import OpenPicture, SaveResult
from engine.host.request import Preview
from engine.image.convert import to_depth
from engine.mask.mask import Mask
from engine.mask.presets import preset, preset_names
from engine.recipes.recipe import command_line, engine_code
from engine.recipes.targets import TARGETS, c_array
from engine.work import answers
from engine.work.chain_oracle import ChainOracle
from engine.work.chain_task import CHAIN
from engine.work.filter_task import Among
from engine.work.problem import as_samples
from engine.work.resolve import Resolved
from engine.work.steps import HOW, PICTURE
from gui.explore.chain.chain_actions import added, combining, new_step, with_inputs
from gui.explore.copy_as import recipe_of
from gui.explore.workspace import Workspace

CASES, CHAINS = 80, 12
WRITE = {one.key: one.write for one in TARGETS}
# Blanks, quotes, letters of other alphabets, and what a shell or Python would take for something else.
NAMES = ("plain.png", "two words.png", "it's $HOME `x`.png", 'a "b" \\n.png', "šířka 幅 ü.png")
DTYPES = (np.uint8, np.uint16, np.float32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a picture of each type, with 1 or 3 channels, with and without alpha."""
    folder, chance = tmp_path_factory.mktemp("pictures"), np.random.default_rng(30)
    for number, dtype in enumerate(DTYPES * 4):
        channels, has_alpha = (1, 3)[number % 2], number >= 6
        shape = (19, 23) if channels == 1 else (19, 23, 3)
        full = 255.0 if dtype == np.uint8 else 65535.0
        pixels = (chance.random(shape) * full).astype(dtype)
        alpha = (chance.random((19, 23)) * (1.0 if dtype == np.float32 else full)).astype(dtype)
        name = f"{number} {NAMES[number % len(NAMES)]}"
        if dtype == np.float32:
            name = name.replace(".png", ".tif")
        engine.save_image(engine.Picture(pixels, alpha if has_alpha else None), folder / name)
    return folder


@pytest.fixture(scope="module")
def pictures(folder):
    """The handles of these pictures, as the engine's process hands them to the window."""
    handles = [open_picture(OpenPicture(str(path)), lambda step: None) for path in sorted(folder.iterdir())]
    yield handles
    for handle in handles:
        shared.unlink(handle.pixels.name)


def random_mask(chance):
    kind = chance.randrange(4)
    if kind == 0:
        return preset(chance.choice([key for key in preset_names() if preset(key).taps <= 121]))
    rows, columns = chance.choice(((3, 3), (5, 5), (1, 7), (9, 1), (2, 4), (13, 12), (1, 1)))
    drawn = (chance.randint(-9, 9) if kind == 1 else chance.uniform(-1, 1) for _ in range(rows * columns))
    anchor = None if chance.random() < 0.5 else (chance.randrange(rows), chance.randrange(columns))
    offset = chance.choice((0.0, 0.0, 12.0, -3.7))
    return Mask(np.array(list(drawn)).reshape(rows, columns), anchor, offset, "Mine\n*/ import os \\")


def random_workspace(chance, pictures):
    """Return a page with random settings, as a person may leave it on a machine without a GPU."""
    workspace = Workspace(random_mask(chance))
    workspace.set_picture(chance.choice(pictures))
    workspace.change(
        border=chance.choice(list(Border)),
        cval=chance.choice((0.0, 100.0, -20.25, 0.1)),
        flip=chance.random() < 0.4,
        normalise=chance.random() < 0.3,
        range_mode=chance.choice(list(RANGE_MODES)),
        result_type=chance.choice(("float32", "float32", "same")),
        variant=chance.choice(("auto", "auto", "cpu-serial", "cpu-parallel")),
        device=chance.choice(("auto", "cpu")),
        block=chance.choice((None, engine.Block(16, 16))),
    )
    return workspace


def random_chain(chance, pictures):
    """Return a page with two to four random steps; they read what stands before them."""
    workspace = random_workspace(chance, pictures)
    for _ in range(chance.randrange(1, 4)):
        state = workspace.state
        if chance.random() < 0.5:
            step = combining(state).with_settings(
                parameters={"how": chance.choice(list(HOW)), "weight": chance.choice((0.5, -0.8, 0.3))}
            )
        else:
            step = new_step(state.step, "").with_mask(random_mask(chance))
            step = step.with_settings(border=chance.choice(list(Border)), flip=chance.random() < 0.4)
        workspace.edit(added(state, step), "Add step")
        state = workspace.state
        known = [PICTURE, *(one.id for one in state.steps[: state.selected])]
        workspace.edit(with_inputs(state, chance.choice(known), chance.choice(known)), "Inputs")
    return workspace


def saved_by_window(workspace, path):
    """Write what Save result writes: by the calls that the engine's process makes."""
    job = workspace.job()
    filtered = answers.preview(Preview(job), lambda step: None)
    save_result(
        SaveResult(workspace.picture, filtered.values, str(path), workspace.range_mode), lambda step: None
    )
    shared.unlink(filtered.values.name)
    return path.read_bytes()


@pytest.fixture(scope="module")
def cases(pictures, qapp):
    chance = random.Random(30)
    return [random_workspace(chance, pictures) for _ in range(CASES)]


@pytest.fixture(scope="module")
def chains(pictures, qapp):
    chance = random.Random(31)
    return [random_chain(chance, pictures) for _ in range(CHAINS)]


@pytest.mark.slow
def test_that_command_line_and_python_write_the_bytes_that_save_writes(cases, chains, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # 300 files: the disk would take half of the time.
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    for number, workspace in enumerate((*cases, *chains)):
        recipe = recipe_of(workspace, f"-{number} it's")
        name = recipe.output
        wanted = saved_by_window(workspace, tmp_path / f"wanted {name}")
        program, script, *arguments = shlex.split(command_line(recipe, "posix"))
        assert (program, script) == ("python", "main.py")
        assert main(arguments) == 0, arguments
        assert (tmp_path / name).read_bytes() == wanted, arguments
        (tmp_path / name).unlink()
        code = engine_code(recipe)
        exec(compile(code, "copied", "exec"), {})
        assert (tmp_path / name).read_bytes() == wanted, code


def assert_within_bound(workspace, recipe, code):
    """Execute a script, and compare its values with the oracle, and its result with the rules of Save."""
    left = {}
    exec(compile(code, "copied", "exec"), left)
    pixels, values = engine.open_image(workspace.picture.path).pixels, left["values"]
    in_order = values[..., ::-1] if "cv2.imread" in code and values.ndim == 3 else values
    assert in_order.shape == pixels.shape, code
    samples = as_samples(pixels if pixels.ndim == 3 else pixels[..., np.newaxis])
    resolved = Resolved(structs.replace(recipe.request, device="cpu"), samples)
    plan = CHAIN.plan(resolved.nodes, Among(samples, resolved.device))
    exact = ChainOracle(samples, plan).results(*map(np.arange, pixels.shape[:2])).range
    difference = np.abs(in_order.reshape(exact.value.shape) - exact.value)
    # float64 ends nearer than float32 may; where float32 is exact, within its own rounding.
    assert np.all(difference <= exact.error + 1e-12 * np.abs(exact.value)), code
    result = values.astype(np.float32)
    if pixels.dtype != np.float32:
        result = to_depth(values, pixels.dtype, range_mode=workspace.range_mode)
    assert left["result"].dtype == pixels.dtype
    assert np.array_equal(left["result"], result), code


@pytest.mark.slow
@pytest.mark.parametrize(("library", "write"), [("cv2", WRITE["opencv"]), ("scipy", WRITE["scipy"])])
def test_that_other_libraries_agree_within_the_bound(cases, chains, tmp_path, monkeypatch, library, write):
    pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    for workspace in (*cases, *chains):
        recipe = recipe_of(workspace)
        assert_within_bound(workspace, recipe, write(recipe))


@pytest.mark.slow
def test_that_the_code_for_cupy_can_be_compiled_and_agrees_where_there_is_cupy(cases, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    codes = [WRITE["cupy"](recipe_of(workspace)) for workspace in cases]
    for code in codes:
        compile(code, "copied", "exec")
    pytest.importorskip("cupy")
    for workspace, code in zip(cases, codes, strict=True):
        assert_within_bound(workspace, recipe_of(workspace), code)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no C compiler here")
def test_that_the_arrays_of_c_have_every_bit_of_the_weights_that_kernels_get(cases, tmp_path):
    functions = []
    for number, workspace in enumerate(cases):
        array = c_array(recipe_of(workspace))
        copies = "*weights = &mask[0][0]; *offset = mask_offset; anchor[0] = mask_anchor[0];"
        functions.append(
            f"void mask_{number}(const float **weights, float *offset, int *anchor) {{\n{array}\n"
            f"{copies} anchor[1] = mask_anchor[1]; }}\n"
        )
    source, library = tmp_path / "masks.c", tmp_path / "masks.so"
    source.write_text("".join(functions), encoding="utf-8")
    subprocess.run(["gcc", "-w", "-O0", "-shared", "-fPIC", source, "-o", library], check=True)
    compiled = ctypes.CDLL(str(library))
    for number, workspace in enumerate(cases):
        weights, offset, anchor = ctypes.POINTER(ctypes.c_float)(), ctypes.c_float(), (ctypes.c_int * 2)()
        compiled[f"mask_{number}"](ctypes.byref(weights), ctypes.byref(offset), anchor)
        mask = workspace.step.applied_mask
        found = np.ctypeslib.as_array(weights, mask.shape)
        assert np.array_equal(found.view(np.uint32), mask.weights32.view(np.uint32))
        assert (offset.value, tuple(anchor)) == (np.float32(mask.offset), mask.anchor)


def test_that_the_menu_copies_what_the_page_shows_or_says_why_not(haloscope):
    for target in TARGETS:
        QGuiApplication.clipboard().clear()
        haloscope.actions[f"copy_as:{target.key}"].trigger()
        recipe = recipe_of(haloscope.workspace, "astronaut-sharpen")
        used = haloscope.state.last_result.variant
        recipe = replace(recipe, request=recipe.request.changed(variant=used)) if target.is_exact else recipe
        assert QGuiApplication.clipboard().text() == target.write(recipe)
        assert target.title in haloscope.messages.newest.what
    QGuiApplication.clipboard().setText("kept")
    haloscope.workspace.choose("median")
    haloscope.actions["copy_as:c"].trigger()
    assert "only a mask" in haloscope.messages.newest.why
    assert QGuiApplication.clipboard().text() == "kept"


def test_that_the_kernel_that_automatic_chose_is_copied_for_what_is_shown_alone(haloscope):
    def copies():
        for key in ("command", "python"):
            haloscope.actions[f"copy_as:{key}"].trigger()
            yield QGuiApplication.clipboard().text()

    client = haloscope.link._client
    assert haloscope.workspace.settings.variant == "auto"
    used = haloscope.state.last_result.variant
    assert all(used in text for text in copies())
    client.automatic = False
    haloscope.workspace.change(border=Border.WRAP)
    assert not any(used in text for text in copies()), "not known before the result of this edit"
    haloscope.workspace.change(variant="naive")
    assert all("naive" in text for text in copies())


def test_that_a_copy_says_what_is_in_no_file_and_where_it_was_computed_quoted_for_its_system(workspace):
    for target in TARGETS[:-1]:
        assert "in no file yet: save it as picture.png" in target.write(recipe_of(workspace))
    recipe = recipe_of(workspace, host="ana@server")
    for copied in (command_line(recipe), engine_code(recipe)):
        assert "# In the window it was computed on ana@server" in copied
    workspace.set_picture(structs.replace(workspace.picture, path=r"C:\\my pictures\\a.png"))
    line = command_line(recipe_of(workspace), "nt")
    assert line.startswith('python main.py filter "C:\\\\my pictures\\\\a.png" result.png --mask')
    # A name that is no text is refused in words.
    workspace.set_picture(structs.replace(workspace.picture, path="/pictures/caf\udce9.png"))
    with pytest.raises(EngineError, match="no characters"):
        command_line(recipe_of(workspace))


def test_that_another_operation_is_copied_with_its_parameters(qapp, pictures, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for key in ("negative", "median", "compress"):
        workspace = Workspace(preset("sharpen"))
        workspace.set_picture(next(picture for picture in pictures if picture.dtype == "uint8"))
        workspace.choose(key)
        if key == "median":
            workspace.set_parameter("size", 5)
        recipe = recipe_of(workspace)
        values = answers.preview(Preview(workspace.job()), lambda step: None).values
        save_result(SaveResult(workspace.picture, values, "wanted.png"), lambda step: None)
        shared.unlink(values.name)
        assert main(shlex.split(command_line(recipe, "posix"))[2:]) == 0
        wanted = (tmp_path / "wanted.png").read_bytes()
        assert (tmp_path / recipe.output).read_bytes() == wanted
        (tmp_path / recipe.output).unlink()
        exec(engine_code(recipe), {})
        assert (tmp_path / recipe.output).read_bytes() == wanted


def test_that_another_program_is_one_step_and_shows_its_line_or_why_not(haloscope):
    workspace = haloscope.workspace
    before = workspace.mask, workspace.settings
    haloscope.actions["as_program:imagemagick"].trigger()
    settings = workspace.settings
    assert (settings.flip, settings.border, settings.result_type) == (True, Border.REPLICATE, "same")
    dialog = haloscope.window.page.programs.dialog
    assert dialog.isVisible()
    assert not dialog.isModal()
    dialog.copy_button.click()
    assert QGuiApplication.clipboard().text() == dialog.code.toPlainText()
    assert dialog.code.toPlainText().startswith("magick in.png -morphology Convolve '3x3: 0,-1,0 ")
    workspace.undo_stack.undo()
    assert (workspace.mask, workspace.settings) == before

    # What it cannot take changes nothing.
    workspace.set_mask(Mask(np.ones((9, 9))))
    settings = workspace.settings
    haloscope.actions["as_program:gimp"].trigger()
    assert "5 × 5" in haloscope.messages.newest.why
    assert workspace.settings == settings
