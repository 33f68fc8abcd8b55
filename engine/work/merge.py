"""Linear neighbours as one mask: masks after masks, and sums, differences and blends of them.

Away from the edges a chain of linear steps is one mask: a mask after another is their convolution, a weighted
sum of masks of one input is the weighted sum of their weights, and the input itself is a single 1. Within a
frame, as wide as the masks before reach, the results differ: the separate steps apply the border once for
each of them, the one mask once. Where weights are whole numbers the results inside are equal; else both lie
within their own bounds of the same exact values.

What is proposed is judged by the measured times that `auto` compares (`engine.work.filtering.planner`).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from engine.device_info import AUTO, DeviceInfo
from engine.errors import MaskError
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.work.filter_task import describe_problem
from engine.work.filtering.planner import cost_table, kernel_us, rates_of
from engine.work.messages import Merger
from engine.work.steps import PICTURE, Chain, MaskStep, Node

Weights = NDArray[np.float64]


class Frame(NamedTuple):
    """How many rows and columns at each edge differ."""

    top: int = 0
    bottom: int = 0
    left: int = 0
    right: int = 0


class _Linear(NamedTuple):
    """What a node is of an input (a node, or -1): a mask with what it adds, and the nodes that become it."""

    input: int
    weights: Weights
    anchor: tuple[int, int]
    offset: float
    border: Border | None  # None: of no mask yet
    cval: float
    frame: Frame
    nodes: tuple[int, ...]


def mergers(chain: Chain, shape: tuple[int, int, int], dtype: str, device: DeviceInfo) -> tuple[Merger, ...]:
    """Return what could become one mask, the most steps together first, for pictures (H, W, C) of a type.

    Also what would be slower: `Merger.is_faster` says so. Steps with a variant or a block of their own stay.
    """
    nodes = chain.nodes()
    forms = _forms(nodes)
    readers = [sum(at in node.inputs for node in nodes) for at in range(len(nodes))]
    offers = []
    for at, form in enumerate(forms):
        if form is None or len(form.nodes) < 2:
            continue
        inner = [one for one in form.nodes if one != at]
        # Another step reads what would vanish.
        if any(readers[one] > sum(one in nodes[other].inputs for other in form.nodes) for one in inner):
            continue
        try:
            names = [nodes[one].step.title for one in form.nodes if isinstance(nodes[one].step, MaskStep)]
            mask = Mask(form.weights, form.anchor, form.offset, name=" + ".join(names))
        except MaskError:
            # Too many cells for a mask.
            continue
        merged = _merged(chain, nodes, at, form, mask)
        times = [_time_ms(nodes[one], shape, dtype, device) for one in form.nodes]
        step = next(one for one in merged.steps if one.id == nodes[at].step.id)
        one_ms = _time_ms(Node(step, (form.input,)), shape, dtype, device)
        ids = tuple(nodes[one].step.id for one in form.nodes)
        offers.append(Merger(ids, form.frame, merged, sum(times), one_ms))
    return tuple(sorted(offers, key=lambda one: -len(one.ids)))


def merged_where_faster(
    chain: Chain, shape: tuple[int, int, int], dtype: str, device: DeviceInfo
) -> tuple[Chain, tuple[Merger, ...]]:
    """Return the chain with every merger that is faster, one after the other, and these."""
    done: list[Merger] = []
    while better := [one for one in mergers(chain, shape, dtype, device) if one.is_faster]:
        done.append(better[0])
        chain = better[0].chain
    return chain, tuple(done)


def _forms(nodes: tuple[Node, ...]) -> list[_Linear | None]:
    """Return what each node is of the earliest input that it is linear in."""
    forms: list[_Linear | None] = []
    for at, (step, inputs) in enumerate(nodes):
        read = [(forms[one] if one >= 0 else None) or _identity(one) for one in inputs]
        form: _Linear | None = None
        if isinstance(step, MaskStep) and (step.variant, step.block) == (AUTO, None):
            form = _after(read[0], step, at) or _after(_identity(inputs[0]), step, at)
        elif step.weights is not None:
            form = _sum(read, step.weights, at)
        forms.append(form)
    return forms


def _identity(input_: int) -> _Linear:
    return _Linear(input_, np.ones((1, 1)), (0, 0), 0.0, None, 0.0, Frame(), ())


def _after(before: _Linear, step: MaskStep, at: int) -> _Linear | None:
    """Return a mask after what was there; None where their borders differ. One cell reads no border."""
    mask = step.applied
    border, cval = (step.border, step.cval) if mask.taps > 1 else (before.border, before.cval)
    if before.border is not None and (before.border, before.cval) != (border, cval):
        return None
    (up, left), (rows, columns) = before.weights.shape, mask.shape
    weights = np.zeros((up + rows - 1, left + columns - 1))
    for row, column in np.ndindex(rows, columns):
        weights[row : row + up, column : column + left] += mask.weights[row, column] * before.weights
    anchor = before.anchor[0] + mask.anchor[0], before.anchor[1] + mask.anchor[1]
    offset = mask.offset + before.offset * mask.total
    (up, left), frame = mask.anchor, before.frame
    if before.nodes:
        # Beyond an edge the second mask does not read what the first would make of a larger picture.
        down, right = mask.rows - 1 - up, mask.columns - 1 - left
        frame = Frame(frame.top + up, frame.bottom + down, frame.left + left, frame.right + right)
    return _Linear(before.input, weights, anchor, offset, border, cval, frame, (*before.nodes, at))


def _sum(forms: Sequence[_Linear], factors: tuple[float, float], at: int) -> _Linear | None:
    one, other = forms
    borders = {(form.border, form.cval) for form in forms if form.border is not None}
    if one.input != other.input or len(borders) > 1 or not (one.nodes or other.nodes):
        return None
    border, cval = borders.pop() if borders else (None, 0.0)
    anchor = max(one.anchor[0], other.anchor[0]), max(one.anchor[1], other.anchor[1])
    after = [max(form.weights.shape[axis] - form.anchor[axis] for form in forms) for axis in (0, 1)]
    weights = np.zeros((anchor[0] + after[0], anchor[1] + after[1]))
    for form, factor in zip(forms, factors, strict=True):
        top, left = anchor[0] - form.anchor[0], anchor[1] - form.anchor[1]
        rows, columns = form.weights.shape
        weights[top : top + rows, left : left + columns] += factor * form.weights
    offset = factors[0] * one.offset + factors[1] * other.offset
    frame = Frame(*map(max, one.frame, other.frame))
    nodes = tuple(sorted({*one.nodes, *other.nodes, at}))
    return _Linear(one.input, weights, anchor, offset, border, cval, frame, nodes)


def _merged(chain: Chain, nodes: tuple[Node, ...], at: int, form: _Linear, mask: Mask) -> Chain:
    """Return the chain with one mask in the place of the steps; inputs are named: neighbours may be gone."""
    gone = {nodes[one].step.id for one in form.nodes if one != at}
    ids = [*(node.step.id for node in nodes), PICTURE]
    border = form.border or Border.ZERO
    own = MaskStep(id=ids[at], input=ids[form.input], mask=mask, border=border, cval=form.cval)
    steps = tuple(
        own if step.id == own.id else step.reading(tuple(ids[one] for one in inputs))
        for step, inputs in nodes
        if step.id not in gone
    )
    return replace(chain, steps=steps)


def _time_ms(node: Node, shape: tuple[int, int, int], dtype: str, device: DeviceInfo) -> float:
    """Return about how long a step takes: a mask as `auto` has it, a sum as a copy of three pictures."""
    height, width, channels = shape
    step = node.step
    if isinstance(step, MaskStep):
        # The shape alone: it takes no memory.
        samples = np.broadcast_to(np.zeros((), dtype if node.inputs == (-1,) else "float32"), shape)
        mask = step.applied
        return kernel_us(describe_problem(samples, mask, step.border, step.cval), mask, device) / 1e3
    rates = rates_of(device, cost_table(device.kind).rates)
    return 3 * 4 * height * width * channels / rates.copy_gb_s / 1e6
