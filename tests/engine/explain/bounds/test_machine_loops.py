"""Loops are found in the assembly of the CPU, and the least that a round of them executes."""

import pytest

from engine.explain.bounds.machine_loops import Instruction, functions

SUM = """
sum_of:
	testq	%rsi, %rsi
	jle	.LBB0_4
	xorl	%eax, %eax
	.p2align	4
.LBB0_2:
	vmovups	(%rdi,%rax,4), %ymm1
	testq	%rdx, %rdx
	je	.LBB0_3
	vaddps	%ymm1, %ymm2, %ymm2
	vaddps	%ymm1, %ymm2, %ymm2
.LBB0_3:
	vfmadd231ps	%ymm1, %ymm0, %ymm2
	addq	$8, %rax
	cmpq	%rax, %rsi
	jne	.LBB0_2
.LBB0_4:
	retq
.Lfunc_end0:
"""
NEST = """
nest:
.LBB1_1:
	movq	$4, %rcx
.LBB1_2:
	vmulss	(%rdi), %xmm0, %xmm1
	movabsq	$helper, %rax
	callq	*%rax
	decq	%rcx
	jne	.LBB1_2
	addq	$4, %rdi
	decq	%rsi
	jne	.LBB1_1
	retq
.Lfunc_end1:
helper:
	testq	%rdi, %rdi
	js	.LBB2_2
	retq
.LBB2_2:
	xorl	%eax, %eax
	xorl	%edx, %edx
	retq
.Lfunc_end2:
"""


def loop_of(assembly, header):
    """Return a function of some assembly and its loop of that label."""
    for function in functions(assembly).values():
        for loop in function.loops:
            if loop.header == header:
                return function, loop
    raise AssertionError(header)


def test_that_a_comparison_and_its_branch_are_issued_as_one():
    # A load, a test with its branch, a multiply-add, an addition, a comparison with its branch.
    assert (lambda function, loop: function.least_issued(loop))(*loop_of(SUM, ".LBB0_2")) == 5


def test_that_of_several_ways_through_a_round_the_shortest_counts():
    function, loop = loop_of(SUM, ".LBB0_2")
    assert function.least(loop, lambda one: one.name == "vaddps") == 0


def test_that_the_most_of_a_round_has_all_of_its_ways():
    function, loop = loop_of(SUM, ".LBB0_2")
    assert function.most(loop, lambda one: one.name == "vaddps") == 2


def test_that_a_round_does_not_have_what_the_loops_within_it_execute():
    function, loop = loop_of(NEST, ".LBB1_1")
    # A move, an addition, a decrement with its branch.
    assert function.least_issued(loop) == 3


def test_that_a_loop_knows_those_within_it():
    _, loop = loop_of(NEST, ".LBB1_1")
    assert [one.header for one in loop.inner] == [".LBB1_2"]


def test_that_what_a_called_function_executes_belongs_to_a_round():
    function, loop = loop_of(NEST, ".LBB1_2")
    # A product, an address, a call, a decrement with its branch; a test with its branch, a return.
    assert function.least_issued(loop) == 4 + 2


@pytest.mark.parametrize(
    ("name", "operands", "share"),
    [
        ("vfmadd231ps", "%zmm1, %zmm0, %zmm2", 1.0),
        ("vcvtdq2ps", "%zmm1, %zmm1", 1.0),
        ("vpmovzxbw", "(%rdi), %ymm1", 0.5),
        ("vmovups", "(%rdi), %zmm1", 0.0),
        ("vbroadcastss", "(%rdi), %zmm1", 0.0),
        ("vxorps", "%xmm6, %xmm6, %xmm6", 0.0),
        ("addq", "$4, %rdi", 0.0),
    ],
)
def test_that_only_computations_with_vectors_are_vector_operations(name, operands, share):
    assert Instruction(name, operands).vector_share(16) == share


@pytest.mark.parametrize(
    ("name", "operands", "reads"),
    [
        ("vmovups", "(%rdi), %zmm1", True),
        ("vaddps", "64(%rdi,%rax,4), %zmm1, %zmm1", True),
        ("vfmadd231ps", "-4(%r12){1to16}, %zmm11, %zmm6", False),
        ("vmovups", "%zmm1, (%rdi)", False),
        ("leaq", "(%rdi,%rax), %rcx", False),
    ],
)
def test_that_a_load_of_a_whole_operand_is_told_from_a_broadcast_and_a_store(name, operands, reads):
    assert Instruction(name, operands).reads_memory == reads
