"""Files that want to run code, read the host's files or use all memory: refused, or judged without effect."""

import pytest

import engine
from engine.judging import cuda_c
from tests.engine.variants.emitted import NEEDS_NVVM

pytestmark = [pytest.mark.slow, *NEEDS_NVVM]
C_KERNEL = """extern "C" __global__ void k(const float* image, float* out, int width)
{ out[0] = image[width]; }
"""
INCLUDES = {
    "plain": '#include "/etc/hostname"\n',
    "splice": '#inc\\\nlude "/etc/hostname"\n',
    "splice with a blank": '#inc\\ \nlude "/etc/hostname"\n',
    "digraph": '%:include "/etc/hostname"\n',
    "trigraph": '??=include "/etc/hostname"\n',
    "macro": "#define F </etc/hostname>\n#include F\n",
    "comments": '/**/ # /**/ include /**/ "/etc/hostname"\n',
    "upwards": "#include <../../../../../../etc/hostname>\n",
    "absolute": "#include </etc/hostname>\n",
    "raw string": 'const char* s = R"(\n /* )";\n#include "/etc/hostname"\n// */\n',
    "lone quote": '#if 0\n don\' /* \n#endif\n#include "/etc/hostname"\n// */\n',
    "digits": "int a = 1'0; /* '\n*/ \n#include \"/etc/hostname\"\n",
    "embed": 'const unsigned char x[] = {\n#embed "/etc/hostname"\n};\n',
    "asks": '#if __has_include("/etc/hostname")\n#endif\n',
    "asks by a macro": '#define Q __has_include\n#if Q("/etc/hostname")\n#endif\n',
}


@pytest.fixture
def judged(tmp_path):
    """Return what judges a text of CUDA C, or of Python with what differs from a plain kernel."""

    def judge(text="", **differs):
        given = {"before": "", "decorator": "@cuda.jit", "parameters": "", "value": "1"} | differs
        path = tmp_path / ("kernel.py" if differs else "kernel.cu")
        path.write_text(text + (PYTHON.format(**given) if differs else C_KERNEL))
        return engine.judge(path)

    return judge


def test_that_no_file_of_the_host_is_included(judged, monkeypatch):
    monkeypatch.setattr(cuda_c, "compiled", lambda *given: pytest.fail("it reached the compiler"))
    for name, text in INCLUDES.items():
        assert judged(text).verdict == "refused", name


def test_that_comments_and_strings_about_includes_are_no_includes(judged):
    text = '// #include "mine.h"\n/*\n#include "mine.h"\n*/\n#include <cuda_fp16.h>  // halves\n'
    assert judged(text).verdict != "refused"


def test_that_a_compiler_without_end_is_ended(judged, monkeypatch):
    monkeypatch.setattr(cuda_c, "MOST_COMPILE_S", 0.5)
    text = (
        "template <int D, class... T> struct X { static const int v = X<D - 1, T..., int>::v + "
        "X<D - 1, T..., char>::v; };\n"
        "template <class... T> struct X<0, T...> { static const int v = 1; };\n__device__ int q = X<22>::v;\n"
    )
    assert judged(text).verdict == "refused"


PYTHON = """from numba import cuda
{before}
{decorator}
def k(image, mask, out, width, height{parameters}):
    x, y = cuda.grid(2)
    if x < width and y < height:
        out[y, x] = {value}
"""
EFFECTS = {
    "the top level": {"before": "EFFECT"},
    "a constant": {"before": "R = (z := EFFECT)"},
    "a list": {"before": "R = [EFFECT for i in range(3)]"},
    "a call": {"before": "R = float(EFFECT)\nimport numpy as np\nA = np.array(EFFECT)"},
    "a class": {"before": "class A:\n    EFFECT"},
    "a decorator": {"decorator": "@cuda.jit(debug=EFFECT)"},
    "a default": {"parameters": ", mask_width=EFFECT"},
    "an annotation": {"parameters": ", mask_width: (EFFECT)"},
    "annotations of the rest": {"parameters": ", *a: (EFFECT), **b: (EFFECT)"},
    "a device function's": {"before": "def f(a, *b: (EFFECT), c=EFFECT) -> (EFFECT):\n    return a"},
    "a device function's decorator": {"before": "@(EFFECT)\ndef f(a):\n    return a"},
    "the body": {"value": "EFFECT"},
    "an overload": {
        "before": "from numba.core.extending import overload\n@overload(abs)\ndef f(a):\n    EFFECT\n"
        "    return lambda a: a",
        "value": "abs(x)",
    },
    "object mode": {
        "value": "1\n        import numba\n        with numba.objmode(z='int64'):\n            EFFECT"
    },
}


def test_that_nothing_of_a_python_file_runs(judged, tmp_path):
    mark = tmp_path / "mark"
    for differs in EFFECTS.values():
        opens = f"open({str(mark)!r}, 'w')"
        judged(**{name: text.replace("EFFECT", opens) for name, text in differs.items()})
        assert not mark.exists()


BOMBS = {
    "a shift": ("A = 1 << 10**9", "A"),
    "a power": ("A = 9**9**9", "A"),
    "squares": ("A0 = 1 << 63\n" + "".join(f"A{n + 1} = A{n} * A{n}\n" for n in range(40)), "A40"),
    "a tuple": ("A = (0,) * 10**10", "A[0]"),
    "sums of tuples": ("A0 = (1, 2)\n" + "".join(f"A{n + 1} = (A{n}, A{n})\n" for n in range(40)), "1"),
    "a long sum": ("A = " + "+".join(["1"] * 20_000), "A"),
    "a long body": ("", "+".join(["x"] * 20_000)),
    "shared memory": ("", "cuda.shared.array(10**9, 'float32')[x]"),
    "local memory": ("", "cuda.local.array(10**9, 'float32')[x]"),
    "itself": ("@cuda.jit(device=True)\ndef f(n):\n    return f(n - 1) + f(n - 2) if n > 1 else 1", "f(x)"),
}


def test_that_what_would_use_all_memory_is_judged_without_it(judged):
    for before, value in BOMBS.values():
        assert judged(before=before, value=value).verdict in ("refused", "wrong")


def test_that_constants_are_known(judged):
    before = """import numpy as np
from numba import float32, int32
R: int = 2**1 - 1
W, H = 2 * R + 1, 2 * R + 1
KIND = float32
OFFSETS = np.array([(-1, -1), (0, 0)], dtype=np.int32)
@cuda.jit(device=True)
def get(image, y, x, height, width, outside=0.0):
    return image[y, x] if y >= 0 and y < height and x >= 0 and x < width else KIND(outside)
"""
    value = """0.0
        s = KIND(0.0)
        for i in range(H):
            for j in range(W):
                s += mask[i, j] * get(image, y + i + OFFSETS[0, 0], x + j - R, height, width)
        out[y, x] = s"""
    found = judged("# mask: 3 3\n", before=before, value=value)
    assert found.verdict == "right", found.findings
