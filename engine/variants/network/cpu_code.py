"""The compiled part of `network-cpu`: threads take a few drawings at a time and compute all their layers."""

from numba import njit

from engine.compiled.entry_point import entry_point
from engine.device.threads.descriptors import TAKEN
from engine.device.threads.shared_call import finish, share
from engine.variants.ir.cpu_memory import address_of, copy_samples, count_one
from engine.variants.network.cpu_fast import GROUP
from engine.variants.network.cpu_tiles import (
    COLUMNS,
    DRAWINGS,
    connected_drawing,
    connected_drawings,
    pooled_pair,
    pooled_tile,
)


@njit(inline="always")
def convolve_and_pool(source, pixel_step, row_step, inner, filters, target, maps, side, memory):
    """Store the averages of all maps of `side` x `side` outputs; the rest is as in `_pooled_tile`."""
    for group in range(maps // GROUP):
        weights = address_of(filters, group * 5 * inner * GROUP)
        for row in range(0, side, 2):
            cells = source + 4 * row * row_step
            averages = target + 4 * (row // 2 * (side // 2) * maps + group * GROUP)
            column = 0
            while column + COLUMNS <= side:
                pooled_tile(
                    cells + 4 * column * pixel_step, pixel_step, row_step, inner, weights,
                    averages + 2 * column * maps, maps, memory,
                )  # fmt: skip
                column += COLUMNS
            while column < side:
                pooled_pair(
                    cells + 4 * column * pixel_step, pixel_step, row_step, inner, weights,
                    averages + 2 * column * maps, maps, memory,
                )  # fmt: skip
                column += 2


def forward_drawings(drawings, scores, sizes, packed, task, memory, worker_floats, steps):
    """Pass `batch` drawings at an address through the network; their scores go to another address.

    Of the sizes `first_values`, `second_values`, `hidden_values` are maps and values of a layer, rounded up
    to GROUP.
    `memory` has `worker_floats` floats for each thread: the maps of one drawing after the first pool, the
    vectors of `at_once` drawings, their hidden values, their scores. Of the three `steps`, two convolutions
    and the connected layers, the first ones are computed: to time them.
    """
    entry_point()
    batch, at_once, side, first_values, second_values, hidden, classes, hidden_values = sizes
    first_filters, second_filters, hidden_weights, output_weights = packed
    worker = share(task)
    first_side = side - 4
    pooled = first_side // 2
    second_side = pooled - 4
    pooled_2 = second_side // 2
    linear = pooled_2 * pooled_2 * second_values
    own = address_of(memory, worker * worker_floats)
    vectors = own + 4 * pooled * pooled * first_values
    rows = vectors + 4 * at_once * linear
    results = rows + 4 * at_once * hidden_values
    while True:
        first = count_one(task, TAKEN) * at_once
        if first >= batch:
            break
        count = min(at_once, batch - first)
        for number in range(count):
            drawing = drawings + 4 * (first + number) * side * side
            convolve_and_pool(drawing, 1, side, 5, first_filters, own, first_values, first_side, memory)
            if steps < 2:
                continue
            convolve_and_pool(
                own, first_values, pooled * first_values, 5 * first_values, second_filters,
                vectors + 4 * number * linear, second_values, second_side, memory,
            )  # fmt: skip
        if steps < 3:
            continue
        for group in range(hidden_values // GROUP):
            weights = address_of(hidden_weights, group * linear * GROUP)
            target = rows + 4 * group * GROUP
            number = 0
            while number + DRAWINGS <= count:
                connected_drawings(
                    vectors + 4 * number * linear, linear, linear, weights,
                    target + 4 * number * hidden_values, hidden_values, True, memory,
                )  # fmt: skip
                number += DRAWINGS
            while number < count:
                connected_drawing(
                    vectors + 4 * number * linear, linear, linear, weights,
                    target + 4 * number * hidden_values, hidden_values, True, memory,
                )  # fmt: skip
                number += 1
        for number in range(count):
            values = rows + 4 * number * hidden_values
            target = scores + 4 * (first + number) * classes
            for group in range((classes + GROUP - 1) // GROUP):
                weights = address_of(output_weights, group * hidden * GROUP)
                connected_drawing(values, hidden_values, hidden, weights, results, GROUP, False, memory)
                done = group * GROUP
                copy_samples(target + 4 * done, results, min(GROUP, classes - done), memory)
    finish(task, worker)
