"""`judge`: the verdict as text and as one JSON document, exit statuses, requirements, header lines."""

import inspect
import json
import shlex

import pytest

import engine
from engine.device.numba_cuda import cuda
from tests.engine.variants.emitted import NEEDS_NVVM

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("nvrtc_here"), *NEEDS_NVVM]
PARAMETERS = "const float* image, const float* mask, float* out, int width, int height"
KERNEL = f"""// mask: 3 3
extern "C" __global__ void NAME({PARAMETERS})
{{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0.0f;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {{
            int row = y + i - 1, column = x + j - 1;
            if (row >= 0 && row < height && column >= 0 && column < width)
                sum += mask[3 * i + j] * image[row * width + column];
        }}
    out[y * width + x] = sum;
}}
"""


@pytest.fixture
def judged(tmp_path, command):
    """Return a function that judges a source by the command."""

    def do(text, *options):
        path = tmp_path / "kernel.cu"
        path.write_text(text)
        return command("judge", path, *map(shlex.quote, options))

    return do


@pytest.mark.parametrize(
    ("changed", "verdict", "status", "kinds"),
    [
        (("", ""), "right", 0, set()),
        (("y + i - 1", "y + i - 2"), "wrong", 1, {"wrong"}),
        (("    out[", "    if (x == 0) out[0] = sum;\n    out["), "faulty", 1, {"race"}),
        (("float sum = 0.0f", "float sum = 0.0f + mask[9 + x] * 0.0f"), "wrong", 1, {"wrong", "outside"}),
        (("float sum", "floot sum"), "refused", 2, {"refused"}),
    ],
)
def test_that_a_judgement_is_one_json_document_with_its_status(judged, changed, verdict, status, kinds):
    answer = judged(KERNEL.replace(*changed), "--json")
    document = json.loads(answer.out)
    assert (document["format"], document["version"]) == ("haloscope-judgement", 1)
    assert (document["verdict"], answer.status) == (verdict, status)
    assert {one["kind"] for one in document["findings"]} == kinds
    # The pixel of each kernel that is wrong, and what does not compile, have their line.
    assert all(one["line"] in one["lines"] for one in document["findings"])
    if verdict != "refused":
        assert document["counts"]["all"]["loads per result"] > 8
        assert any(document["counts"]["lines"].values())


def test_that_requirements_are_shown_and_decide_the_status(judged):
    met = judged(KERNEL, "--require", "loads per result <= 9", "--json")
    missed = judged(KERNEL, "--require", "loads per result <= 3", "--require", "shared bytes > 0", "--json")
    assert (met.status, missed.status) == (0, 1)
    (gate,) = json.loads(met.out)["gates"]
    assert gate["holds"]
    # It is what `naive` does.
    assert gate["value"] == pytest.approx(gate["naive"])
    deep = "blockIdx.y * 16 + threadIdx.y * 4 + threadIdx.z"
    text = KERNEL.replace("blockIdx.y * blockDim.y + threadIdx.y", deep)
    answer = judged(f"// block: 16 4 4\n{text}", "--require", "loads per result <= 9", "--json")
    assert json.loads(answer.out)["gates"][0]["naive"] == pytest.approx(gate["naive"])
    document = json.loads(missed.out)
    assert document["verdict"] == "right"
    assert [one["holds"] for one in document["gates"]] == [False, False]
    # Before anything is compiled.
    for text in ("speed > 9000", "loads per result", "loads per result <= many"):
        assert judged(KERNEL, "--require", text).status == 2


def test_that_one_of_several_kernels_is_named(judged):
    both = KERNEL + KERNEL.replace("NAME", "second").replace("y + i - 1", "y + i - 2")
    assert judged(both).status == 2
    assert judged(both, "--function", "NAME").status == 0
    assert judged(both, "--function", "second").status == 1
    assert judged(both, "--function", "third").status == 2


def test_that_a_header_line_that_cannot_be_is_refused(judged):
    for line in (
        *("block: 0 16", "block: 64 64", "block: wide", "block: 2147483648", "mask: 4 4", "mask: 99 99"),
        *("border: round", "shared: 999999", "shared: -4", "type: complex", "results: 0 0"),
        *("results: 28 4 2", "mask: 3 3 3", "shared: 4096 1"),
    ):
        answer = judged(f"//\n// {line}\n{KERNEL}", "--json")
        assert (answer.document["verdict"], answer.status) == ("refused", 2), line
        assert [one["line"] for one in answer.document["findings"]] == [2]


def test_that_parameters_declared_as_arrays_are_pointers_and_of_another_name_are_not_known(judged):
    arrays = (
        PARAMETERS.replace("* image", " image[]").replace("* mask", " mask[9]").replace("* out", " out[]")
    )
    assert judged(KERNEL.replace(PARAMETERS, arrays)).status == 0
    answer = judged(KERNEL.replace("image", "picture"), "--json")
    (finding,) = json.loads(answer.out)["findings"]
    assert answer.status == 2
    assert "picture is not known" in finding["message"]


# block: 64 4
@cuda.jit
def copied(image, out):
    x = cuda.blockIdx.x * 64 + cuda.threadIdx.x
    y = cuda.blockIdx.y * 4 + cuda.threadIdx.y
    if x < out.shape[1] and y < out.shape[0]:
        out[y, x] = image[y, x]


IMPORTS = {
    "from numba import cuda": "cuda.",
    "import numba": "numba.cuda.",
    "import numba.cuda": "numba.cuda.",
    "import numba.cuda as gpu": "gpu.",
    "from numba import cuda as gpu": "gpu.",
}


def test_that_comments_above_a_function_are_read_and_cuda_may_have_any_name(tmp_path):
    function = engine.judge(copied, seed=1)
    # A thread for each pixel; only the mask is not what was asked for.
    assert {one.kind for one in function.findings} == {"wrong"}
    assert function.metrics["stores per result"] == 1
    path, source = tmp_path / "kernel.py", inspect.getsource(copied)
    for line, name in IMPORTS.items():
        path.write_text(f"# block: 64 4\n{line}\n" + source.replace("cuda.", name))
        assert {one.kind for one in engine.judge(path, seed=1).findings} == {"wrong"}, line


def test_that_the_text_has_the_verdict_and_the_line_once(judged):
    answer = judged(KERNEL.replace("column < width", "column < width - 1"))
    assert answer.status == 1
    assert "line 13:" in answer.out
    assert "the right edge" in answer.out
    assert judged(KERNEL.replace("float sum", "floot sum")).out.count("line 6") == 1


def test_that_a_launch_that_asks_to_stop_stops(tmp_path, monkeypatch):
    monkeypatch.setattr("engine.ptx.launch.CHECK_S", 0.0)
    path = tmp_path / "kernel.cu"
    path.write_text(KERNEL)

    class Stopped(Exception):
        pass

    def stop(done):
        raise Stopped

    with pytest.raises(Stopped):
        engine.judge(path, checkpoint=stop)
