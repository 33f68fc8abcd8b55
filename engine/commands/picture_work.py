"""What `filter` and `batch` do with each picture: steps, on a device, and what becomes of the values."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from msgspec import structs

from engine.api.applied import measured
from engine.api.request import PictureCall
from engine.commands.output import progress_log
from engine.commands.picture_opening import Opened, Opening
from engine.commands.step_options import AUTO_TYPE, SavingOptions, StepOptions
from engine.device.device_list import has_driver
from engine.device.devices import device_named
from engine.device_info import AUTO, DeviceInfo, titles
from engine.errors import BadValue
from engine.files.standard_streams import printable
from engine.geometry.block import Layout
from engine.geometry.border import RangeMode
from engine.image.format import Form, Format
from engine.image.open import open_image
from engine.image.picture import Picture
from engine.image.save import Conversion, encoded_image
from engine.mask.json_form import numbers_of
from engine.mask.mask import Mask, names_size
from engine.results.measurement import AnyResult
from engine.run.measure import HARDLY_SAMPLED
from engine.run.task import AnyJob, devices_for
from engine.verify.closeness import Verification
from engine.verify.verification import CheckedSamples
from engine.work.filter_task import describe_problem
from engine.work.filtering.clipping import Clipped, clipped_in_file
from engine.work.filtering.planner import why_not_gpu
from engine.work.measuring import timed_steps, with_steps
from engine.work.resolve import Resolved, resolved_for_parts
from engine.work.steps import PictureRequest

if TYPE_CHECKING:
    from engine.flow.file import Done

# Multiply-adds that the oracle may spend on a picture of a batch: 8 to 16 ms on one core. Every pixel of a
# photograph would take longer than all else together; of a larger one it checks the edges and a grid.
AFFORDABLE_MULTIPLY_ADDS = 20_000_000
R = TypeVar("R", bound=Resolved)


class PictureResult(NamedTuple):
    """The picture to save, what it cannot hold, and the answer beside it, for JSON and in words."""

    picture: Picture
    lost: tuple[str, ...] = ()
    answer: Mapping[str, object] = {}
    answer_text: str = ""


@dataclass
class PictureWork(Opening):
    """The requested steps, with every option. Its `call` is one picture with what computes it."""

    chain: str = ""  # as it was written; empty where a mask or another operation was
    merge: bool = False
    takes_own_type: bool = True  # whether the kernel may write the samples of the file
    patch: np.ndarray | None = None
    notes: tuple[str, ...] = ()  # on what is requested and hardly meant
    _mergers: Sequence[Any] = field(default=(), init=False)

    @property
    def mask(self) -> Mask | None:
        """The mask, not turned, where that is all that is done."""
        step = self.request.filter
        return None if step is None or self.chain else step.mask

    @property
    def format(self) -> str:
        """The name of the document that `filter --json` prints."""
        if self.chain:
            return "haloscope-chain-result"
        return "haloscope-operation" if self.mask is None else "haloscope-filter"

    @property
    def name(self) -> str:
        """What is computed, in a word."""
        if self.chain:
            return printable(self.request.chain.title or self.chain)
        if (operation := self.request.operation) is not None:
            return operation.operation
        step = self.request.filter
        return "convolution" if step is not None and step.flip else "correlation"

    @property
    def done(self) -> str:
        """What became of the pictures, for the summary of a batch."""
        return "filtered" if self.mask is not None else f"computed ({self.name})"

    @property
    def range(self) -> RangeMode | None:
        """What becomes of values out of range; None: the values have the range of the picture's type."""
        if self.request.operation is not None and not self.chain:
            return None
        return self.request.chain.range if self.saving.range == "clip" else self.saving.range

    def on(self, device: str) -> "PictureWork":
        """Return the same on a device."""
        return replace(self, request=structs.replace(self.request, device=device))

    def encoded(
        self, result: PictureResult, picture: Picture, target: str, saved_as: Format | None
    ) -> tuple[bytes | memoryview, tuple[str, ...]]:
        """Return the file of a picture's result, and the notes on the two. Called on: any thread."""
        quality, metadata = self.saving.quality, self.saving.metadata
        data, left_out = encoded_image(
            result.picture, target, quality=quality, metadata=metadata, saved_as=saved_as
        )
        notes = (*picture.notes, *result.lost, *left_out)
        if self.mask is None or picture.alpha is None or self.mask.taps == 1 or picture.alpha.all():
            return data, notes
        why = "colours are not weighted with the alpha, so those of clear pixels show in pixels beside them"
        return data, (*notes, f"Some pixels are clear: {why}.")

    def why_not_gpu(self, form: Form, pictures: int) -> str | None:
        """Return why so many pictures are filtered on the CPU, with "" where that needs no words, or None."""
        step = self.request.filter
        if step is None or self.chain:
            # Copies take longer than short chains, and than all operations but the largest patches.
            return ""
        # The shape alone: it takes no memory.
        samples = np.broadcast_to(np.zeros((), form.dtype), (form.height, form.width, form.channels))
        is_own = self.takes_own_type or self.request.result_type == "same"
        result = form.dtype.name if is_own else "float32"
        problem = describe_problem(samples, step.applied, step.border, step.cval, result)
        return why_not_gpu(problem, step.applied, device_named("cpu"), pictures) or None

    def check(self, probe: Picture) -> list[str]:
        """Refuse what is wrong with every picture; return a sentence for each option that changes nothing.

        Which pictures can have results of their own type, and what another operation needs of one, is known
        when they are opened.
        """
        if self.mask is None:
            return []
        request = structs.replace(self.request, result_type="float32")
        floats = replace(self, request=request, takes_own_type=False)
        opened = Opened(probe, np.dtype(np.float32))
        call = floats.call(opened)
        call.job().refuse(call.device)
        return [*self.notes, *floats.unused(call, opened)]

    def call(self, opened: Opened) -> PictureCall:
        """Return the call that computes a picture, with its alpha as one more channel where it is filtered.

        Where the choice is ours and the file has the very same samples, the kernel then writes them itself: a
        result of 12 megapixels takes 36 MB instead of 180. With `auto` a GPU is used only where it helps the
        whole way, its start and copies included.
        """
        picture, saved = opened
        pixels = picture.pixels
        if self.saving.alpha == "filter" and picture.alpha is not None:
            pixels = np.dstack([pixels, picture.alpha])
        request = self._merged(np.atleast_3d(pixels))
        return self._cheapest(request, lambda one: PictureCall(pixels, one, self.patch), saved)

    def resolved(self, samples: np.ndarray, saved: np.dtype) -> Resolved:
        """Return what computes a picture in parts, of samples (H, W, C) whose values are not looked at.

        `saved` is the type of the file for the result. `auto` chooses what can be cut.
        """
        request = self._merged(samples)
        return self._cheapest(request, lambda one: resolved_for_parts(one, samples).in_parts(), saved)

    def _merged(self, samples: np.ndarray) -> PictureRequest:
        if not self.merge:
            return self.request
        merged: Any = import_module("engine.work.merge").merged_where_faster
        device = devices_for(None, "cpu" if self.request.device == AUTO else self.request.device)[0]
        chain, self._mergers = merged(self.request.chain, samples.shape, samples.dtype.name, device)
        return structs.replace(self.request, chain=chain)

    def _cheapest(self, request: PictureRequest, made: Callable[[PictureRequest], R], saved: np.dtype) -> R:
        """Return what is made where it is requested, of `auto` where it is sooner, in the file's samples."""
        is_open, why = request.device == request.variant == AUTO, None
        if is_open and (request.filter is None or has_driver()):
            # Listing the GPUs starts the driver; that, and copies there and back, take longer than most work.
            resolved = made(structs.replace(request, device="cpu"))
            if request.filter is not None:
                why = why_not_gpu(resolved.problem, resolved.constant, resolved.device, 1)
                choice = resolved.choice
                if why:
                    resolved.choice = choice._replace(reason=choice.reason and choice.reason.and_also(why))
                else:
                    resolved = made(request)
        else:
            resolved = made(request)
        mode = self.range
        return resolved.as_saved(saved, mode) if self.takes_own_type and mode is not None else resolved

    def what(self, call: Resolved) -> str:
        """Return what is computed, in words."""
        if self.chain:
            return f"{self.name} ({len(call.nodes)} steps)" if len(call.nodes) > 1 else self.name
        if self.mask is None:
            text: str = call.problem.operation_text
            return text
        name = printable(self.mask.name) or "a custom mask"
        size = "" if names_size(name, *self.mask.shape) else f"{self.mask.rows} × {self.mask.columns}"
        flipped = "rotated by 180 degrees" if self.name == "convolution" else ""
        about = ", ".join(filter(None, (size, flipped)))
        return f"{self.name} with {name}{f' ({about})' if about else ''}, border {call.problem.border},"

    def facts(self, call: Resolved) -> dict[str, object]:
        """Return what is computed, for JSON; a mask before it is turned."""
        if self.chain:
            return {"operation": "chain", "chain": self.name, "steps": call.request.chain.text}
        if self.mask is None:
            return {"operation": self.name, "settings": call.problem.parameters}
        mask = {"name": self.mask.title} | numbers_of(self.mask)
        return {"operation": self.name, "mask": mask, "border": str(call.problem.border)}

    def finished(self, call: PictureCall, opened: Opened, values: np.ndarray) -> PictureResult:
        """Return the picture to save, or a histogram's plot, or a patch's best match, and what is lost."""
        mode = self.range
        if mode is None:
            return _answered(call, opened, values)
        picture, dtype = opened
        # A float32 file keeps its values.
        conversion = Conversion(picture.dtype, dtype, "clip" if dtype == np.float32 else mode)
        with_alpha = self.saving.alpha == "filter"
        finished = conversion.picture(picture, values.reshape(call.shape), with_alpha=with_alpha)
        return PictureResult(finished, conversion.sentences(finished.pixels.size))

    def clipped(self, call: PictureCall, opened: Opened, values: np.ndarray) -> Clipped:
        """Return how much of the result is clipped in the file."""
        return clipped_in_file(call.job(), values, opened.dtype, self.range)

    def measured(
        self, call: PictureCall, on_values: Callable[[np.ndarray], object], *, is_recorded: bool
    ) -> tuple[np.ndarray, AnyResult | None, Sequence[DeviceInfo]]:
        """Return the values, the proof and the time, if requested, and the devices that computed them.

        `on_values` is as of `measure`. Of a chain the time of each step is measured where it is recorded.
        """
        if len(call.devices) > 1 and call.reach.exact and not call.reach.whole:
            # A picture that has to be whole is computed on the first. Loaded only with several GPUs.
            spread = import_module("engine.flow.filtering").measured_in_chunks
            values, proof, used = spread(call, on_values, verify=self.saving.verify, is_recorded=is_recorded)
        elif self.saving.verify:
            # The result is wanted soon, not measured well as by `bench`: samples took 0.1 s of each command.
            applied = measured(call, replace(HARDLY_SAMPLED, is_recorded=is_recorded), on_values)
            values, proof, used = applied.values, applied.result, (call.device,)
        else:
            values, proof, used = call.filter(), None, (call.device,)
        if proof is not None and is_recorded:
            proof = with_steps(proof, call.job())
        return values, proof, used

    def filter_file(
        self,
        source: str,
        output: str,
        go_on: Callable[[], object] = lambda: None,
        on_state: Callable[[int, int], None] = lambda rows, height: None,
    ) -> "Done":
        """Filter a file in bands; `go_on`, on any thread, may end it; `on_state` is as of `FileFilter`."""
        # Loaded only with such a picture.
        from engine.flow.file import FileFilter

        log_progress = progress_log(output)

        def report(fraction: float, words: str) -> None:
            go_on()
            log_progress(fraction, words)

        saving = self.saving
        work = FileFilter(
            output=output, resolve=self.resolved, saved_type=self.saved_type, range=self.range,
            filters_alpha=self.saving.alpha == "filter", verify=saving.verify, metadata=saving.metadata,
            memory=saving.memory, report=report, on_state=on_state,
        )  # fmt: skip
        return work.run(source)

    def verified(
        self, call: PictureCall, values: np.ndarray | CheckedSamples, seed: int
    ) -> Verification | None:
        """Return how the values agree with the oracle, if requested; raise VerificationFailed."""
        if not self.saving.verify:
            return None
        job: AnyJob = replace(call.job(), seed=seed, affordable=AFFORDABLE_MULTIPLY_ADDS)
        verification = job.task.verify(values, job, lambda fraction: None)
        verification.refuse_wrong(f"The result of '{job.variant.key}'")
        return verification

    def unused(self, call: PictureCall, opened: Opened) -> list[str]:
        """Return a sentence for each option that changed nothing, and for each merger."""
        saving, request = self.saving, self.request
        notes = [f"Merged: {one.sentence}." for one in self._mergers]
        variant, is_on_cpu = call.choice.variant, call.device.kind == "cpu"
        if self.merge and not notes:
            notes.append("--merge changed nothing: no linear steps are faster as one mask.")
        if self.saving.alpha == "filter" and opened.picture.alpha is None:
            notes.append("--alpha was not used: the picture has no alpha.")
        if saving.memory is not None:
            notes.append("--memory was not used: this picture is filtered as a whole (--max-bytes).")
        if request.block is not None and not variant.uses_block:
            notes.append(f"--block was not used: {variant.key} has no block.")
        if request.layout is Layout.PACKED and is_on_cpu:
            why = f"{variant.key} runs on the CPU, where rows are always packed"
            notes.append(f"--layout was not used: {why}.")
        if request.device not in (AUTO, "cpu") and is_on_cpu:
            notes.append(f"--device was not used: {variant.key} runs on the CPU.")
        if self.makes_plot and saving.depth != "keep":
            notes.append("--depth was not used: a plot has 8 bits.")
        return notes

    def headline(self, call: Resolved, target: str, used: Sequence[DeviceInfo]) -> str:
        """Return what ran, in words."""
        choice, problem = call.choice, call.problem
        block = f", block {choice.block}" if choice.variant.uses_block else ""
        is_packed = call.request.layout is Layout.PACKED and call.device.kind == "cuda"
        rows = f", {call.request.layout} rows" if is_packed else ""
        rounded = f", {problem.result_dtype} results" if problem.is_quantised else ""
        chosen = f" (auto: {choice.reason.clauses})" if choice.reason else ""
        where = f"by {choice.variant.key} on {', '.join(titles(used))}{block}{rows}{rounded}{chosen}"
        return f"{printable(target)}: {self.what(call)} {where}"

    def document(
        self, call: Resolved, proof: AnyResult | None, used: Sequence[DeviceInfo]
    ) -> dict[str, object]:
        """Return what ran, for JSON: of a mask the type of its results, of a chain the time of each step."""
        choice, device = call.choice, call.device
        ran: dict[str, object] = {
            "variant": choice.variant.key,
            "device": ", ".join(one.key for one in used),
            "block": {"x": choice.block.x, "y": choice.block.y} if choice.variant.uses_block else None,
            "layout": str(call.request.layout) if device.kind == "cuda" else None,
        }
        if self.chain:
            steps = timed_steps(call, proof)
            each = [{"id": s.id, "title": s.title, "variant": s.variant, "kernel_ms": s.ms} for s in steps]
            return ran | {"step_times": each, "merged": [one.sentence for one in self._mergers]}
        return ran if self.mask is None else ran | {"result_dtype": call.problem.result_dtype}


def work_for(steps: StepOptions, saving: SavingOptions) -> PictureWork:
    """Return the requested work; an EngineError for what the operation refuses."""
    request, patch = steps.request, None
    if (step := request.operation) is not None:
        step.known.read(dict(step.settings))
        if steps.patch is not None:
            if not step.known.takes_patch:
                what = f"--patch with --operation {step.operation}"
                raise BadValue(what, "it takes none", "Leave it out.")
            patch = open_image(steps.patch, max_bytes=saving.max_bytes).pixels
    is_auto = steps.result_type == AUTO_TYPE
    return PictureWork(request, saving, steps.chain or "", steps.merge, is_auto, patch, steps.notes)


def _answered(call: PictureCall, opened: Opened, values: np.ndarray) -> PictureResult:
    """Return what becomes of the values of an operation."""
    answer, (picture, dtype) = call.answer(values), opened
    document: dict[str, object] = {
        "numbers": {quantity.key: quantity.value for quantity in answer.quantities},
        "mark": None if answer.mark is None else structs.asdict(answer.mark),
        "counts": None if answer.counts is None else answer.counts.tolist(),
    }
    # As titles stand within a sentence: "PSNR", "estimated size".
    titled = ((one.title, one.text) for one in answer.quantities)
    words = ", ".join(f"{t if t.isupper() else t[0].lower() + t[1:]} {text}" for t, text in titled)
    drawing = import_module("engine.work.operations.patch")
    if answer.counts is not None:
        return PictureResult(Picture(drawing.histogram_picture(answer.counts)), (), document, words)
    pixels: Any = answer.picture
    if answer.mark is not None:
        scale = 1.0 if pixels.dtype == np.float32 else float(np.iinfo(pixels.dtype).max)
        pixels = drawing.marked(pixels, answer.mark, scale)
    conversion = Conversion(pixels.dtype, dtype)
    finished = conversion.picture(picture, pixels.reshape(picture.pixels.shape))
    return PictureResult(finished, conversion.sentences(pixels.size), document, words)
