"""A picture larger than memory, in bands, to a file that appears whole or not at all."""

import hashlib
import json
import math
import os
import time
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import msgspec
import numpy as np

from engine.errors import BadValue, EngineError, FileWriteError, ImageReadError, VerificationFailed
from engine.files.atomic_write import check_place, write_error
from engine.flow.rows import RowBand, filter_rows, plan_memory
from engine.geometry.border import RangeMode, Span
from engine.image.convert import finite_range
from engine.image.faults import LIBRARY_ERRORS, Refused
from engine.image.large.opening import kind_of, kind_of_result, make_result, open_large, result_storage
from engine.image.large.result import LargeResult, LevelRows, PartDamaged, PartFolder
from engine.image.large.source import LargePicture, Storage
from engine.image.save import Conversion, Loss
from engine.process import bytes_text
from engine.verify.closeness import NOTHING, Verification
from engine.work.filtering.clipping import Clipped, clipped_in_file
from engine.work.resolve import Resolved

# Multiply-adds that the oracle may spend on a band: a few ms, while the kernel takes 20 to 100.
BAND_MULTIPLY_ADDS = 2_000_000
# What is done is written down that often, seconds; it waits for the disk.
JOURNAL_S = 5.0
# What stays free on a disk, for others.
_FREE_DISK_BYTES = 64 << 20


# A chooser tells no larger pictures apart, and what looks at all samples has fewer to look at.
_MOST_ROWS = 1024


@dataclass(slots=True)
class JournalState:
    """What is done of a result, as its journal has it."""

    rows: int = 0
    proof: Verification = NOTHING  # of all bands
    loss: Loss = field(default_factory=Loss)
    ends: tuple[float, float] | None = None
    # Rows whose values are below black and above white, by the share of each band.
    clipped: list[float] = field(default_factory=lambda: [0.0, 0.0])
    # The level of the pyramid that is being written; 0: the full size.
    level: int = 0


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


@dataclass(kw_only=True, eq=False)
class FileFilter:
    """Filters a picture in bands to a file, `output`, that appears whole or not at all; `run` it once.

    Attributes
    ----------
    resolve : callable of (samples, type)
        Chooses device and variants for samples (H, W, C), whose values are not looked at, of a result that is
        saved in a type; `saved_type` returns that for the type of the picture.
    range : str, optional
        What becomes of float32 values out of range; None: they have the range of the picture's type.
    memory : int, optional
        The most bytes that this process takes; None: enough to be fast.
    report : callable of (fraction done, words)
        Called from time to time. Called on: any thread.
    on_state : callable of (rows that are written down as done, rows)
        Called on: any thread.
    """

    output: str
    resolve: Callable[[np.ndarray, np.dtype], Resolved]
    saved_type: Callable[[np.dtype], np.dtype]
    range: RangeMode | None
    filters_alpha: bool = False
    verify: bool = True
    metadata: bool = True
    memory: int | None = None
    report: Callable[[float, str], None] = lambda fraction, words: None
    on_state: Callable[[int, int], None] = lambda rows, height: None

    def run(self, source: str | LargePicture) -> Done:
        """Filter a file that is read in parts, or a picture that is open, and stays so."""
        begin_s = time.perf_counter()
        self._part, self._state, self._resumed_row = PartFolder(self.output), JournalState(), 0
        self._notes: list[str] = []
        self._result: LargeResult | None = None
        self._noted_s = -math.inf
        with ExitStack() as stack:
            if not isinstance(source, LargePicture):
                source = stack.enter_context(open_large(source))
            self._picture = picture = source
            stack.callback(self._close)
            self._prepare()
            try:
                self._find_range()
                self._filter()
                levels = self._finish()
            except (ImageReadError, VerificationFailed):
                # The same would happen again.
                self._close()
                self._part.remove()
                raise
            except OSError as error:
                failure = write_error(self.output, error)
                kept = f"{self._part.folder.name} has what is done: the same command goes on from there."
                raise FileWriteError(failure.what, failure.why, f"{failure.remedy} {kept}") from error
            pixels, plan, state = picture.height * picture.width, self._plan, self._state
            lost = state.loss.sentences(pixels * self._colours, self._dtype)
            facts: dict[str, object] = {
                "result_dtype": self._resolved.problem.result_dtype,
                "rows": picture.height, "columns": picture.width, "channels": picture.channels,
                "source_format": picture.format,
                "levels": levels,
                "bands": {"band_rows": plan.band_rows},
                "memory_bytes": plan.needed_bytes,
                "resumed_row": self._resumed_row,
            }  # fmt: skip
            return Done(
                self._resolved,
                state.proof if self.verify else None,
                (*picture.notes, *self._notes, *lost),
                time.perf_counter() - begin_s,
                facts,
                min(plan.band_rows, picture.height),
                pixels * picture.channels * picture.dtype.itemsize,
                Clipped(*(rows / picture.height for rows in state.clipped)),
            )

    def _prepare(self) -> None:
        """Check all that can be checked, and make the file or open what an earlier run has left."""
        picture, kind, place = self._picture, kind_of_result(self.output), Path(self.output)
        what = f"{self.output} cannot be written"
        if not kind:
            why = "a picture that is read in parts is saved in parts, as TIFF, OME-Zarr or .npy"
            raise BadValue(what, why, "End the name in .tif, .zarr or .npy.")
        # It would replace what is no picture.
        if kind == "zarr" and place.exists():
            if not place.is_dir():
                raise FileWriteError(what, "it is a file", "Choose another name.")
            if kind_of(place) != "zarr" and any(place.iterdir()):
                raise FileWriteError(what, "it is a folder that is no Zarr store", "Choose another name.")
        check_place(os.path.join(place.parent, f".{place.name}") if kind == "zarr" else self.output)
        self._dtype = self.saved_type(picture.dtype)
        self._colours = picture.channels - (picture.has_alpha and not self.filters_alpha)
        # The shape alone: it takes no memory.
        shape = min(picture.height, _MOST_ROWS), picture.width, self._colours
        self._resolved = self.resolve(np.broadcast_to(np.zeros((), picture.dtype), shape), self._dtype)
        direct = 'Name a direct variant, or "auto", or leave --variant out.'
        whole = "Give more memory (--max-bytes, without --memory), or take a smaller picture."
        self._resolved.refuse_cut("a picture in bands", direct, whole)
        self._resolved.refuse()
        storage, lost = result_storage(picture, kind, metadata=self.metadata)
        self._part.hold()
        self._task = self._described(storage)
        why = self._continued(storage)
        self._check_disk(storage)
        # Refused before anything is written.
        of_file = self._resolved, storage, self._dtype
        self._plan = plan_memory(picture, *of_file, self.memory, verify=self.verify)
        if self._result is not None:
            self._resumed_row, self._noted_s = self._state.rows, time.monotonic()
            rows = f"{self._state.rows:,} of {picture.height:,} rows"
            self._notes.append(f"An earlier run is continued: {rows} were done.")
        else:
            if self._part.begin():
                self._notes.append(f"{self._part.folder.name}, of an earlier run {why}, was begun anew.")
            try:
                self._open(storage, JournalState())
            except EngineError:
                self._close()
                self._part.remove()
                raise
        self._notes += lost

    def _described(self, storage: Storage) -> dict[str, object]:
        """Return what a part is of: the settings, and the file with its size and time."""
        job, step = self._resolved.job(), self._resolved.request.filter
        chosen = msgspec.structs.replace(self._resolved.chosen, device=self._resolved.device.kind)
        settings: list[object] = [
            repr(chosen), job.task.labels(job).get("weights_digest"),
            step and [step.mask.anchor, step.mask.offset],
            job.problem.result_dtype, str(self._dtype), self.range, self.filters_alpha, self.metadata,
            self.verify, repr(replace(storage, details={})), self._picture.channels,
        ]  # fmt: skip
        digest = hashlib.sha256(json.dumps(settings, allow_nan=False).encode()).hexdigest()
        files = [path := self._picture.path]
        if path.is_dir():
            names = ("zarr.json", ".zarray", ".zattrs", ".zgroup")
            files = [child for name in names for child in (path / name, path / "0" / name) if child.exists()]
        facts = [[os.path.realpath(file), file.stat().st_size, file.stat().st_mtime_ns] for file in files]
        return {"settings": digest, "source": {"files": facts}}

    def _continued(self, storage: Storage) -> str:
        """Open what an earlier run has left, if it is whole; else return why it is begun anew."""
        try:
            done = self._part.done_by(self._task)
        except PartDamaged as error:
            return f"that is damaged ({error})"
        if done is None:
            return "with other settings"
        self.report(0.0, "checking what an earlier run has done")
        try:
            self._open(storage, msgspec.convert(done, JournalState, strict=False))
        except (PartDamaged, Refused, ImageReadError, *LIBRARY_ERRORS) as error:
            return f"that is damaged ({error if isinstance(error, PartDamaged) else 'it cannot be read'})"
        return ""

    def _open(self, storage: Storage, state: JournalState) -> None:
        """Open the files of a result: new ones, or those of an earlier run with its state."""
        result = make_result(self._picture, storage, self._dtype, self._part)
        self._rows = LevelRows(result, self._part, max(0, state.level - 1), state.rows)
        self._result, self._state = result, state

    def _check_disk(self, storage: Storage) -> None:
        picture, path = self._picture, self._picture.path
        pixels = picture.height * picture.width * picture.channels
        needed = pixels * self._dtype.itemsize
        if storage.compression != "none":
            # About as well compressed as the source, a file or a store.
            stored = path.stat().st_size
            if path.is_dir():
                files = (os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names)
                stored = sum(map(os.path.getsize, files))
            needed = int(needed * min(1.0, stored / (pixels * picture.dtype.itemsize)))
        if storage.smallest is not None:
            needed += needed // 3 + pixels * self._dtype.itemsize // 3
        needed -= needed * self._state.rows // picture.height
        free, folder = self._part.free_bytes(), self._part.output.parent
        if needed + _FREE_DISK_BYTES > free:
            there = f"the disk of {folder} has {bytes_text(free)} free"
            why = f"the result takes about {bytes_text(needed)}, {there}"
            remedy = "Free some space, or choose another disk."
            raise FileWriteError(f"{self.output} cannot be written", why, remedy)

    def _find_range(self) -> None:
        is_needed = self._resolved.problem.result_dtype == "float32" and self.range == "rescale"
        if not is_needed or self._state.ends is not None:
            return
        ends, is_alpha_in = [np.inf, -np.inf], self._picture.has_alpha and self.filters_alpha

        def take(work: RowBand) -> None:
            low, high = finite_range(work.values[..., :-1] if is_alpha_in else work.values)
            ends[:] = min(ends[0], low), max(ends[1], high)
            self.report(0.5 * work.band.last / self._picture.height, "looking for the range")

        filter_rows(self._picture, self._resolved, self._plan, take)
        # Without a finite value all is 0.
        self._state.ends = (ends[0], ends[1]) if ends[0] <= ends[1] else (0.0, 0.0)
        self._notes.append("It was filtered twice: --range rescale needs the range of all results first.")

    def _filter(self) -> None:
        picture, state = self._picture, self._state
        if state.rows >= picture.height:
            return
        # Bands whose rows are not written yet, each with its proof, loss and clipping.
        unwritten: deque[tuple[Span, Verification | None, Loss, Clipped]] = deque()
        share = 0.5 if state.ends is not None and self._resumed_row == 0 else 0.0

        def written(rows: int) -> None:
            state.rows = rows
            while unwritten and unwritten[0][0].last <= rows:
                band, proof, loss, clipped = unwritten.popleft()
                (below, above), count = state.clipped, band.last - band.first
                state.clipped = [below + count * clipped.below, above + count * clipped.above]
                state.proof = state.proof if proof is None else state.proof.joined(proof)
                state.loss.merge(loss)
            is_even = rows % 2 == 0 or rows == picture.height
            if is_even and time.monotonic() - self._noted_s >= JOURNAL_S:
                self._note()

        def take(work: RowBand) -> None:
            proof = self._verified(work) if self.verify else None
            saved, loss = self._converted(work)
            clipped = clipped_in_file(work.request.job(), work.values, self._dtype, self.range)
            unwritten.append((work.band, proof, loss, clipped))
            self._rows.add(saved, written)
            self.report(share + (1.0 - share) * work.band.last / picture.height, "filtered")

        filter_rows(picture, self._resolved, self._plan, take, state.rows)
        self._note()

    def _verified(self, work: RowBand) -> Verification:
        """Compare some of the results of a band with the oracle."""
        job = replace(work.request.job(), seed=work.band.first, affordable=BAND_MULTIPLY_ADDS)
        proof = job.task.verify(work.out, job, lambda fraction: None)
        # Those of its halo too, as it is a picture of its own; they belong to other bands.
        rows, own = len(work.values), len(work.values) / len(work.out)
        proof = replace(
            proof,
            checked_pixels=round(own * proof.checked_pixels),
            total_pixels=rows * self._picture.width,
            chosen=f"in each band {proof.chosen}" if proof.chosen else "",
        )
        where = f"in the rows from {work.band.first:,} on"
        proof.refuse_wrong(f"The result of '{job.variant.key}', {where},")
        return replace(proof, reason=f"{proof.reason}, {where}") if proof.is_unproven else proof

    def _converted(self, work: RowBand) -> tuple[np.ndarray, Loss]:
        """Return the samples to save, and what they lose."""
        picture, values = self._picture, work.values
        conversion = Conversion(picture.dtype, self._dtype, self.range, self._state.ends)
        is_filtered = self._colours == picture.channels
        if not picture.has_alpha:
            return conversion.samples(values), conversion.loss
        saved = conversion.samples(values[..., :-1] if is_filtered else values)
        alpha = values[..., -1] if is_filtered else work.rows[..., -1]
        return np.dstack([saved, conversion.alpha(alpha, is_filtered=is_filtered)]), conversion.loss

    def _note(self) -> None:
        """Write down what is done, once it is on the disk."""
        assert self._result is not None
        self._result.sync()
        done = asdict(self._state)
        # As text: they may be infinite.
        done["proof"] |= {name: repr(done["proof"][name]) for name in ("max_error", "bound")}
        self._part.note(self._task, done)
        self._noted_s = time.monotonic()
        self.on_state(self._state.rows, self._picture.height)

    def _finish(self) -> int:
        """Write the smaller levels of a pyramid, and give the result its name; return how many it has."""
        assert self._result is not None
        levels = len(self._result.levels)
        for number in range(max(1, self._state.level), levels):
            self._state.level = number
            self._note()
            self.report(1.0, f"writing level {number} of {levels - 1}")
            self._rows = self._rows.next_level()
        self._result.finish()
        self._result.close()
        self._part.finish()
        return levels

    def _close(self) -> None:
        if self._result is not None:
            self._result.close()
        self._part.leave()
