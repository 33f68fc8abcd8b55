"""The fewest instructions that warps execute, of listings written by hand."""

import pytest

from engine.explain.bounds.issued import issues, multiply_adds, tensor_multiply_adds
from engine.explain.bounds.least_work import ExecutedCode, instruction
from engine.explain.code.listing import Form
from tests.engine.explain.bounds.hand_made import counted, loads, loop, ptx, sass

WARPS = 10


def least(listing, found=None, weigh=instruction, warps=WARPS):
    """Return the least for each warp."""
    return ExecutedCode(listing, found or counted(), warps).least(weigh) / warps


def test_that_each_warp_executes_straight_code_once():
    assert least(sass("MOV R0, R1\nFADD R0, R0, R0\nEXIT")) == pytest.approx(3)


def test_that_of_two_ways_the_shorter_counts_and_what_follows_both_counts_in_full():
    listing = sass("""
        ISETP.GE.AND P0, PT, R0, R1, PT
        @P0 BRA `(.L_x_1)
        FADD R0, R0, R0
        FADD R0, R0, R0
        BRA `(.L_x_2)
        .L_x_1:
        MOV R0, R1
        .L_x_2:
        FADD R0, R0, R0
        EXIT
    """)
    # A comparison and its branch, a move, an addition and the end.
    assert least(listing) == pytest.approx(5)


def test_that_warps_whose_threads_part_execute_both_ways():
    listing = sass("""
        @P0 BRA `(.L_x_1)
        line 7
        LDG.E R0, [R2.64]
        BRA `(.L_x_2)
        .L_x_1:
        line 9
        LDG.E R0, [R4.64]
        .L_x_2:
        EXIT
    """)
    assert least(listing, counted(loads(7, WARPS), loads(9, WARPS))) == pytest.approx(5)


def test_that_an_early_exit_leaves_the_rest_to_the_warps_that_ask_for_memory():
    listing = sass("@P0 EXIT\nFADD R0, R0, R0\nline 7\nLDG.E R0, [R2.64]\nEXIT")
    # All begin; four warps of ten go on.
    assert least(listing, counted(loads(7, 4))) == pytest.approx(1 + 0.4 * 3)


def test_that_a_guarded_load_may_be_executed_by_warps_that_ask_for_nothing():
    listing = sass("line 7\n@P0 LDG.E R0, [R2.64]\nEXIT")
    assert least(listing, counted(loads(7, 4))) == pytest.approx(2)


UNROLLED = """
    MOV R0, RZ
    .L_x_1:
    line 33
    LDG.E R1, [R2.64]
    FFMA R0, R1, R4, R0
    LDG.E R1, [R2.64+0x4]
    FFMA R0, R1, R4, R0
    LDG.E R1, [R2.64+0x8]
    FFMA R0, R1, R4, R0
    LDG.E R1, [R2.64+0xc]
    FFMA R0, R1, R4, R0
    @P0 BRA `(.L_x_1)
    .L_x_2:
    LDG.E R1, [R2.64]
    FFMA R0, R1, R4, R0
    @P1 BRA `(.L_x_2)
    EXIT
"""


def test_that_only_whole_rounds_of_an_unrolled_loop_run():
    rounds = 11
    found = counted(loads(33, rounds * WARPS, 32, 1.0), loops=[loop(32, (rounds, WARPS))])
    # Two rounds of four, and three alone.
    assert least(sass(UNROLLED), found) == pytest.approx(1 + 2 * 9 + 3 * 3 + 1)


def test_that_two_loads_of_a_line_in_a_round_are_not_taken_for_an_unrolled_loop():
    rounds = 9
    listing = sass("""
        MOV R0, RZ
        .L_x_1:
        line 33
        LDG.E R1, [R2.64]
        LDG.E R3, [R4.64]
        FFMA R0, R1, R3, R0
        @P0 BRA `(.L_x_1)
        EXIT
    """)
    found = counted(loads(33, 2 * rounds * WARPS, 32, 2.0), loops=[loop(32, (rounds, WARPS))])
    assert least(listing, found) == pytest.approx(1 + rounds * 4 + 1)


def test_that_a_loop_called_from_two_loops_goes_round_as_often_as_the_longer_needs():
    listing = sass("""
        MOV R0, RZ
        .L_x_1:
        line 33
        LDG.E R1, [R2.64]
        @P0 BRA `(.L_x_1)
        EXIT
    """)
    found = counted(
        loads(33, 7 * WARPS, 32, 1.0), loops=[loop(32, (7, WARPS), outer=10), loop(32, (0, WARPS), outer=20)]
    )
    assert least(listing, found) == pytest.approx(1 + 7 * 2 + 1)


def test_that_each_warp_comes_to_the_barriers_that_were_counted():
    listing = sass("""
        .L_x_1:
        BAR.SYNC.DEFER_BLOCKING 0x0
        @P0 BRA `(.L_x_1)
        EXIT
    """)
    assert least(listing, counted(barriers=3 * WARPS)) == pytest.approx(3 * 2 + 1)


def test_that_a_subroutine_is_executed_for_each_call():
    listing = sass("""
        CALL.REL.NOINC `($__internal_0_$__cuda_sm20_div_s64)
        CALL.REL.NOINC `($__internal_0_$__cuda_sm20_div_s64)
        EXIT
        $__internal_0_$__cuda_sm20_div_s64:
        FADD R0, R0, R0
        RET.REL.NODEC R6 `(_ZN6kernel)
    """)
    assert least(listing) == pytest.approx(3 + 2 * 2)


def test_that_a_load_that_the_compiler_took_out_of_its_loop_forces_no_rounds():
    listing = sass("""
        line 33
        LDG.E R1, [R2.64]
        .L_x_1:
        line 34
        FFMA R0, R1, R4, R0
        @P0 BRA `(.L_x_1)
        EXIT
    """)
    found = counted(loads(33, 9 * WARPS, 32, 1.0), loops=[loop(32, (9, WARPS))])
    assert least(listing, found) == pytest.approx(1 + 2 + 1)


def test_that_ptx_with_one_end_is_bounded_too():
    listing = ptx("""
        setp.ge.s32 %p1, %r1, %r2;
        @%p1 bra $L__BB0_2;
        fma.rn.f32 %f1, %f2, %f3, %f1;
        bra.uni $L__BB0_2;
        $L__BB0_2:
        ret;
    """)
    assert least(listing, weigh=issues(Form.PTX)) == pytest.approx(3)


@pytest.mark.parametrize(
    ("code", "slots"),
    [
        ("mul.lo.s64 %rd1, %rd2, %rd3;", 4),
        ("mul.wide.s32 %rd1, %r2, %r3;", 1),
        ("setp.lt.s64 %p1, %rd1, %rd2;", 2),
        ("setp.lt.s32 %p1, %r1, %r2;", 1),
        ("selp.b64 %rd1, %rd2, %rd3, %p1;", 2),
        ("add.s64 %rd1, %rd2, %rd3;", 1),
        ("shl.b64 %rd1, %rd2, 2;", 0),
        ("shl.b32 %r1, %r2, 2;", 1),
        ("mov.u32 %r1, %r2;", 0),
        ("cvt.s64.s32 %rd1, %r1;", 0),
        ("ld.param.u64 %rd1, [kernel_param_0];", 0),
        ("ld.global.f32 %f1, [%rd1];", 1),
    ],
)
def test_that_ptx_is_weighed_by_what_becomes_of_it(code, slots):
    assert least(ptx(f"{code}\nret;"), weigh=issues(Form.PTX)) == pytest.approx(slots + 1)


@pytest.mark.parametrize(("form", "code"), [(sass, "FFMA R0, R1, R2, R0\nEXIT"),
                                            (ptx, "fma.rn.f32 %f1, %f2, %f3, %f1;\nret;")])  # fmt: skip
def test_that_a_multiply_add_takes_its_lanes(form, code):
    listing = form(code)
    assert least(listing, weigh=multiply_adds(listing.form)) == pytest.approx(1)


@pytest.mark.parametrize(
    ("form", "kind", "code", "count"),
    [
        (sass, "float16", "HMMA.16816.F32 R4, R8, R12, R4\nEXIT", 16 * 8 * 16),
        (sass, "int8", "IMMA.16832.S8.S8 R4, R8.ROW, R12.COL, R4\nEXIT", 16 * 8 * 32),
        (sass, "int8", "HMMA.16816.F32 R4, R8, R12, R4\nEXIT", 0),
        (ptx, "float16", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1}, {%r1}, {%r2};\nret;",
         16 * 8 * 16),
    ],
)  # fmt: skip
def test_that_a_tensor_instruction_has_the_multiply_adds_of_its_shape(form, kind, code, count):
    assert least(form(code), weigh=tensor_multiply_adds(kind)) == pytest.approx(count)
