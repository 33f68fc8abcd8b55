"""The blocks of a listing, where each goes on, and the loops."""

import pytest

from engine.explain.bounds.control_flow import code_blocks, code_loops
from tests.engine.explain.bounds.hand_made import ptx, sass


def ways(listing):
    """Return the numbers of the blocks that may follow each block."""
    return [block.next for block in code_blocks(listing)]


def loops_of(listing):
    """Return the first block of each loop, with all of its blocks."""
    return {one.first: sorted(one.blocks) for one in code_loops(code_blocks(listing))}


@pytest.mark.parametrize(
    ("branch", "next_blocks"),
    [
        ("BRA `(.L_x_1)", (2,)),
        ("@!PT BRA `(.L_x_1)", (2, 1)),
        ("@P0 BRA `(.L_x_1)", (2, 1)),
        ("@!UP0 BRA `(.L_x_1)", (2, 1)),
        ("BRA.U !UP0, `(.L_x_1)", (2, 1)),
        ("BRA P1, `(.L_x_1)", (2, 1)),
        ("BRA.DIV UR4, `(.L_x_1)", (2, 1)),
        ("EXIT", ()),
        ("@P0 EXIT", (1,)),
    ],
)
def test_that_sass_goes_on_behind_a_branch_only_where_it_is_a_choice(branch, next_blocks):
    assert ways(sass(f"{branch}\nMOV R0, R1\n.L_x_1:\nFADD R0, R0, R0\nEXIT"))[0] == next_blocks


@pytest.mark.parametrize(
    ("branch", "next_blocks"),
    [
        ("bra.uni $L__BB0_1;", (2,)),
        ("bra $L__BB0_1;", (2,)),
        ("@%p1 bra $L__BB0_1;", (2, 1)),
        ("@!%p12 bra $L__BB0_1;", (2, 1)),
        ("ret;", ()),
        ("@%p1 ret;", (1,)),
    ],
)
def test_that_ptx_goes_on_behind_a_branch_only_where_it_is_a_choice(branch, next_blocks):
    listing = ptx(f"{branch}\nmov.u32 %r1, %r2;\n$L__BB0_1:\nadd.f32 %f1, %f1, %f1;\nret;")
    assert ways(listing)[0] == next_blocks


def test_that_a_barrier_does_not_end_a_block():
    assert ways(ptx("st.shared.f32 [%r1], %f1;\nbar.sync 0;\nadd.f32 %f1, %f1, %f1;\nret;")) == [()]


def test_that_threads_may_end_in_the_middle_where_an_exit_is_guarded():
    assert [block.is_end for block in code_blocks(sass("@P0 EXIT\nMOV R0, R1\nEXIT"))] == [True, True]


def test_that_a_subroutine_is_called_and_returns_to_no_block():
    listing = sass("""
        MOV R0, R1
        CALL.REL.NOINC `($__internal_0_$__cuda_sm20_div_s64)
        EXIT
        $__internal_0_$__cuda_sm20_div_s64:
        FADD R0, R0, R0
        RET.REL.NODEC R6 `(_ZN6kernel)
    """)
    blocks = code_blocks(listing)
    assert [(one.next, one.calls) for one in blocks] == [((1,), 2), ((), None), ((), None)]


def test_that_a_loop_has_the_blocks_that_lead_back_to_its_first():
    listing = sass("""
        MOV R0, R1
        .L_x_1:
        @P0 BRA `(.L_x_2)
        FADD R0, R0, R0
        .L_x_2:
        IADD3 R2, R2, 0x1, RZ
        @P1 BRA `(.L_x_1)
        EXIT
    """)
    assert loops_of(listing) == {1: [1, 2, 3]}


def test_that_loops_within_loops_are_told_apart():
    listing = sass("""
        .L_x_1:
        MOV R0, R1
        .L_x_2:
        FADD R0, R0, R0
        @P0 BRA `(.L_x_2)
        @P1 BRA `(.L_x_1)
        EXIT
    """)
    assert loops_of(listing) == {0: [0, 1, 2], 1: [1]}


def test_that_a_block_out_of_line_belongs_to_the_loop_that_it_leads_back_into():
    listing = sass("""
        .L_x_1:
        @P0 BRA `(.L_x_3)
        .L_x_2:
        FADD R0, R0, R0
        @P1 BRA `(.L_x_1)
        EXIT
        .L_x_3:
        MOV R0, R1
        BRA `(.L_x_2)
    """)
    # The rare way, block 3, stands behind the end; that it leads back makes no loop of its own.
    assert loops_of(listing) == {0: [0, 1, 3]}


def test_that_a_branch_back_from_code_put_aside_is_no_loop():
    listing = sass("""
        @P0 BRA `(.L_x_2)
        .L_x_1:
        FADD R0, R0, R0
        EXIT
        .L_x_2:
        MOV R0, R1
        BRA `(.L_x_1)
    """)
    assert loops_of(listing) == {}
