"""Where a batch is filtered: with `auto`, on a GPU only where that helps all of it."""

import argparse
from collections.abc import Sequence
from contextlib import suppress

from engine.commands.batch_files import Task
from engine.device.cuda_presence import has_driver
from engine.device.devices import device_named
from engine.device_info import AUTO
from engine.errors import EngineError
from engine.geometry.border import Border
from engine.image.form import Form
from engine.image.open import open_image
from engine.mask.mask import Mask
from engine.run.device_choice import device_for
from engine.tasks.filtering.problem import Problem
from engine.variants.auto.planner import why_not_gpu
from engine.variants.registry import operation_variant, variant


def settle_device(
    options: argparse.Namespace, mask: Mask | None, tasks: Sequence[Task], notes: list[str]
) -> bool:
    """Return whether the CPU filters; where `auto` is asked for, decide for the whole batch.

    Then the device of `options` is the one that was decided on, and `notes` say so where there may be a GPU
    that is not used.
    """
    if mask is None:
        if options.variant != AUTO:
            chosen = operation_variant(options.variant, options.operation)
            return device_for(chosen, options.device).kind == "cpu"
        if options.device == AUTO:
            # Copies take longer than all of these operations but the largest patches.
            options.device = "cpu"
        return device_named(options.device).kind == "cpu"
    if options.variant != AUTO:
        return device_for(variant(options.variant), options.device).kind == "cpu"
    if options.device == AUTO:
        why = _why_not_gpu(options, mask, tasks)
        options.device = "cpu" if why else device_named(AUTO).key
        if why and has_driver():
            notes.append(f"The CPU filters: {why}. --device cuda takes the GPU.")
    return device_named(options.device).kind == "cpu"


def _why_not_gpu(options: argparse.Namespace, mask: Mask, tasks: Sequence[Task]) -> str:
    """Return why a GPU would not help, judged by the size of the first picture; empty if it may."""
    if not has_driver():
        return "there is no driver"
    form = next((form for task in tasks if task.refusal is None and (form := _form_of(task.source))), None)
    if form is None:
        return "no picture can be opened"
    problem = Problem(
        height=form.height,
        width=form.width,
        channels=form.channels,
        dtype=form.dtype.name,
        mask_shape=mask.shape,
        anchor=mask.anchor,
        border=Border.named(options.border),
        cval=options.cval,
        result_dtype="float32" if options.result_type == "float32" else form.dtype.name,
    )
    return why_not_gpu(problem, mask, device_named("cpu"), len(tasks))


def _form_of(path: str) -> Form | None:
    """Return the form of a picture from its header alone; None where it cannot be opened."""

    class Known(Exception):
        """Ends opening when the form is known."""

    found: list[Form] = []

    def note(form: Form) -> int:
        found.append(form)
        raise Known

    with suppress(Known, EngineError):
        open_image(path, work_bytes=note)
    return found[0] if found else None
