"""PTX and SASS of kernels with the lines of their source: the very instructions that are launched."""

import re
import struct

import pytest

from engine.compiled.code_store import CodeStore
from engine.device.device_list import missing
from engine.explain.code_lines import ListingForm, SourceLine
from engine.explain.examples import KernelPurpose, example_of, variant_named
from engine.explain.instructions import InstructionClass as Class
from engine.explain.kernel_code import listed_kernels, source_of
from engine.explain.launches import DEFAULT, Architecture
from engine.geometry.block import Block, UnsupportedVariant
from engine.mask.mask import Mask
from engine.work.problem import Problem
from tests.engine.variants.case_lists import one_case
from tests.engine.variants.emitted import NEEDS_NVVM

if not missing:
    from engine.device import kernel_code
    from engine.device.kernel_code import code_for_linker, kept, with_code

NVDISASM = not missing and kernel_code.disassembler()

pytestmark = [pytest.mark.slow, *NEEDS_NVVM]

# One of each sort of code; of `cuda-equalise` NVVM refuses the variables ("Symbol name with unsupported").
FAMILIES = [
    "naive", "cached-constant", "digit-sums", "low-rank-2", "cuda-equalise", "matmul-tiled", "median-local",
    "network-fast",
]  # fmt: skip

LINKED = FAMILIES[::2]


def listed(key, form=ListingForm.PTX, architecture=DEFAULT, **asked):
    return listed_kernels(example_of(variant_named(key), KernelPurpose(**asked)), form, architecture)


def example(key):
    """Return what a kernel is compiled for: a filter for what other tests compile it for."""
    known = variant_named(key)
    case = one_case(known) if known.task == Problem.task else None
    asked = case and KernelPurpose(mask=case.mask(), border=case.border, dtype=case.dtype, block=case.block)
    return example_of(known, asked)


def plain_ptx(step):
    """Return the PTX of a kernel as it is launched, without lines."""
    asked = step.kernel, step.signature, (9, 0)
    return kept("ptx-launched", *asked, lambda: code_for_linker(*asked, "ptx").encode(), bytes.decode)


def instructions(ptx):
    """Return the lines of PTX without places and without names that are counted in a process."""
    # Behind the code the names of inlined functions may stand, which belong to places.
    code = re.split(r"\$L__func_end|\.section\b", ptx)[0]
    lines = (line.strip() for line in re.sub(r"_ZN\w+|smem\w*", "name", code).split("\n"))
    return [line for line in lines if line and not line.startswith((".loc", ".file", "//", "}"))]


def sections_of_code(content):
    """Return the instructions in a file of machine code: its executable sections."""
    (first,), (size, count, _) = struct.unpack_from("<Q", content, 40), struct.unpack_from("<3H", content, 58)
    sections = [struct.unpack_from("<IIQQQQ", content, first + n * size) for n in range(count)]
    return [content[at : at + length] for _, _, flags, _, at, length in sections if flags & 4]


def test_that_code_with_lines_is_that_without_and_comes_from_lines_of_the_source():
    for key in FAMILIES:
        looked_at = example(key)
        for step in looked_at.passes()[:2]:
            explained = kernel_code.explained_ptx(step.kernel, step.signature, (9, 0))
            assert ".loc" in explained
            # Of machine code that is the same the PTX is too.
            if key not in LINKED:
                assert instructions(explained) == instructions(plain_ptx(step))
            else:
                explained = kernel_code.explained_machine_code(step.kernel, step.signature, (9, 0))
                launched = with_code(step.kernel, step.signature, (9, 0), bytes)
                assert len(explained) > len(launched)
                assert sections_of_code(explained) == sections_of_code(launched)
        lines = {
            SourceLine(one.path, number)
            for one in source_of(looked_at).functions
            for number in range(one.first_line, one.first_line + len(one.lines))
        }
        for one in listed_kernels(looked_at, ListingForm.PTX, DEFAULT):
            assert Class.OTHER not in one.counts.by_class
            assert one.counts.total == sum(line.kind is not None for line in one.lines) > 20
            sources = {line.source for line in one.lines if line.source}
            assert sources
            assert sources <= lines


def test_that_lines_of_source_and_of_ptx_mark_each_other():
    (one,) = listed("naive")
    (kernel,) = source_of(example_of(variant_named("naive"))).kernels
    at = next(number for number, line in enumerate(kernel.lines) if "partial += value" in line)
    source = SourceLine(kernel.path, kernel.first_line + at)
    marked = [line for line in one.lines if line.source == source]
    assert {line.opcode for line in marked} >= {"fma.rn.f32", "ld.global.f32"}
    assert [line for line in one.lines if line.opcode == "fma.rn.f32" and line not in marked] == []


def test_that_kernels_of_tensor_cores_have_no_cost_of_a_tap_and_one_of_two_passes_is_listed_once():
    (one,) = listed("digit-sums")
    assert one.counts.by_class[Class.TENSOR]
    assert one.counts.taps is None
    with pytest.raises(UnsupportedVariant, match="compute capability"):
        listed("digit-sums", architecture=Architecture(7, 5))
    names = [one.passes for one in listed("network-pool")]
    assert names == [("convolution-1", "convolution-2"), ("pool-1", "pool-2")]


def test_that_the_second_time_nothing_is_compiled(monkeypatch, tmp_path):
    made = CodeStore(tmp_path)
    monkeypatch.setattr(kernel_code, "code_store", lambda: made)
    monkeypatch.delenv("HALOSCOPE_KEEP_KERNELS", raising=False)
    # Of all kernels the shortest one.
    first = listed("cuda-negative")
    assert [*tmp_path.iterdir()]
    monkeypatch.setattr(kernel_code, "cuda", None)
    assert listed("cuda-negative") == first


def test_that_a_block_that_is_too_small_by_default_gives_way_and_one_that_was_chosen_is_refused():
    assert listed("tiled-input", mask=Mask([[1.0] * 9] * 9))
    with pytest.raises(UnsupportedVariant):
        listed("tiled-input", mask=Mask([[1.0] * 33] * 33), block=Block(8, 8))


@pytest.mark.skipif(not NVDISASM, reason="nvdisasm is not installed")
def test_that_every_instruction_of_the_machine_has_a_class():
    for one in (one for key in LINKED for one in listed(key, ListingForm.SASS)):
        assert any(line.source for line in one.lines)
        others = [line for line in one.lines if line.kind is Class.OTHER]
        # @!PT: nothing in any thread.
        assert {line.opcode for line in others if "@!PT " not in line.text} <= {"NOP"}
