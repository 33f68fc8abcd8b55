"""The code of kernels as the engine would send it: short ones, which nothing was compiled for."""

from dataclasses import replace

from engine.errors import BadValue
from engine.explain.code_diff import diff_of
from engine.explain.code_lines import Form, KernelSource, Role, SourceFunction, story_in
from engine.explain.kernel_code import ptx_listing
from engine.explain.messages import ShownCode
from engine.geometry.block import Block

FIRST_LINE = 40
_HEAD = "@kernel_factory\ndef kernel():\n    @cuda.jit\n    def correlate_{}(image, out):\n"
_LOADED = (
    "        tile = cuda.shared.array(8, float32)\n"
    "        # Load the tile.\n"
    "        tile[i] = image[i]\n"
    "        cuda.syncthreads()\n"
    "        out[i] = tile[i]\n"
)
_DIRECT = "        out[i] = image[i]\n"
_END = "\n    return correlate_{}"
_PTX = """.file 1 "/somewhere/engine/variants/ladder/{0}.py"
.visible .entry _ZN1{0}E(
)
{{
\t.loc 1 {1} 5
\tld.global.f32 \t%f1, [%rd1];
\tfma.rn.f32 \t%f2, %f1, %f1, %f1;
\t.loc 1 {2} 5
\tst.global.f32 \t[%rd2], %f2;
\tret;
}}
"""
NO_DISASSEMBLER = BadValue("SASS", "it needs nvdisasm", "`pip install nvidia-cuda-nvdisasm` brings it.")


def made_code(asked):
    """Return the answer to a request; there is no disassembler."""
    if asked.form is Form.SASS:
        raise NO_DISASSEMBLER
    job, operation = asked.job, asked.job.operation
    key = f"cpu-{operation.operation}" if operation and job.variant == "auto" else job.variant
    keys = [key, *([asked.other] if asked.other else [])]
    functions = [_function(one) for one in keys]
    kernels = [_listed(one, asked) for one in keys] if asked.form else []
    compared = kernels or functions
    diff = diff_of(compared[:1], compared[1:], tuple(keys)) if asked.other else None
    story = story_in(f"`{key}`: its title.\n\nIdea\n    What it\n    does.\n")
    source = KernelSource(story, (functions[0],), "")
    return ShownCode(key, Block(32, 8), "a made problem", "", "", source, tuple(kernels[:1]), diff)


def _function(key):
    name = key.replace("-", "_")
    body = _LOADED if key == "tiled" else _DIRECT
    lines = f"{_HEAD.format(name)}{body}{_END.format(name)}".split("\n")
    path = f"engine/variants/ladder/{name}.py"
    return SourceFunction(Role.KERNEL, f"correlate_{name}", path, FIRST_LINE, tuple(lines))


def _listed(key, asked):
    name, last = key.replace("-", "_"), FIRST_LINE + (8 if key == "tiled" else 4)
    text = _PTX if key == "tiled" else _PTX.replace("\tfma", "\tmul")
    ptx = text.format(name, FIRST_LINE + 6 if key == "tiled" else last, last)
    kernel = f"correlate_{name}"
    return replace(ptx_listing(ptx, kernel, str(asked.architecture)), passes=(kernel,))
