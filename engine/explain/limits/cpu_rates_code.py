"""The compiled part of `engine.explain.limits.measured_cpu`: multiply-adds in registers, and copies."""

from numba import types

from engine.compiled.entry_point import entry_point
from engine.device.threads.descriptors import SELF, TAKEN
from engine.device.threads.shared_call import add, finish, share
from engine.explain.limits.cpu_work_code import CHAINS, COPIED_VECTORS, STEPS
from engine.variants.ir.cpu_vectors import VECTOR, cpu_function
from engine.variants.ir.value import in_pairs


@cpu_function(types.void)
def _chains(code, operands, target, rounds):
    """Do `rounds` times STEPS multiply-adds of vectors in each of CHAINS registers; store their sum."""
    values = code.pointer(operands)
    x, y = code.splat(values.load()), code.splat((values + 1).load())

    def round_of(carried):
        sums, left = carried
        for _ in range(STEPS):
            sums = [code.fma(one, x, y) for one in sums]
        return [sums, left - 1], left > 1

    # Chains that began alike would be one.
    start = [code.splat((values + number).load()) for number in range(CHAINS)]
    sums, _ = code.do_while([start, rounds], round_of)
    code.store(in_pairs(sums, lambda a, b: a + b), code.at_address(target, operands))


@cpu_function(types.void)
def _copied(code, operands, source, target, floats, past_cache):
    """Copy floats, a multiple of what a round copies, between addresses that are multiples of a vector."""
    source, target = code.at_address(source, operands), code.at_address(target, operands)
    step = COPIED_VECTORS * VECTOR

    def all_of_them(is_past):
        def body(at):
            vectors = [code.load(source, at + n * VECTOR) for n in range(COPIED_VECTORS)]
            for n, vector in enumerate(vectors):
                code.store(vector, target, at + n * VECTOR, past_cache=is_past)

        code.stride(code.index(0), floats, step, body, step)

    code.when(code.flag(past_cache), lambda: all_of_them(True), lambda: all_of_them(False))


def multiply_adds(sums, unused, operands, rounds, pieces, task):
    """Do pieces of work, each with a cache line for its result, on as many threads as take part."""
    entry_point()
    worker = share(task)
    while True:
        piece = add(task[SELF], TAKEN, 1)
        if piece >= pieces:
            break
        _chains(operands, sums + 64 * piece, rounds)
    finish(task, worker)


def copies(source, target, operands, piece_floats, pieces, rounds, past_cache, task):
    """Copy all pieces, and again in each round, on as many threads as take part."""
    entry_point()
    worker = share(task)
    while True:
        number = add(task[SELF], TAKEN, 1)
        if number >= pieces * rounds:
            break
        first = 4 * piece_floats * (number % pieces)
        _copied(operands, source + first, target + first, piece_floats, past_cache)
    finish(task, worker)


def cached_copies(source, target, operands, piece_floats, pieces, rounds, past_cache, task):
    """Copy each piece `rounds` times, on as many threads as take part: it stays in the cache of one core."""
    entry_point()
    worker = share(task)
    while True:
        number = add(task[SELF], TAKEN, 1)
        if number >= pieces:
            break
        first = 4 * piece_floats * number
        for _ in range(rounds):
            _copied(operands, source + first, target + first, piece_floats, past_cache)
    finish(task, worker)
