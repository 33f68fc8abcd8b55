"""The compiled part of `network-cpu`: threads take a few drawings at a time and compute all their layers."""

from numba import njit

from engine.compiled.entry_point import entry_point
from engine.device.threads.descriptors import TAKEN
from engine.device.threads.shared_call import finish, share
from engine.tasks.network.problem import (
    CLASSES,
    FIRST,
    FIRST_POOLED,
    FIRST_SIDE,
    HIDDEN,
    LINEAR,
    SECOND,
    SECOND_SIDE,
    SIDE,
)
from engine.variants.emit.cpu_vectors import address_of, copy_samples, count_one
from engine.variants.network.cpu_fast import AT_ONCE, GROUP
from engine.variants.network.cpu_tiles import COLUMNS, connected_drawing, connected_drawings, pooled_tile


@njit(inline="always")
def convolve_and_pool(source, pixel_step, row_step, inner, filters, target, maps, side, memory):
    """Store the averages of all maps of `side` x `side` outputs; the rest is as in `pooled_tile`."""
    for group in range(maps // GROUP):
        weights = address_of(filters, group * 5 * inner * GROUP)
        for row in range(0, side, 2):
            cells = source + 4 * row * row_step
            averages = target + 4 * (row // 2 * (side // 2) * maps + group * GROUP)
            for column in range(0, side, COLUMNS):
                pooled_tile(
                    cells + 4 * column * pixel_step, pixel_step, row_step, inner, weights,
                    averages + 2 * column * maps, maps, memory,
                )  # fmt: skip


def forward_drawings(drawings, scores, batch, packed, task, memory, worker_floats, steps):
    """Pass `batch` drawings at an address through the network; their scores go to another address.

    `memory` has `worker_floats` floats for each thread: the maps of one drawing after the first pool, the
    vectors of AT_ONCE drawings, their hidden values, their scores. Of the three `steps`, two convolutions
    and the connected layers, the first ones are computed: to time them.
    """
    entry_point()
    first_filters, second_filters, hidden_weights, output_weights = packed
    worker = share(task)
    own = address_of(memory, worker * worker_floats)
    vectors = own + 4 * FIRST_POOLED * FIRST_POOLED * FIRST
    rows = vectors + 4 * AT_ONCE * LINEAR
    results = rows + 4 * AT_ONCE * HIDDEN
    while True:
        first = count_one(task, TAKEN) * AT_ONCE
        if first >= batch:
            break
        count = min(AT_ONCE, batch - first)
        for number in range(count):
            drawing = drawings + 4 * (first + number) * SIDE * SIDE
            convolve_and_pool(drawing, 1, SIDE, 5, first_filters, own, FIRST, FIRST_SIDE, memory)
            if steps < 2:
                continue
            convolve_and_pool(
                own, FIRST, FIRST_POOLED * FIRST, 5 * FIRST, second_filters, vectors + 4 * number * LINEAR,
                SECOND, SECOND_SIDE, memory,
            )  # fmt: skip
        if steps < 3:
            continue
        for group in range(HIDDEN // GROUP):
            weights = address_of(hidden_weights, group * LINEAR * GROUP)
            target = rows + 4 * group * GROUP
            if count == AT_ONCE:
                connected_drawings(vectors, LINEAR, LINEAR, weights, target, HIDDEN, True, memory)
                continue
            for number in range(count):
                connected_drawing(
                    vectors + 4 * number * LINEAR, LINEAR, LINEAR, weights, target + 4 * number * HIDDEN,
                    HIDDEN, True, memory,
                )  # fmt: skip
        for number in range(count):
            values = rows + 4 * number * HIDDEN
            target = scores + 4 * (first + number) * CLASSES
            for group in range((CLASSES + GROUP - 1) // GROUP):
                weights = address_of(output_weights, group * HIDDEN * GROUP)
                connected_drawing(values, HIDDEN, HIDDEN, weights, results, GROUP, False, memory)
                done = group * GROUP
                copy_samples(target + 4 * done, results, min(GROUP, CLASSES - done), memory)
    finish(task, worker)
