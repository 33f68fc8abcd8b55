"""What the host does for each request. Called on: the main thread of the host process, one job at a time."""

import math
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.device.anti_aliasing import ANTI_ALIAS_BYTES
from engine.device.backend import Backend
from engine.device.devices import backend, devices
from engine.errors import EngineError, UnsupportedVariant
from engine.files.output_checks import check_other_file
from engine.host import shared
from engine.host.display_levels import full_scale, level_shapes, render
from engine.host.protocol import (
    Availability,
    CheckVariants,
    Filtered,
    FilterJob,
    OpenPicture,
    PictureHandle,
    Preview,
    Progress,
    Ready,
    Report,
    Run,
    Saved,
    SaveResult,
    ScreenLevels,
    VariantInfo,
)
from engine.host.shared_array import SharedArray
from engine.image.form import Form
from engine.image.open import open_image
from engine.image.picture import Picture
from engine.image.result_picture import finished_picture, lost_values
from engine.image.samples import sample_path
from engine.image.save import DEPTH_DTYPES, save_image
from engine.run.device_choice import device_for, refuse_unsuitable
from engine.run.measure import compute, measure
from engine.run.resolve import ResolvedFilter, describe_problem, result_dtype_for
from engine.run.sampling import SamplingPlan, Step
from engine.tasks.filtering.problem import Problem
from engine.tasks.filtering.task import refuse_strange_samples
from engine.variants.contract import Variant
from engine.variants.registry import VARIANTS


def ready() -> Ready:
    """Return what this host can do."""
    variants = tuple(
        VariantInfo(v.key, v.title, v.device.value, v.idea, v.default_block, v.uses_block, v.remark)
        for v in VARIANTS
    )
    return Ready(variants, devices())


def open_picture(request: OpenPicture, report: Report) -> PictureHandle:
    """Open a file or a sample into shared memory, with its levels for the screen."""
    report(Progress("opening the picture", 0.0, 10.0))
    with _SharedPicture() as place:
        picture = open_image(
            sample_path(request.sample) if request.sample else request.path,
            work_bytes=_opening_bytes,
            work="showing",
            allocate=place.allocate,
        )
        return PictureHandle(
            pixels=place.pixel_block,
            alpha=place.alpha_block,
            screen=place.rendered(),
            title=Path(picture.source).name if picture.source else request.sample,
            description=picture.title(),
            path=str(Path(request.path).resolve()) if request.path else "",
            sample=request.sample,
            notes=tuple(picture.notes),
            icc_profile=picture.icc_profile,
            metadata=picture.metadata,
        )


def _opening_bytes(form: Form) -> int:
    """Return the memory of a picture with its levels for the screen, bytes."""
    return form.decoded_bytes + sum(math.prod(shape) for shape in level_shapes(*form.plane_shape))


def preview(request: Preview, report: Report) -> Filtered:
    """Filter once and make the result ready for the screen."""
    begin = time.perf_counter()
    work = _ResolvedJob(request.job)
    job, device = work.job, work.backend.info
    refuse_unsuitable(job.variant, job.problem, request.job.mask, job.block, device)
    expected_s = job.task.expected_launch_s(job.variant, job.problem, job.block, device)
    report(Progress("filtering", 0.0, 2.0 + expected_s))
    with work.shared_result() as place:
        compute(job, work.backend, place.values)
        return work.filtered(place, begin)


def run(request: Run, report: Report) -> Filtered:
    """Verify, warm up, sample; make the result ready for the screen."""
    begin = time.perf_counter()
    work = _ResolvedJob(request.job)

    def checkpoint(step: Step) -> None:
        report(Progress(step.stage, step.fraction, step.expected_s))

    with work.shared_result() as place:
        plan = SamplingPlan(budget_s=request.budget_s)
        outcome = measure(work.job, work.backend, plan, checkpoint=checkpoint, host_out=place.values)
        if outcome.values is not None:
            return replace(work.filtered(place, begin), result=outcome.result)
    return Filtered(None, None, work.job.variant.key, work.backend.info.key, 0.0, outcome.result)


def check_variants(request: CheckVariants, report: Report) -> tuple[Availability, ...]:
    """Return for every variant whether it can do the job on the job's device, and why not."""
    job = request.job
    samples = shared.attach(job.picture.pixels)
    problem = _problem(job, samples)
    return tuple(_availability(variant, job, problem, samples) for variant in VARIANTS)


def _availability(variant: Variant, job: FilterJob, problem: Problem, samples: NDArray[Any]) -> Availability:
    block = job.block if job.block is not None and variant.uses_block else variant.default_block
    try:
        refuse_unsuitable(variant, problem, job.mask, block, device_for(variant, job.device))
        # 17 ms for 4096 x 4096 float32, for the few variants that need it; nothing for whole numbers.
        refuse_strange_samples(variant, samples)
    except UnsupportedVariant as error:
        return Availability(variant.key, error.why, error.nearest_block)
    except EngineError as error:
        return Availability(variant.key, f"{error.why.rstrip('.')}. {error.remedy}".strip())
    return Availability(variant.key)


def save_result(request: SaveResult, report: Report) -> Saved:
    """Write a result, or the picture itself, to a file."""
    # 12,000 x 12,000 pixels of RGB take 11.7 s as PNG, 27 ns a byte; slow disks come on top.
    report(Progress("saving", 0.0, 10.0 + 1e-7 * _size_of(request)))
    if request.values is not None and request.picture.path:
        check_other_file(request.path, request.picture.path)
    opened = request.picture
    picture = Picture(
        _one_plane(opened.pixels), _attached(opened.alpha), opened.icc_profile, metadata=opened.metadata
    )
    lost: tuple[str, ...] = ()
    if request.values is not None:
        target = np.dtype(DEPTH_DTYPES.get(request.depth, picture.dtype))
        # Whole numbers of 8 and 16 bit stay what they are in float32.
        values = _one_plane(request.values).astype(np.float32, copy=False)
        picture = finished_picture(picture, values, target, request.range_mode)  # type: ignore[arg-type]
        lost = lost_values(values, target)
    # Of a result nothing is left to change here; a depth that there is not is refused.
    notes = save_image(picture, request.path, depth=request.depth)  # type: ignore[arg-type]
    return Saved(request.path, (*lost, *notes))


def _size_of(request: SaveResult) -> int:
    """Return the bytes of what is saved, before it is encoded."""
    saved = request.values or request.picture.pixels
    return int(np.prod(saved.shape)) * np.dtype(saved.dtype).itemsize


def _one_plane(array: SharedArray) -> NDArray[Any]:
    """Return an array of shared memory, grey as rows and columns only."""
    values = shared.attach(array)
    return values[:, :, 0] if values.shape[2] == 1 else values


def _problem(job: FilterJob, samples: NDArray[Any]) -> Problem:
    result_dtype = result_dtype_for(job.result_type, samples, samples)
    return describe_problem(samples, job.mask, job.border, job.cval, result_dtype)


class _ResolvedJob:
    """A job with everything looked up: samples, problem, device, variant, block.

    Raises
    ------
    EngineError
        No such device, variant or border.
    """

    def __init__(self, asked: FilterJob) -> None:
        self._asked = asked
        resolved = ResolvedFilter(asked, shared.attach(asked.picture.pixels))
        self.job = resolved.job()
        self.backend: Backend = backend(resolved.device.key)

    def shared_result(self) -> "_SharedResult":
        """Return shared memory for the result and its levels, taken back unless it is handed over."""
        return _SharedResult(self.job.operands.samples.shape, self.job.problem.result_dtype)

    def filtered(self, place: "_SharedResult", begin: float) -> Filtered:
        """Return the reply for a result, with its levels for the screen."""
        alpha = _attached(self._asked.picture.alpha)
        render(
            place.values,
            [shared.attach(level) for level in place.level_blocks],
            full_scale(self.job.operands.samples.dtype),
            self._asked.range_mode,
            alpha,
        )
        place.handed_over = True
        return Filtered(
            values=place.value_block,
            screen=ScreenLevels(place.level_blocks, opaque=alpha is None),
            variant=self.job.variant.key,
            device=self.backend.info.key,
            elapsed_ms=(time.perf_counter() - begin) * 1e3,
            chosen_because=self.job.chosen_because,
        )


class _SharedPicture:
    """Shared memory that a picture is decoded into, with its levels; taken back if opening fails."""

    alpha_block: SharedArray | None = None
    _name = ""

    def allocate(self, form: Form) -> tuple[NDArray[Any], NDArray[Any] | None]:
        """Return arrays for the pixels and the alpha of an upright picture."""
        alpha = [(form.plane_shape, form.dtype.name)] if form.has_alpha else []
        levels = [(shape, "uint8") for shape in level_shapes(*form.plane_shape)]
        self.pixel_block, *others = shared.create(
            ((*form.plane_shape, form.channels), form.dtype.name), *alpha, *levels
        )
        self._name = self.pixel_block.name
        self.alpha_block = others.pop(0) if form.has_alpha else None
        self.level_blocks = tuple(others)
        return _one_plane(self.pixel_block), _attached(self.alpha_block)

    def rendered(self) -> ScreenLevels:
        """Return the levels, made of the decoded picture."""
        pixels = shared.attach(self.pixel_block)
        levels = [shared.attach(level) for level in self.level_blocks]
        render(pixels, levels, full_scale(pixels.dtype), alpha=_attached(self.alpha_block))
        return ScreenLevels(self.level_blocks, opaque=self.alpha_block is None)

    def __enter__(self) -> "_SharedPicture":
        return self

    def __exit__(self, error: object, *_: object) -> None:
        if error is not None and self._name:
            shared.recycle(self._name)


def _attached(array: SharedArray | None) -> NDArray[Any] | None:
    return None if array is None else shared.attach(array)


class _SharedResult:
    """Shared memory that a result is written into, so that it need not be copied there."""

    def __init__(self, shape: tuple[int, ...], dtype: str) -> None:
        levels = ((level, "uint8") for level in level_shapes(*shape[:2]))
        # Blocks begin with a page, the picture's too (`engine.device.anti_aliasing`).
        _, self.value_block, *others = shared.create(((ANTI_ALIAS_BYTES,), "uint8"), (shape, dtype), *levels)
        self.level_blocks = tuple(others)
        self.values = shared.attach(self.value_block)
        self.handed_over = False

    def __enter__(self) -> "_SharedResult":
        return self

    def __exit__(self, *_: object) -> None:
        if not self.handed_over:
            shared.recycle(self.value_block.name)
