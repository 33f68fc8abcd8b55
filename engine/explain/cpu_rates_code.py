"""The compiled part of `engine.explain.measured_cpu`: what a core does at most, and copies.

What computes is emitted (`engine.variants.emit`) for the processor's own vectors: its chains do not wait for
one another, and nothing can be combined or left out.
"""

import numpy as np
from llvmlite import ir

from engine.compiled.entry_point import entry_point
from engine.compiled.late_names import late_njit
from engine.device.thread_code import add, finish, row_of, share
from engine.device.thread_pool import SELF, TAKEN
from engine.variants.cpu.register_tiles import BUSY_SUMS
from engine.variants.emit.cpu_vectors import VECTOR, cpu_function
from engine.variants.emit.value import I32, in_pairs

_COPIED_VECTORS = 4
# Vectors that are loaded or stored in a round.
_CACHED_VECTORS = 8


@cpu_function("void")
def _multiply_adds(code, operands, target, rounds):
    """Do `rounds` times a multiply-add of vectors in each of BUSY_SUMS registers; store their sum."""
    values = code.pointer(operands)
    x, y = code.splat(values.load()), code.splat((values + 1).load())

    def round_of(carried):
        sums, left = carried
        return [[code.fma(one, x, y) for one in sums], left - 1], left > 1

    # Chains that began alike would be one.
    start = [code.splat((values + number).load()) for number in range(BUSY_SUMS)]
    sums, _ = code.do_while([start, rounds], round_of)
    code.store(in_pairs(sums, lambda a, b: a + b), code.at_address(target, operands))


@cpu_function("void")
def _operations(code, operands, target, rounds):
    """Do 40 multiply-adds and 40 operations of integers with vectors a round; store their sum.

    15 chains and what they read are in registers; with others (8 and 7, 8 and 4, 16 and 6) some units of
    Zen 5 wait.
    """
    values, bits = code.pointer(operands), ir.VectorType(I32, VECTOR)
    x = code.splat(values.load())

    def round_of(carried):
        products, words, left = carried
        for _ in range(4):
            products = [code.fma(one, x, x) for one in products]
            # Two operations that cannot be made one.
            words = [(one ^ x.bits_as(bits)) + x.bits_as(bits) for one in words]
        return [products, words, left - 1], left > 1

    vectors = [code.splat((values + number).load()) for number in range(15)]
    words = [one.bits_as(bits) for one in vectors[10:]]
    products, words, _ = code.do_while([vectors[:10], words, rounds], round_of)
    every = products + [one.bits_as(x.llvm.type) for one in words]
    code.store(in_pairs(every, lambda a, b: a + b), code.at_address(target, operands))


@cpu_function("void")
def _cached_loads(code, operands, target, rounds, floats):
    """Load so many operands, whole vectors, `rounds` times."""
    # As whole numbers: exclusive ors take as many vectors as can be loaded.
    source = code.pointer(operands).pointing_to(I32)

    def round_of(carried):
        found, left = carried

        def some(carried):
            found, index = carried
            loaded = [code.unconverted(source, index + n * VECTOR) for n in range(_CACHED_VECTORS)]
            found = [one ^ other for one, other in zip(found, loaded, strict=True)]
            return [found, index + _CACHED_VECTORS * VECTOR]

        found, _ = code.while_loop([found, code.index(0)], lambda carried: carried[1] < floats, some)
        return [found, left - 1], left > 1

    start = [code.unconverted(source, n * VECTOR) for n in range(_CACHED_VECTORS)]
    found, _ = code.do_while([start, rounds], round_of)
    code.store(in_pairs(found, lambda a, b: a ^ b).bits_as(code.floats), code.at_address(target, operands))


@cpu_function("void")
def _cached_stores(code, operands, rounds, floats):
    """Store into so many operands, whole vectors, `rounds` times."""
    target = code.pointer(operands)
    value = code.splat(target.load())

    def round_of(left):
        def some(index):
            for number in range(_CACHED_VECTORS):
                code.store(value, target, index + number * VECTOR)

        code.stride(code.index(0), floats, _CACHED_VECTORS * VECTOR, some, 1)
        return left - 1, left > 1

    code.do_while(rounds, round_of)


@late_njit(inline="always")
def _textbook(samples, weights, rounds, count, taps, step):
    """Sum as the textbook loops do: one multiply-add at a time, `taps` for each sum.

    LLVM does not know how often the loop runs, and makes no vectors of it.
    """
    first = count // 2
    for _ in range(rounds):
        for sample in range(first - taps):
            total = np.float32(0.0)
            at, weight, end = sample, first, sample + taps * step
            while at < end:
                total += np.float32(samples[np.uintp(at)]) * weights[np.uintp(weight)]
                at, weight = at + step, weight + 1
            # Not as far from a weight as pages are: processors would take its load for one of this.
            weights[np.uintp(count + 32)] = total


@cpu_function("void")
def _copied(code, operands, source, target, floats, past_cache):
    """Copy floats, a multiple of what a round copies, between addresses that are multiples of a vector."""
    source, target = code.at_address(source, operands), code.at_address(target, operands)
    step = _COPIED_VECTORS * VECTOR

    def all_of_them(is_past):
        def body(at):
            vectors = [code.load(source, at + n * VECTOR) for n in range(_COPIED_VECTORS)]
            for n, vector in enumerate(vectors):
                code.store(vector, target, at + n * VECTOR, past_cache=is_past)

        code.stride(code.index(0), floats, step, body, step)

    code.when(code.flag(past_cache), lambda: all_of_them(True), lambda: all_of_them(False))


def in_registers(sums, unused, operands, data, how, pieces, task):
    """Do pieces of work, each with a cache line for its result, on as many threads as take part.

    `operands` has a row per worker, `data` has samples of 8 bit. `how` has the number of a `_Work`, its
    rounds, the operands that it goes through in a round, the taps of a sum, and 1.
    """
    entry_point()
    what, rounds, count, taps, step = how
    worker = share(task)
    own = row_of(operands, worker)
    while True:
        piece = add(task[SELF], TAKEN, 1)
        if piece >= pieces:
            break
        result = sums + 64 * piece
        if what == 0:
            _multiply_adds(own, result, rounds)
        elif what == 1:
            _operations(own, result, rounds)
        elif what == 2:
            _cached_loads(own, result, rounds, count)
        elif what == 3:
            _cached_stores(own, rounds, count)
        elif what == 4:
            _textbook(own, own, rounds, count, taps, step)
        else:
            _textbook(data, own, rounds, count, taps, step)
    finish(task, worker)


def copies(source, target, operands, piece_floats, pieces, rounds, times, past_cache, task):
    """Copy all pieces, and again in each round, on as many threads as take part; each so many times at once.

    A piece that is copied many times at once stays in the cache of one core.
    """
    entry_point()
    worker = share(task)
    while True:
        number = add(task[SELF], TAKEN, 1)
        if number >= pieces * rounds:
            break
        first = 4 * piece_floats * (number % pieces)
        for _ in range(times):
            _copied(operands, source + first, target + first, piece_floats, past_cache)
    finish(task, worker)
