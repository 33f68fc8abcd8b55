"""What nvdisasm writes, read as a listing."""

from engine.explain.code.instruction_classes import InstructionClass as Class
from engine.explain.code.kernel_listing import sass_listing
from engine.explain.code.listing import SourceLine

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
