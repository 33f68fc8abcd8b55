"""Instructions as they are written: classes, loops, what a tap costs; and what nvdisasm writes."""

from engine.explain.code_lines import SourceLine, loops
from engine.explain.instructions import InstructionClass as Class
from engine.explain.instructions import is_ptx_64_bit, is_sass_64_bit, ptx_class, sass_class
from engine.explain.kernel_code import ptx_listing, sass_listing

LOOP = """
.visible .entry _ZN3abcE(
	.param .u64 _ZN3abcE_param_0
)
{
	.reg .pred 	%p<2>;
	ld.param.u64 	%rd1, [_ZN3abcE_param_0];
$L__BB0_1:
	mul.f32 	%f1, %f2, %f3;
	bra.uni 	$L__BB0_2;

$L__BB0_2:
	.loc	1 7 3
	fma.rn.f32 	%f1, %f2, %f3, %f1;
	fma.rn.f32 	%f1, %f2, %f4, %f1;
	add.s64 	%rd2, %rd2, 4;
	setp.lt.s64 	%p1, %rd2, %rd3;
	@%p1 bra 	$L__BB0_2;
	@%p2 bra 	$L__BB0_1;
	ret;

}
	.file	1 "C:\\\\here\\\\engine\\\\variants\\\\x.py"
"""


PTX = {
    Class.INTEGER_64: "add.s64 mul.wide.s32",
    Class.INTEGER_32: "mad.lo.s32 min.u16",
    Class.FLOAT_ADD: "add.f32",
    Class.FLOAT_MULTIPLY: "mul.f32",
    Class.FLOAT_FMA: "fma.rn.f32",
    Class.FLOAT_OTHER: "max.f32 fma.rn.f16x2",
    Class.FLOAT_64: "add.f64",
    Class.LOAD_GLOBAL: "ld.global.nc.f32",
    Class.LOAD_SHARED: "ld.shared.v4.f32",
    Class.LOAD_PARAMETER: "ld.param.u64",
    Class.STORE_GLOBAL: "st.global.v4.f32",
    Class.CONVERSION: "cvta.to.global.u64",
    Class.CONTROL: "setp.lt.s64 and.pred",
    Class.BARRIER: "bar.sync cp.async.wait_group",
    Class.MOVE: "selp.b64",
    Class.COPY: "cp.async.cg.shared.global",
    Class.ATOMIC: "atom.global.add.u32",
    Class.TENSOR: "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
}
SASS = {
    Class.INTEGER_64: "IMAD.WIDE R2, R7, UR4, R2; IADD3 R4, P0, R2, R6, RZ; IADD3.X R5, R3, R7, RZ, P0, !PT; "
    "UIADD3 UR14, UP1, UR15, UR4, URZ",
    Class.INTEGER_32: "IADD3 R4, R2, R6, RZ; LOP3.LUT R2, R3, 0x3, RZ, 0xc0, !PT",
    Class.MOVE: "IMAD.MOV.U32 R2, RZ, RZ, RZ; S2R R0, SR_TID.X",
    Class.FLOAT_FMA: "FFMA R0, R1, R2, R0",
    Class.FLOAT_OTHER: "MUFU.RCP R0, R1",
    Class.LOAD_GLOBAL: "LDG.E.CONSTANT R0, [R2.64]",
    Class.LOAD_SHARED: "LDS.128 R4, [R2]",
    Class.LOAD_PARAMETER: "LDC R1, c[0x0][0x28]",
    Class.LOAD_CONSTANT: "LDC R1, c[0x3][R2]",
    Class.COPY: "LDGSTS.E.BYPASS.128 [R2], [R4.64]",
    Class.TENSOR: "HMMA.16816.F32 R4, R8, R10, R4",
    Class.CONVERSION: "I2F.U8 R0, R1",
    Class.CONTROL: "ISETP.GE.AND P0, PT, R0, R1, PT",
    Class.BARRIER: "BAR.SYNC.DEFER_BLOCKING 0x0",
    Class.ATOMIC: "RED.E.ADD [R2.64], R0",
}


def test_that_an_instruction_has_the_class_of_what_it_does():
    for kind, opcodes in PTX.items():
        assert {ptx_class(one) for one in opcodes.split()} == {kind}
    for kind, written in SASS.items():
        assert {sass_class(*one.split(" ", 1)) for one in written.split("; ")} == {kind}


def test_that_what_works_on_64_bit_integers_is_known_whatever_its_class():
    assert [is_ptx_64_bit(one) for one in ("mov.u64", "setp.lt.s64", "ld.global.f32")] == [True, True, False]
    assert is_sass_64_bit("ISETP.GE.AND.EX", "P0, PT, R3, UR7, PT, P0")


def test_that_the_inner_loop_says_what_a_tap_costs():
    listing = ptx_listing(LOOP.replace("\\\\", "/"), "kernel", "sm_90")
    # The entry has the name of the kernel, and places those of files from the root on.
    assert ".visible .entry kernel(" in listing.text
    assert "[kernel_param_0]" in listing.text
    assert {line.source for line in listing.lines} == {None, ("engine/variants/x.py", 7)}
    # A branch back is a loop, and one ahead is none.
    assert [listing.lines[last].text.split()[0] for last in loops(listing).values()] == ["@%p1", "@%p2"]
    counts = listing.counts
    assert counts.total == 10
    taps = counts.taps
    assert [listing.lines[at].text.split()[0] for at in (taps.first, taps.last)] == ["$L__BB0_2:", "@%p1"]
    assert (taps.taps, taps.instructions, taps.integer_64) == (2, 2.5, 1.0)
    assert taps.per_tap == {Class.INTEGER_64: 0.5, Class.FLOAT_FMA: 1.0, Class.CONTROL: 1.0}


WRITTEN = """
.text.name:
	//## File "/home/x/engine/variants/ladder/naive.py", line 33
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/                   IADD3 R4, P0, R2, R6, RZ ;
.L_x_1:
        /*0020*/                   IADD3.X R5, R3, R7, RZ, P0, !PT ;
	//## File "/home/x/engine/variants/ladder/naive.py", line 48
        /*0030*/                   FFMA R0, R8, R9, R0 ;
        /*0040*/              @P1 BRA `(.L_x_1) ;
        /*0050*/                   EXIT ;
.L_x_2:
        /*0060*/                   BRA `(.L_x_2);
        /*0070*/                   NOP;
"""


def test_that_sass_is_read_with_its_lines_and_without_what_pads_it():
    listing = sass_listing(WRITTEN, "kernel", "sm_90")
    assert [(line.opcode, line.kind) for line in listing.lines if line.kind] == [
        ("LDC", Class.LOAD_PARAMETER), ("IADD3", Class.INTEGER_64), ("IADD3.X", Class.INTEGER_64),
        ("FFMA", Class.FLOAT_FMA), ("BRA", Class.CONTROL), ("EXIT", Class.CONTROL),
    ]  # fmt: skip
    first, second = (SourceLine("engine/variants/ladder/naive.py", number) for number in (33, 48))
    assert [line.source for line in listing.lines if line.kind] == [first] * 3 + [second] * 3


SUBROUTINE = """
        /*0000*/                   CALL.REL.NOINC `($__internal_0_$__cuda_sm20_div_s64) ;
        /*0010*/             @!PT LDS RZ, [RZ] ;
$__internal_0_$__cuda_sm20_div_s64:
        /*0020*/                   MOV R0, R1 ;
"""


def test_that_a_subroutine_has_a_label_that_calls_name_and_what_never_acts_is_no_load():
    lines = sass_listing(SUBROUTINE, "kernel", "sm_90").lines
    assert lines[0].target == lines[2].label == "$__internal_0_$__cuda_sm20_div_s64"
    assert lines[1].kind is Class.OTHER
