"""What the window learns of a kernel's launches, code and tiles, also without a GPU."""

import pytest

from engine.errors import Cancelled
from engine.explain import answers, launches
from engine.explain.code_lines import ListingForm
from engine.explain.launches import DEFAULT, Architecture
from engine.explain.messages import CodeRequest, CompiledLaunchRequest, LaunchRequest, TileRequest
from engine.explain.tiles import block_tiles
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.host import shared
from engine.host.protocol import PictureHandle, ScreenLevels
from engine.mask.generators import gaussian
from engine.work.filtering.variants import VARIANTS
from tests.engine.variants.case_lists import one_case
from tests.engine.variants.emitted import needs_nvvm
from tests.picture_jobs import mask_job, operation_job


@pytest.fixture(autouse=True)
def _nothing_compiled(monkeypatch):
    monkeypatch.setattr(answers, "_known", type(answers._known)())


def launch_job(picture, key, **fields):
    return mask_job(picture=picture, variant=key, **{"mask": gaussian(5)} | fields)


def launch_advice(job, kind=LaunchRequest, report=lambda step: None):
    return answers.advice(kind(job, AMPERE), report)


def test_that_a_launch_is_described_at_once_without_its_registers(picture):
    advice = launch_advice(launch_job(picture, "tiled", block=Block(16, 8)))
    (launch,) = advice.launches
    assert advice.gpu == "sm_86 (GeForce RTX 3090)"
    assert launch.facts.grid == (13, 17, 1)
    assert (launch.facts.registers, launch.curves["registers"], advice.is_complete) == (None, (), False)


@pytest.mark.slow
@needs_nvvm
def test_that_registers_that_were_found_are_in_every_later_answer_unless_it_is_stopped(picture):
    def stop(step):
        raise Cancelled("The request", "it was stopped")

    job = launch_job(picture, "tiled")
    with pytest.raises(Cancelled):
        launch_advice(job, CompiledLaunchRequest, stop)
    assert not launch_advice(job).is_complete
    compiled = launch_advice(job, CompiledLaunchRequest)
    assert compiled.is_complete
    assert compiled.launches[0].facts.registers > 16
    assert launch_advice(job) == compiled
    # Another block is another kernel.
    assert not launch_advice(launch_job(picture, "tiled", block=Block(8, 8))).is_complete


def test_that_where_there_is_no_launch_and_no_tile_the_reason_is_said(picture):
    for key, fields, reason in (
        ("cpu-serial", {}, "runs on the CPU, which has no launches and no blocks of threads"),
        ("fft", {}, "no kernels of ours"),
        ("row-tiled", {}, "mask of one row"),
        ("tiled", {"block": Block(64, 64)}, "4,096 threads; the limit is 1,024"),
        ("tiled", {"block": Block(64, 64)}, "The nearest legal block is 64 × 16."),
    ):
        advice, tiles = launch_advice(launch_job(picture, key, **fields)), described(picture, key, **fields)
        assert (advice.launches, advice.is_complete, tiles.tiles) == ((), True, ())
        # A library's may not be installed.
        assert reason in advice.reason
        assert reason in tiles.reason or key == "fft"


def test_that_a_process_that_compiles_nothing_says_so(picture, monkeypatch):
    monkeypatch.setattr(launches, "missing", "numba-cuda is not installed")
    advice = launch_advice(launch_job(picture, "tiled"), CompiledLaunchRequest)
    assert advice.launches
    assert advice.reason.startswith("Not compiled: numba-cuda is not installed.")
    found = described(picture, "tiled")
    assert not found.tiles
    assert "numba-cuda is not installed" in found.reason


AMPERE = Architecture(8, 6)


@pytest.fixture
def colours():
    """A picture of 200 x 130 pixels, 8 bit and in colour, in shared memory."""
    (pixels,) = shared.create(((130, 200, 3), "uint8"))
    yield PictureHandle(pixels, None, ScreenLevels(()), "made", "made")
    shared.unlink(pixels.name)


def shown(job, architecture=AMPERE, **fields):
    return answers.shown_code(CodeRequest(job, architecture=architecture, **fields), lambda step: None)


def test_that_the_source_is_that_of_the_job_or_of_what_the_kernel_takes_instead(colours):
    code = shown(launch_job(colours, "tiled", block=Block(16, 8), border=Border.MIRROR))
    assert code.source.kernels[0].name == "correlate_tiled"
    assert {one.name for one in code.source.functions[1:]} == {"mirror"}
    assert "border mirror, picture uint8, 3 channels" in code.compiled_for
    assert (code.block, code.note) == (Block(16, 8), "")
    code = shown(launch_job(colours, "row-tiled"))
    assert code.source.kernels[0].name == "correlate_row_tiled"
    assert code.note.startswith("row-tiled: ")
    assert "So it is shown for mask gaussian 1 × 5" in code.note
    # Of an operation automatic is what would run.
    assert shown(operation_job(operation="median", picture=colours, device="cpu")).variant == "cpu-median"


@needs_nvvm
def test_that_two_kernels_are_compared_in_their_sources_or_listings(picture, colours):
    diff = shown(launch_job(colours, "naive"), other="tiled").diff
    assert (diff.left, diff.right) == ("naive", "tiled")
    assert any("cuda.shared.array" in row.right for row in diff.rows if not row.left)
    job = operation_job(operation="median", settings={"size": 5}, variant="median-tiled", picture=colours)
    code = shown(job, other="median-naive")
    assert code.compiled_for.startswith("operation median (size=5)")
    assert (code.diff.left, code.diff.right) == ("median-tiled", "median-naive")
    job = launch_job(picture, "naive", border=Border.CONSTANT)
    code = shown(job, DEFAULT, form=ListingForm.PTX, other="constant")
    assert any("ld.const" in row.right for row in code.diff.rows)


def described(picture, key, at=None, **fields):
    job = launch_job(picture, key, **{"border": Border.ZERO} | fields)
    return block_tiles(TileRequest(job, at), lambda step: None)


@pytest.mark.slow
def test_that_every_kernel_is_described_or_says_why_not(picture):
    for known in [v for v in VARIANTS if v.has_kernels]:
        case = one_case(known)
        how = {"block": case.block} if known.uses_block else {}
        found = described(picture, known.key, mask=case.mask(), border=case.border, **how)
        assert found.variant == known.key
        assert bool(found.tiles) != bool(found.reason)
        for plan in found.tiles:
            assert plan.loaders.shape == plan.steps.shape
            assert plan.loads or plan.direct_reads


def test_that_any_block_can_be_shown(picture):
    how = {"mask": gaussian(3), "block": Block(16, 16)}
    found = described(picture, "tiled", **how)
    assert (found.grid, found.at) == ((13, 9), (1, 1))
    assert not found.tiles[0].ghosts.any()
    corner = described(picture, "tiled", (0, 0), **how)
    assert corner.tiles[0].ghosts.sum() == 18 + 17
    # A block that the grid has no longer, after another picture or block was chosen.
    assert described(picture, "tiled", (99, 99), **how).at == (12, 8)
