"""Instructions as they are written: classes, loops, what a tap costs; and what nvdisasm writes."""

from engine.explain.code_lines import SourceLine, counted, loops
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


def test_that_a_ptx_instruction_has_the_class_of_what_it_does():
    for opcode, kind in [
        ("add.s64", Class.INTEGER_64),
        ("mul.wide.s32", Class.INTEGER_64),
        ("mad.lo.s32", Class.INTEGER_32),
        ("min.u16", Class.INTEGER_32),
        ("add.f32", Class.FLOAT_ADD),
        ("mul.f32", Class.FLOAT_MULTIPLY),
        ("fma.rn.f32", Class.FLOAT_FMA),
        ("max.f32", Class.FLOAT_OTHER),
        ("add.f64", Class.FLOAT_64),
        ("fma.rn.f16x2", Class.FLOAT_OTHER),
        ("ld.global.nc.f32", Class.LOAD_GLOBAL),
        ("ld.shared.v4.f32", Class.LOAD_SHARED),
        ("ld.param.u64", Class.LOAD_PARAMETER),
        ("st.global.v4.f32", Class.STORE_GLOBAL),
        ("cvta.to.global.u64", Class.CONVERSION),
        ("setp.lt.s64", Class.CONTROL),
        ("and.pred", Class.CONTROL),
        ("bar.sync", Class.BARRIER),
        ("selp.b64", Class.MOVE),
        ("cp.async.cg.shared.global", Class.COPY),
        ("cp.async.wait_group", Class.BARRIER),
        ("atom.global.add.u32", Class.ATOMIC),
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", Class.TENSOR),
    ]:
        assert ptx_class(opcode) is kind


def test_that_a_sass_instruction_has_the_class_of_what_it_does():
    for opcode, operands, kind in [
        ("IMAD.WIDE", "R2, R7, UR4, R2", Class.INTEGER_64),
        ("IADD3", "R4, P0, R2, R6, RZ", Class.INTEGER_64),
        ("IADD3.X", "R5, R3, R7, RZ, P0, !PT", Class.INTEGER_64),
        ("IADD3", "R4, R2, R6, RZ", Class.INTEGER_32),
        ("UIADD3", "UR14, UP1, UR15, UR4, URZ", Class.INTEGER_64),
        ("IMAD.MOV.U32", "R2, RZ, RZ, RZ", Class.MOVE),
        ("LOP3.LUT", "R2, R3, 0x3, RZ, 0xc0, !PT", Class.INTEGER_32),
        ("FFMA", "R0, R1, R2, R0", Class.FLOAT_FMA),
        ("MUFU.RCP", "R0, R1", Class.FLOAT_OTHER),
        ("LDG.E.CONSTANT", "R0, [R2.64]", Class.LOAD_GLOBAL),
        ("LDS.128", "R4, [R2]", Class.LOAD_SHARED),
        ("LDC", "R1, c[0x0][0x28]", Class.LOAD_PARAMETER),
        ("LDC", "R1, c[0x3][R2]", Class.LOAD_CONSTANT),
        ("LDGSTS.E.BYPASS.128", "[R2], [R4.64]", Class.COPY),
        ("HMMA.16816.F32", "R4, R8, R10, R4", Class.TENSOR),
        ("I2F.U8", "R0, R1", Class.CONVERSION),
        ("ISETP.GE.AND", "P0, PT, R0, R1, PT", Class.CONTROL),
        ("BAR.SYNC.DEFER_BLOCKING", "0x0", Class.BARRIER),
        ("S2R", "R0, SR_TID.X", Class.MOVE),
        ("RED.E.ADD", "[R2.64], R0", Class.ATOMIC),
    ]:
        assert sass_class(opcode, operands) is kind


def test_that_what_works_on_64_bit_integers_is_known_whatever_its_class():
    assert [is_ptx_64_bit(one) for one in ("mov.u64", "setp.lt.s64", "ld.global.f32")] == [True, True, False]
    assert is_sass_64_bit("ISETP.GE.AND.EX", "P0, PT, R3, UR7, PT, P0")


def test_that_the_inner_loop_says_what_a_tap_costs():
    listing = ptx_listing(LOOP, "kernel", "sm_90")
    counts = counted(listing)
    assert counts.total == 10
    taps = counts.taps
    assert [listing.lines[at].text.split()[0] for at in (taps.first, taps.last)] == ["$L__BB0_2:", "@%p1"]
    assert (taps.taps, taps.instructions, taps.integer_64) == (2, 2.5, 1.0)
    assert taps.per_tap == {Class.INTEGER_64: 0.5, Class.FLOAT_FMA: 1.0, Class.CONTROL: 1.0}


def test_that_a_branch_back_is_a_loop_and_one_ahead_is_none():
    listing = ptx_listing(LOOP, "kernel", "sm_90")
    assert [listing.lines[last].text.split()[0] for last in loops(listing).values()] == ["@%p1", "@%p2"]


def test_that_places_name_files_from_the_root_of_the_program_on():
    (found,) = ptx_listing(LOOP.replace("\\\\", "/"), "kernel", "sm_90").sources()
    assert found == ("engine/variants/x.py", 7)


def test_that_the_entry_has_the_name_of_the_kernel():
    listing = ptx_listing(LOOP, "kernel", "sm_90")
    assert ".visible .entry kernel(" in listing.text
    assert "[kernel_param_0]" in listing.text


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
    assert [line.opcode for line in listing.instructions] == [
        "LDC",
        "IADD3",
        "IADD3.X",
        "FFMA",
        "BRA",
        "EXIT",
    ]
    assert [line.kind for line in listing.instructions] == [
        Class.LOAD_PARAMETER, Class.INTEGER_64, Class.INTEGER_64, Class.FLOAT_FMA, Class.CONTROL,
        Class.CONTROL,
    ]  # fmt: skip
    assert listing.sources() == {
        SourceLine("engine/variants/ladder/naive.py", 33): (0, 1, 3),
        SourceLine("engine/variants/ladder/naive.py", 48): (4, 5, 6),
    }


def test_that_an_instruction_that_never_acts_is_no_load():
    (listed,) = sass_listing("        /*0000*/    @!PT LDS RZ, [RZ] ;", "kernel", "sm_90").instructions
    assert listed.kind is Class.OTHER


def test_that_a_subroutine_has_a_label_that_calls_name():
    listing = sass_listing(
        """
        /*0000*/                   CALL.REL.NOINC `($__internal_0_$__cuda_sm20_div_s64) ;
        /*0010*/                   EXIT ;
$__internal_0_$__cuda_sm20_div_s64:
        /*0020*/                   MOV R0, R1 ;
""",
        "kernel",
        "sm_90",
    )
    assert listing.lines[0].target == listing.lines[2].label == "$__internal_0_$__cuda_sm20_div_s64"
