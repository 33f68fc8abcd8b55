"""Pictures larger than memory: `filter` and `batch` take them in bands, to a file of the same kinds."""

import hashlib
import json
import os
import time
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.commands.large_bands import bands_for
from engine.commands.large_state import State
from engine.commands.mask_filter import MaskFilter
from engine.commands.operation_filter import OperationFilter
from engine.commands.picture_filter import AnyFilter
from engine.commands.picture_opening import result_dtype
from engine.device_info import ALL_GPUS, DeviceInfo
from engine.errors import BadValue, EngineError, FileWriteError, ImageReadError, VerificationFailed
from engine.files.atomic_write import write_error
from engine.files.output_checks import check_place
from engine.image.colour import full_scale_of
from engine.image.convert import change_alpha_depth, change_depth, finite_range, to_depth
from engine.image.faults import LIBRARY_ERRORS, Refused
from engine.image.large.checked_file import PartDamaged
from engine.image.large.kinds import is_zarr, kind_of_result
from engine.image.large.making import make_result, result_storage
from engine.image.large.opening import open_large
from engine.image.large.part_folder import PartFolder
from engine.image.large.pyramid import ScratchLevel
from engine.image.large.result import LargeResult, RowUnits
from engine.image.large.source import LargePicture
from engine.image.large.storage import Storage
from engine.image.result_picture import Loss, filtered_alpha
from engine.run.task import Choice
from engine.streams.large import LargeStream, Part
from engine.streams.large_plan import LargePlan, free_disk_words, plan_large
from engine.verify.verification import Verification
from engine.work.filtering.clipping import Clipped

# Multiply-adds that the oracle may spend on a band: a few ms, while the kernel takes 20 to 100.
BAND_MULTIPLY_ADDS = 2_000_000
# What is done is written down that often, seconds; it waits for the disk.
JOURNAL_S = 5.0
# The room that a disk keeps for others.
_SPARE_DISK_BYTES = 64 << 20


@dataclass(slots=True)
class Done:
    """What became of a large picture."""

    headline: str
    verification: Verification | None
    notes: tuple[str, ...]
    elapsed_s: float
    document: dict[str, object]
    choice: Choice[Any]
    device: DeviceInfo
    source_bytes: int
    clipped: Clipped
    resumed_row: int = 0


def filter_large(
    how: AnyFilter,
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
    # Each strip or tile is needed once: none is kept.
    with ExitStack() as stack:
        picture = (
            source
            if isinstance(source, LargePicture)
            else stack.enter_context(open_large(source, cache_bytes=0))
        )
        run = _Run(how, picture, output, memory, report, on_state)
        stack.callback(run.close)
        run.prepare()
        try:
            run.first_pass()
            run.filter()
            run.smaller_levels()
            run.finish()
        except (ImageReadError, VerificationFailed):
            # The same would happen again.
            run.close()
            run.part.remove()
            raise
        except OSError as error:
            raise run.write_error(error) from error
        return run.done(time.perf_counter() - begin_s)


class _Run:
    def __init__(
        self,
        how: AnyFilter,
        picture: LargePicture,
        output: str,
        memory: int | None,
        report: Callable[[float, str], None],
        on_state: Callable[[int, int], None],
    ) -> None:
        self.how, self.picture, self.output, self.memory = how, picture, output, memory
        self.report, self.on_state = report, on_state
        self.part = PartFolder(output)
        self.notes: list[str] = []
        self.result: LargeResult | None = None
        self.state = State()
        self.resumed_row = 0
        self._scratch: ScratchLevel | None = None
        self._noted_s = 0.0

    def prepare(self) -> None:
        """Check all that can be checked, and make the file or open what an earlier run has left."""
        how, picture = self.how, self.picture
        asked = how.settings
        kind = kind_of_result(self.output)
        if not kind:
            raise BadValue(
                f"{self.output} cannot be written",
                "a picture that is read in parts is saved in parts, as TIFF, OME-Zarr or .npy",
                "End the name in .tif, .zarr or .npy.",
            )
        _check_place(self.output, kind)
        self.dtype = result_dtype(asked, picture.dtype)
        self.colours = picture.channels
        self._is_operation = isinstance(how, OperationFilter)
        if picture.has_alpha and (asked.alpha == "keep" or not isinstance(how, MaskFilter)):
            self.colours -= 1
        shape = picture.height, picture.width, self.colours
        self.bands = bands_for(how, shape, picture.dtype, self.dtype)
        self.problem, self.device, self.choice = self.bands.problem, self.bands.device, self.bands.choice
        storage, lost = result_storage(picture, kind, metadata=asked.metadata)
        self.part.hold()
        self.task = self._task(storage)
        why = self._continued(storage)
        self._check_disk(storage)
        # Refused before anything is written.
        self.plan = self._plan(storage)
        if self.result is not None:
            self.resumed_row = self.state.rows
            self.notes.append(
                f"An earlier run is continued: {self.state.rows:,} of {picture.height:,} rows were done."
            )
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
        if asked.device == ALL_GPUS and self.device.kind == "cuda":
            self.notes.append("A picture in bands is filtered by one GPU, the first.")

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
            self._close_files()
            return f"that is damaged ({error if isinstance(error, PartDamaged) else 'it cannot be read'})"
        return ""

    def _open(self, storage: Storage, state: State) -> None:
        """Open the files of a result: new ones, or those of an earlier run with its state."""
        result = make_result(self.picture, storage, self.dtype, self.part, state.file)
        self.result = result
        if len(result.levels) > 1:
            level = max(1, state.level)
            self._scratch = ScratchLevel(self.part.folder, level, result, state.scratch)
        self.state = state

    def _plan(self, storage: Storage) -> LargePlan:
        return plan_large(
            self.picture, self.problem, storage, self.dtype, self.memory,
            on_gpu=self.device.kind == "cuda", between=self.bands.between,
            proof_bytes=self.bands.proof_bytes,
        )  # fmt: skip

    def _task(self, storage: Storage) -> dict[str, Any]:
        """Return what a part is of: the settings, and the file with its size and time."""
        how, asked = self.how, self.how.settings
        mask = how.mask
        settings: list[Any] = [
            how.name, self.bands.identity,
            None if mask is None else [mask.weights32.tolist(), mask.anchor, mask.offset],
            str(self.problem.border), self.problem.cval, self.choice.variant.key, self.device.kind,
            self.problem.result_dtype, str(self.dtype), self.bands.range, asked.alpha, list(asked.set),
            *([] if asked.metadata else ["no metadata"]),
            asked.flip, asked.verify, repr(replace(storage, details={})), self.picture.channels,
        ]  # fmt: skip
        digest = hashlib.sha256(json.dumps(settings, allow_nan=False).encode()).hexdigest()
        return {"settings": digest, "source": _identity(self.picture.path)}

    def _check_disk(self, storage: Storage) -> None:
        """Refuse a result that the disk has no room for."""
        picture = self.picture
        pixels = picture.height * picture.width * picture.channels
        needed = pixels * self.dtype.itemsize
        if storage.compression != "none":
            # About as well compressed as the source.
            share = min(1.0, _stored_bytes(picture.path) / (pixels * picture.dtype.itemsize))
            needed = int(needed * share)
        if storage.smallest is not None:
            needed += needed // 3 + pixels * self.dtype.itemsize // 3
        needed -= needed * self.state.rows // picture.height
        free = self.part.free_bytes()
        if needed + _SPARE_DISK_BYTES > free:
            raise FileWriteError(
                f"{self.output} cannot be written",
                free_disk_words(needed, free, self.part.output.parent),
                "Free some space, or choose another disk.",
            )

    def first_pass(self) -> None:
        """Find the smallest and the largest value, where the range needs them."""
        asked = self.how.settings
        is_needed = self.problem.result_dtype == "float32" and self.bands.range == "rescale"
        if self._is_operation or not is_needed or self.state.ends is not None:
            return
        ends = [np.inf, -np.inf]

        def take(part: Part) -> None:
            values = part.values
            if self.picture.has_alpha and asked.alpha == "filter":
                values = values[..., :-1]
            low, high = finite_range(values)
            ends[:] = min(ends[0], low), max(ends[1], high)
            self._report(part, "looking for the range", 0.0, 0.5)

        self._stream(take, 0)
        # Without a finite value all is 0.
        self.state.ends = [float(end) for end in ends] if ends[0] <= ends[1] else [0.0, 0.0]
        self.notes.append("It was filtered twice: --range rescale needs the range of all results first.")

    def filter(self) -> None:
        """Filter the picture and write the result."""
        result, picture, state = self.result, self.picture, self.state
        assert result is not None
        if state.rows >= picture.height:
            return
        shape = picture.height, picture.width, picture.channels
        units = RowUnits(shape, self.dtype, result.rows_at_once, state.rows)
        # Of bands whose rows are not written yet: their last row, and what was found of each.
        found: deque[tuple[int, tuple[int, Verification | None, Loss, Clipped]]] = deque()
        self._noted_s = time.monotonic()
        share = 0.5 if state.ends is not None and self.resumed_row == 0 else 0.0

        def write(top: int, rows: NDArray[Any]) -> None:
            assert self.result is not None
            self.result.write(0, top, rows)
            if self._scratch is not None:
                self._scratch.add(rows)
            state.rows = top + len(rows)
            while found and found[0][0] <= state.rows:
                state.add(*found.popleft()[1])
            is_even = state.rows % 2 == 0 or state.rows == picture.height
            if is_even and time.monotonic() - self._noted_s >= (JOURNAL_S if state.file else 0.0):
                self.note()

        def take(part: Part) -> None:
            proof = self._verified(part) if self.how.settings.verify else None
            saved, loss = self._finished(part)
            rows, clipped = len(part.values), self.bands.clipped(part, picture.dtype, self.dtype)
            found.append((part.top + rows, (rows, proof, loss, clipped)))
            units.add(saved, write)
            self._report(part, "filtered", share, 1.0)

        self._stream(take, state.rows)
        self.note()

    def _stream(self, take: Callable[[Part], None], first_row: int) -> None:
        LargeStream(self.picture, self.problem, self.bands.run, self.plan, take).run(first_row)

    def _verified(self, part: Part) -> Verification:
        """Compare some of the results of a band with the oracle."""
        found = self.bands.verified(part, BAND_MULTIPLY_ADDS)
        where = f"in the rows from {part.top:,} on"
        found.refuse_wrong(f"The result of '{self.choice.variant.key}', {where},")
        return replace(found, reason=f"{found.reason}, {where}") if found.is_unproven else found

    def _finished(self, part: Part) -> tuple[NDArray[Any], Loss]:
        """Return the samples to save, and what they lose."""
        loss = Loss()
        picture, values = self.picture, part.values
        has_filtered_alpha = picture.has_alpha and self.colours == picture.channels
        colours = values[..., :-1] if has_filtered_alpha else values
        if self._is_operation or colours.dtype != np.float32 or self.dtype == np.float32:
            saved = change_depth(colours, self.dtype)
        else:
            ends = None if self.state.ends is None else (self.state.ends[0], self.state.ends[1])
            white = full_scale_of(picture.dtype)
            saved = to_depth(colours, self.dtype, range_mode=self.bands.range, white=white, ends=ends)
        loss.add(colours, saved, picture.dtype, counts_cut=self._is_operation)
        if not picture.has_alpha:
            return saved, loss
        if has_filtered_alpha:
            alpha = values[..., -1]
            if alpha.dtype == np.float32:
                alpha = filtered_alpha(alpha, picture.dtype, self.dtype)
            else:
                alpha = change_alpha_depth(alpha, self.dtype)
        else:
            alpha = change_alpha_depth(part.rows[..., -1], self.dtype)
        return np.dstack([saved, alpha]), loss

    def _report(self, part: Part, words: str, begin: float, end: float) -> None:
        done = (part.top + len(part.values)) / self.picture.height
        self.report(begin + (end - begin) * done, words)

    def note(self) -> None:
        """Write down what is done, once it is on the disk."""
        assert self.result is not None
        self.state.scratch = None if self._scratch is None else self._scratch.state()
        self.state.file = self.result.state()
        self.part.note(self.task, self.state.as_json())
        self._noted_s = time.monotonic()
        self.on_state(self.state.rows, self.picture.height)

    def smaller_levels(self) -> None:
        """Write the smaller levels of a pyramid."""
        assert self.result is not None
        self.state.level = max(1, self.state.level)
        while self._scratch is not None:
            self.note()
            self.report(1.0, f"writing level {self.state.level} of {len(self.result.levels) - 1}")
            self._scratch = self._scratch.write()
            self.state.level += 1

    def finish(self) -> None:
        """Give the result its name."""
        assert self.result is not None
        self.result.finish()
        self.result.close()
        self.part.finish()

    def close(self) -> None:
        """Close the files of the result."""
        self._close_files()
        self.part.leave()

    def _close_files(self) -> None:
        if self._scratch is not None:
            self._scratch.close()
        if self.result is not None:
            self.result.close()
        self._scratch = self.result = None

    def write_error(self, error: OSError) -> EngineError:
        """Return an error of the system in words, with what is kept."""
        found = write_error(self.output, error)
        kept = f"{self.part.folder.name} has what is done: the same command goes on from there."
        return FileWriteError(found.what, found.why, f"{found.remedy} {kept}")

    def done(self, elapsed_s: float) -> Done:
        """Return what became of the picture."""
        picture, state, verify_it = self.picture, self.state, self.how.settings.verify
        pixels = picture.height * picture.width
        lost = state.loss.sentences(pixels * self.colours, self.dtype)
        block, choice, device = self.choice.block, self.choice, self.device
        shown = f", block {block}" if choice.variant.uses_block else ""
        chosen = f" (auto: {choice.reason.clauses})" if choice.reason else ""
        rounded = f", {self.problem.result_dtype} results" if self.problem.result_dtype != "float32" else ""
        where = f"by {choice.variant.key} on {device.title}{shown}{rounded}{chosen}"
        document: dict[str, object] = {
            **self.bands.facts,
            "variant": choice.variant.key,
            "device": device.key,
            "block": {"x": block.x, "y": block.y} if choice.variant.uses_block else None,
            "result_dtype": self.problem.result_dtype,
            "rows": picture.height, "columns": picture.width, "channels": picture.channels,
            "source_format": picture.format,
            "levels": len(self.result.levels) if self.result is not None else 1,
            "bands": {"step_rows": self.plan.step_rows, "band_rows": self.plan.band_rows},
            "memory_bytes": self.plan.needed_bytes,
            "resumed_row": self.resumed_row,
        }  # fmt: skip
        return Done(
            f"{self.bands.text} {where}, in bands of {min(self.plan.band_rows, picture.height):,} rows",
            state.proof.whole(pixels) if verify_it else None,
            (*picture.notes, *self.notes, *lost),
            elapsed_s,
            document,
            choice,
            device,
            pixels * picture.channels * picture.dtype.itemsize,
            Clipped(*(rows / picture.height for rows in state.clipped)),
            self.resumed_row,
        )


def _check_place(output: str, kind: str) -> None:
    """Refuse a path where no result can be written, or where it would replace what is no picture."""
    place = Path(output)
    if kind != "zarr":
        check_place(output)
        return
    if place.is_dir() and not is_zarr(place) and any(place.iterdir()):
        why, remedy = "it is a folder that is no Zarr store", "Choose another name."
        raise FileWriteError(f"{output} cannot be written", why, remedy)
    if place.exists() and not place.is_dir():
        raise FileWriteError(f"{output} cannot be written", "it is a file", "Choose another name.")
    check_place(os.path.join(place.parent, f".{place.name}"))


def _identity(path: Path) -> dict[str, Any]:
    """Return what changes with a file: its name, size and time; of a store those of its metadata."""
    files = [path]
    if path.is_dir():
        names = ("zarr.json", ".zarray", ".zattrs", ".zgroup")
        files = [child for name in names for child in (path / name, path / "0" / name) if child.exists()]
    facts = [(os.path.realpath(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    return {"files": [list(fact) for fact in facts]}


def _stored_bytes(path: Path) -> int:
    """Return the bytes of a file, or of a store."""
    if not path.is_dir():
        return path.stat().st_size
    return sum(
        os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(path) for name in names
    )
