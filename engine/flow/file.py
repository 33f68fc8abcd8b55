"""A picture larger than memory, in bands, to a file that appears whole or not at all."""

import hashlib
import json
import math
import os
import time
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from msgspec import structs

from engine.errors import BadValue, EngineError, FileWriteError, ImageReadError, VerificationFailed
from engine.files.atomic_write import check_place, write_error
from engine.flow.rows import Part, State, filter_rows, identity_of, plan_memory, stored_bytes
from engine.geometry.border import RangeMode
from engine.image.convert import finite_range
from engine.image.faults import LIBRARY_ERRORS, Refused
from engine.image.large.opening import is_zarr, kind_of_result, make_result, open_large, result_storage
from engine.image.large.result import LargeResult, LevelRows, PartDamaged, PartFolder
from engine.image.large.source import LargePicture, Storage
from engine.image.save import Conversion, Loss
from engine.process import bytes_text
from engine.verify.closeness import Verification
from engine.work.filtering.clipping import Clipped, clipped_in_file
from engine.work.resolve import Resolved

# Multiply-adds that the oracle may spend on a band: a few ms, while the kernel takes 20 to 100.
BAND_MULTIPLY_ADDS = 2_000_000
# What is done is written down that often, seconds; it waits for the disk.
JOURNAL_S = 5.0
# The room that a disk keeps for others.
_SPARE_DISK_BYTES = 64 << 20


# A chooser tells no larger pictures apart, and what looks at all samples has fewer to look at.
_MOST_ROWS = 1024


@dataclass(frozen=True, kw_only=True)
class Work:
    """What is done with a picture, and how its result is saved.

    `resolve` chooses device and variants for samples (H, W, C), whose values are not looked at, of a result
    that is saved in a type; `saved_type` returns that for the type of the picture. `range` is what becomes of
    float32 values out of range; None: the values have the range of the picture's type.
    """

    resolve: Callable[[np.ndarray, np.dtype], Resolved]
    saved_type: Callable[[np.dtype], np.dtype]
    range: RangeMode | None
    filters_alpha: bool = False
    verify: bool = True
    metadata: bool = True


@dataclass(slots=True)
class Done:
    """What became of a large picture; `facts` are of its file and its bands, for JSON."""

    resolved: Resolved
    verification: Verification | None
    notes: tuple[str, ...]
    elapsed_s: float
    facts: dict[str, object]
    band_rows: int
    source_bytes: int
    clipped: Clipped


def filter_file(
    work: Work,
    source: str | LargePicture,
    output: str,
    *,
    memory: int | None,
    report: Callable[[float, str], None] = lambda fraction, words: None,
    on_state: Callable[[int, int], None] = lambda rows, height: None,
) -> Done:
    """Filter a picture in bands to a file that appears whole or not at all.

    Parameters
    ----------
    source : str or LargePicture
        The path of a file that is read in parts, or a picture that is open, and stays so.
    memory : int, optional
        The most bytes that this process takes; None: enough to be fast.
    report : callable of (fraction done, words)
        Called from time to time. Called on: any thread.
    on_state : callable of (rows that are written down as done, rows)
        Called on: any thread.
    """
    begin_s = time.perf_counter()
    with ExitStack() as stack:
        picture = source if isinstance(source, LargePicture) else stack.enter_context(open_large(source))
        run = _Run(work, picture, output, memory, report, on_state)
        stack.callback(run.close)
        run.prepare()
        try:
            run.first_pass()
            run.filter()
            run.finish()
        except (ImageReadError, VerificationFailed):
            # The same would happen again.
            run.close()
            run.part.remove()
            raise
        except OSError as error:
            found = write_error(output, error)
            kept = f"{run.part.folder.name} has what is done: the same command goes on from there."
            raise FileWriteError(found.what, found.why, f"{found.remedy} {kept}") from error
        return run.done(time.perf_counter() - begin_s)


@dataclass(eq=False)
class _Run:
    work: Work
    picture: LargePicture
    output: str
    memory: int | None
    report: Callable[[float, str], None]
    on_state: Callable[[int, int], None]

    def __post_init__(self) -> None:
        self.part = PartFolder(self.output)
        self.notes: list[str] = []
        self.result: LargeResult | None = None
        self.state = State()
        self.resumed_row = 0
        self._rows: LevelRows | None = None
        self._noted_s = -math.inf

    def prepare(self) -> None:
        """Check all that can be checked, and make the file or open what an earlier run has left."""
        work, picture = self.work, self.picture
        kind = kind_of_result(self.output)
        what, place = f"{self.output} cannot be written", Path(self.output)
        if not kind:
            why = "a picture that is read in parts is saved in parts, as TIFF, OME-Zarr or .npy"
            raise BadValue(what, why, "End the name in .tif, .zarr or .npy.")
        # It would replace what is no picture.
        if kind == "zarr" and place.is_dir() and not is_zarr(place) and any(place.iterdir()):
            raise FileWriteError(what, "it is a folder that is no Zarr store", "Choose another name.")
        if kind == "zarr" and place.exists() and not place.is_dir():
            raise FileWriteError(what, "it is a file", "Choose another name.")
        check_place(os.path.join(place.parent, f".{place.name}") if kind == "zarr" else self.output)
        self.dtype = work.saved_type(picture.dtype)
        self.colours = picture.channels - (picture.has_alpha and not work.filters_alpha)
        # The shape alone: it takes no memory.
        shape = min(picture.height, _MOST_ROWS), picture.width, self.colours
        self.resolved = work.resolve(np.broadcast_to(np.zeros((), picture.dtype), shape), self.dtype)
        direct = 'Name a direct variant, or "auto", or leave --variant out.'
        whole = "Give more memory (--max-bytes, without --memory), or take a smaller picture."
        self.resolved.refuse_cut("a picture in bands", direct, whole)
        self.resolved.refuse()
        storage, lost = result_storage(picture, kind, metadata=work.metadata)
        self.part.hold()
        self.task = self._task(storage)
        why = self._continued(storage)
        self._check_disk(storage)
        # Refused before anything is written.
        gpus = len(self.resolved.devices) if self.resolved.device.is_usable_gpu else 0
        self.rows_planned = plan_memory(
            picture, self.resolved, storage, self.dtype, self.memory, gpus=gpus, verify=work.verify
        )
        if self.result is not None:
            self.resumed_row, self._noted_s = self.state.rows, time.monotonic()
            rows = f"{self.state.rows:,} of {picture.height:,} rows"
            self.notes.append(f"An earlier run is continued: {rows} were done.")
        else:
            if self.part.begin():
                self.notes.append(f"{self.part.folder.name}, of an earlier run {why}, was begun anew.")
            try:
                self._open(storage, State())
            except EngineError:
                self.close()
                self.part.remove()
                raise
        self.notes += lost

    def _continued(self, storage: Storage) -> str:
        """Open what an earlier run has left, if it is whole; else return why it is begun anew."""
        try:
            done = self.part.done_by(self.task)
        except PartDamaged as error:
            return f"that is damaged ({error})"
        if done is None:
            return "with other settings"
        self.report(0.0, "checking what an earlier run has done")
        try:
            self._open(storage, State.read(done))
        except (PartDamaged, Refused, ImageReadError, *LIBRARY_ERRORS) as error:
            self.result = self._rows = None
            return f"that is damaged ({error if isinstance(error, PartDamaged) else 'it cannot be read'})"
        return ""

    def _open(self, storage: Storage, state: State) -> None:
        """Open the files of a result: new ones, or those of an earlier run with its state."""
        self.result = make_result(self.picture, storage, self.dtype, self.part)
        self._rows = LevelRows(self.result, self.part, max(0, state.level - 1), state.rows)
        self.state = state

    def _task(self, storage: Storage) -> dict[str, object]:
        """Return what a part is of: the settings, and the file with its size and time."""
        work, job = self.work, self.resolved.job()
        step = self.resolved.asked.filter
        asked = structs.replace(self.resolved.chosen, device=self.resolved.device.kind)
        settings: list[object] = [
            repr(asked), job.task.labels(job).get("weights_digest"),
            step and [step.mask.anchor, step.mask.offset],
            job.problem.result_dtype, str(self.dtype), work.range, work.filters_alpha, work.metadata,
            work.verify, repr(replace(storage, details={})), self.picture.channels,
        ]  # fmt: skip
        digest = hashlib.sha256(json.dumps(settings, allow_nan=False).encode()).hexdigest()
        return {"settings": digest, "source": identity_of(self.picture.path)}

    def _check_disk(self, storage: Storage) -> None:
        """Refuse a result that the disk has no room for."""
        picture = self.picture
        pixels = picture.height * picture.width * picture.channels
        needed = pixels * self.dtype.itemsize
        if storage.compression != "none":
            # About as well compressed as the source.
            share = min(1.0, stored_bytes(picture.path) / (pixels * picture.dtype.itemsize))
            needed = int(needed * share)
        if storage.smallest is not None:
            needed += needed // 3 + pixels * self.dtype.itemsize // 3
        needed -= needed * self.state.rows // picture.height
        free, folder = self.part.free_bytes(), self.part.output.parent
        if needed + _SPARE_DISK_BYTES > free:
            room = f"the disk of {folder} has {bytes_text(free)} free"
            why = f"the result takes about {bytes_text(needed)}, {room}"
            remedy = "Free some space, or choose another disk."
            raise FileWriteError(f"{self.output} cannot be written", why, remedy)

    def first_pass(self) -> None:
        """Find the smallest and the largest value, where the range needs them."""
        is_needed = self.resolved.problem.result_dtype == "float32" and self.work.range == "rescale"
        if not is_needed or self.state.ends is not None:
            return
        ends = [np.inf, -np.inf]

        def take(part: Part) -> None:
            values = part.values
            if self.picture.has_alpha and self.work.filters_alpha:
                values = values[..., :-1]
            low, high = finite_range(values)
            ends[:] = min(ends[0], low), max(ends[1], high)
            self._report(part, "looking for the range", 0.0, 0.5)

        filter_rows(self.picture, self.resolved, self.rows_planned, take)
        # Without a finite value all is 0.
        self.state.ends = (ends[0], ends[1]) if ends[0] <= ends[1] else (0.0, 0.0)
        self.notes.append("It was filtered twice: --range rescale needs the range of all results first.")

    def filter(self) -> None:
        """Filter the picture and write the result."""
        picture, state, level = self.picture, self.state, self._rows
        assert level is not None
        if state.rows >= picture.height:
            return
        # Of bands whose rows are not written yet: their last row, and what was found of each.
        found: deque[tuple[int, tuple[int, Verification | None, Loss, Clipped]]] = deque()
        share = 0.5 if state.ends is not None and self.resumed_row == 0 else 0.0

        def written(rows: int) -> None:
            state.rows = rows
            while found and found[0][0] <= state.rows:
                state.add(*found.popleft()[1])
            is_even = state.rows % 2 == 0 or state.rows == picture.height
            if is_even and time.monotonic() - self._noted_s >= JOURNAL_S:
                self.note()

        def take(part: Part) -> None:
            proof = self._verified(part) if self.work.verify else None
            saved, loss = self._finished(part)
            rows, job = len(part.values), self.resolved.at(part.image).job()
            clipped = clipped_in_file(job, part.values, self.dtype, self.work.range)
            found.append((part.band.first + rows, (rows, proof, loss, clipped)))
            level.add(saved, written)
            self._report(part, "filtered", share, 1.0)

        filter_rows(picture, self.resolved, self.rows_planned, take, state.rows)
        self.note()

    def _verified(self, part: Part) -> Verification:
        """Compare some of the results of a band with the oracle."""
        job = replace(self.resolved.at(part.image).job(), seed=part.band.first, affordable=BAND_MULTIPLY_ADDS)
        found = job.task.verify(part.all_values, job, lambda fraction: None)
        # Those of its halo too, as it is a picture of its own; they belong to other bands.
        rows, own = len(part.values), len(part.values) / len(part.all_values)
        found = replace(
            found,
            checked_pixels=round(own * found.checked_pixels),
            total_pixels=rows * self.picture.width,
            chosen=f"in each band {found.chosen}" if found.chosen else "",
        )
        where = f"in the rows from {part.band.first:,} on"
        found.refuse_wrong(f"The result of '{job.variant.key}', {where},")
        return replace(found, reason=f"{found.reason}, {where}") if found.is_unproven else found

    def _finished(self, part: Part) -> tuple[np.ndarray, Loss]:
        """Return the samples to save, and what they lose."""
        picture, values = self.picture, part.values
        conversion = Conversion(picture.dtype, self.dtype, self.work.range, self.state.ends)
        is_filtered = self.colours == picture.channels
        if not picture.has_alpha:
            return conversion.samples(values), conversion.loss
        saved = conversion.samples(values[..., :-1] if is_filtered else values)
        alpha = values[..., -1] if is_filtered else part.rows[..., -1]
        return np.dstack([saved, conversion.alpha(alpha, is_filtered=is_filtered)]), conversion.loss

    def _report(self, part: Part, words: str, begin: float, end: float) -> None:
        done = (part.band.first + len(part.values)) / self.picture.height
        self.report(begin + (end - begin) * done, words)

    def note(self) -> None:
        """Write down what is done, once it is on the disk."""
        assert self.result is not None
        self.result.sync()
        self.part.note(self.task, self.state.as_json())
        self._noted_s = time.monotonic()
        self.on_state(self.state.rows, self.picture.height)

    def finish(self) -> None:
        """Write the smaller levels of a pyramid, and give the result its name."""
        assert self.result is not None
        smallest = len(self.result.levels) - 1
        for number in range(max(1, self.state.level), smallest + 1):
            self.state.level = number
            self.note()
            self.report(1.0, f"writing level {number} of {smallest}")
            assert self._rows is not None
            self._rows = self._rows.next_level()
        self.result.finish()
        self.result.close()
        self.part.finish()

    def close(self) -> None:
        """Close the files of the result."""
        if self.result is not None:
            self.result.close()
        self.result = self._rows = None
        self.part.leave()

    def done(self, elapsed_s: float) -> Done:
        """Return what became of the picture."""
        picture, state = self.picture, self.state
        pixels, rows = picture.height * picture.width, self.rows_planned
        lost = state.loss.sentences(pixels * self.colours, self.dtype)
        facts: dict[str, object] = {
            "result_dtype": self.resolved.problem.result_dtype,
            "rows": picture.height, "columns": picture.width, "channels": picture.channels,
            "source_format": picture.format,
            "levels": len(self.result.levels) if self.result is not None else 1,
            "bands": {"band_rows": rows.band_rows},
            "memory_bytes": rows.needed_bytes,
            "resumed_row": self.resumed_row,
        }  # fmt: skip
        return Done(
            self.resolved,
            state.proof if self.work.verify else None,
            (*picture.notes, *self.notes, *lost),
            elapsed_s,
            facts,
            min(rows.band_rows, picture.height),
            pixels * picture.channels * picture.dtype.itemsize,
            Clipped(*(rows / picture.height for rows in state.clipped)),
        )
