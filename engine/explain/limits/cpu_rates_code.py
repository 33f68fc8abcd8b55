"""The compiled part of `engine.explain.limits.measured_cpu`: what a core does in registers, and copies."""

from numba import types

from engine.compiled.entry_point import entry_point
from engine.device.threads.descriptors import SELF, TAKEN
from engine.device.threads.shared_call import add, finish, row_of, share
from engine.explain.limits.cpu_work_code import (
    CACHED_FLOATS,
    CACHED_VECTORS,
    CHAINS,
    CHANGED,
    COPIED_VECTORS,
    MIXED_INSTRUCTIONS,
    MIXES,
    OPERAND,
    STEPS,
)
from engine.variants.ir.cpu_vectors import VECTOR, cpu_function
from engine.variants.ir.value import I32, in_pairs


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
def _cached_loads(code, operands, target, rounds, at):
    """Load all of CACHED_FLOATS operands from element `at` on, `rounds` times."""
    # As whole numbers: exclusive ors take as many vectors as can be loaded.
    source = code.pointer(operands).pointing_to(I32) + at

    def round_of(carried):
        found, left = carried

        def some(carried):
            found, index = carried
            loaded = [code.unconverted(source, index + n * VECTOR) for n in range(CACHED_VECTORS)]
            found = [one ^ other for one, other in zip(found, loaded, strict=True)]
            return [found, index + CACHED_VECTORS * VECTOR]

        found, _ = code.while_loop([found, code.index(0)], lambda carried: carried[1] < CACHED_FLOATS, some)
        return [found, left - 1], left > 1

    start = [code.unconverted(source, n * VECTOR) for n in range(CACHED_VECTORS)]
    found, _ = code.do_while([start, rounds], round_of)
    code.store(in_pairs(found, lambda a, b: a ^ b).bits_as(code.floats), code.at_address(target, operands))


@cpu_function(types.void)
def _cached_stores(code, operands, rounds):
    """Store into all of CACHED_FLOATS operands, `rounds` times."""
    floats = code.pointer(operands)
    value = code.splat(floats.load())

    def round_of(left):
        def some(index):
            for number in range(CACHED_VECTORS):
                code.store(value, floats, index + number * VECTOR)

        code.stride(code.index(0), code.index(CACHED_FLOATS), CACHED_VECTORS * VECTOR, some, 1)
        return left - 1, left > 1

    code.do_while(rounds, round_of)


def _repeated(mix):
    """Return a function that executes a mix of instructions `rounds` times; nothing where there is none."""
    text = "\n".join(mix * (MIXED_INSTRUCTIONS // max(1, len(mix))))

    @cpu_function(types.void)
    def repeated(code, operands, rounds):
        floats = code.pointer(operands)

        def round_of(left):
            # What a register happens to hold may be subnormal: then each operation takes a hundred clocks.
            code.statement(text, f"r,{{{OPERAND}}},{CHANGED}", [floats, code.splat(floats.load())])
            return left - 1, left > 1

        if text:
            code.do_while(rounds, round_of)

    return repeated


_issued, _with_additions, _with_integers, _with_fewer = (_repeated(mix) for mix in MIXES)


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


def in_registers(sums, unused, operands, what, rounds, pieces, task):
    """Do pieces of work, each with a cache line for its result, on as many threads as take part.

    `operands` has a row per worker; `what` a number of `_Work`.
    """
    entry_point()
    worker = share(task)
    own = row_of(operands, worker)
    while True:
        piece = add(task[SELF], TAKEN, 1)
        if piece >= pieces:
            break
        result = sums + 64 * piece
        if what == 0:
            _chains(own, result, rounds)
        elif what == 1:
            _cached_loads(own, result, rounds, 0)
        elif what == 2:
            _cached_loads(own, result, rounds, 1)
        elif what == 3:
            _cached_stores(own, rounds)
        elif what == 4:
            _issued(own, rounds)
        elif what == 5:
            _with_additions(own, rounds)
        elif what == 6:
            _with_integers(own, rounds)
        else:
            _with_fewer(own, rounds)
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
