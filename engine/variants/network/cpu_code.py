"""The compiled part of `network-cpu`: threads take a few drawings at a time and compute all their layers."""

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
            for group in range(first_values // GROUP):
                filters = address_of(first_filters, group * 25 * GROUP)
                for row in range(0, first_side, 2):
                    source = drawing + 4 * row * side
                    target = own + 4 * (row // 2 * pooled * first_values + group * GROUP)
                    column = 0
                    while column + COLUMNS <= first_side:
                        pooled_tile(
                            source + 4 * column, 1, side, 5, filters,
                            target + 2 * column * first_values, first_values, memory,
                        )  # fmt: skip
                        column += COLUMNS
                    while column < first_side:
                        pooled_pair(
                            source + 4 * column, 1, side, 5, filters,
                            target + 2 * column * first_values, first_values, memory,
                        )  # fmt: skip
                        column += 2
            if steps < 2:
                continue
            inner = 5 * first_values
            vector = vectors + 4 * number * linear
            for group in range(second_values // GROUP):
                filters = address_of(second_filters, group * 5 * inner * GROUP)
                for row in range(0, second_side, 2):
                    source = own + 4 * row * pooled * first_values
                    target = vector + 4 * (row // 2 * pooled_2 * second_values + group * GROUP)
                    column = 0
                    while column + COLUMNS <= second_side:
                        pooled_tile(
                            source + 4 * column * first_values, first_values, pooled * first_values, inner,
                            filters, target + 2 * column * second_values, second_values, memory,
                        )  # fmt: skip
                        column += COLUMNS
                    while column < second_side:
                        pooled_pair(
                            source + 4 * column * first_values, first_values, pooled * first_values, inner,
                            filters, target + 2 * column * second_values, second_values, memory,
                        )  # fmt: skip
                        column += 2
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
