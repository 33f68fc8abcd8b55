"""The plan of a batch: which files, what is done with them, on which device, and where each result goes."""

import glob
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from engine.cluster import SchedulerAddress
from engine.commands.arguments import OneOf, Settings, group, operands, option, required
from engine.commands.batch_watch import watched
from engine.commands.picture_opening import form_in_parts
from engine.commands.picture_work import PictureWork, work_for
from engine.commands.step_options import SavingOptions, StepOptions
from engine.device.device_list import has_driver
from engine.device.devices import device_named
from engine.device.launches import DeviceKind
from engine.device_info import AUTO, DeviceInfo
from engine.errors import BadValue, EngineError, FileWriteError, ImageReadError
from engine.files.atomic_write import check_place, make_folder, path_text
from engine.image.format import Form, Format
from engine.image.formats import FORMATS, format_to_save, in_words, offered_suffixes, opened_suffixes, titles
from engine.image.large.opening import SUFFIXES, kind_of, kind_of_result
from engine.image.open import open_image
from engine.image.picture import Picture
from engine.image.save import check_holds, saved_format
from engine.run.task import devices_for


@dataclass(frozen=True, slots=True)
class PictureFile:
    """One picture of a batch: its file, the file for its result and its format, or why it is not filtered.

    There is a format where there is no refusal and it is not filtered `in_parts`. `replaces` says whether the
    result may replace a file, `is_done` that it is there already and left as it is.
    """

    source: str
    target: str
    saved_as: Format | None
    refusal: EngineError | None = None
    replaces: bool = False
    in_parts: bool = False
    is_done: bool = False

    @property
    def absolute(self) -> "PictureFile":
        """The same in every folder, as where a worker was started."""
        return replace(self, source=os.path.abspath(self.source), target=os.path.abspath(self.target))

    @property
    def names(self) -> tuple[str, str]:
        """The file and its result: the same in another process, where a refusal is another object."""
        return self.source, self.target


_KEEP = "keep"


def _formats() -> tuple[str, ...]:
    return _KEEP, *(suffix.lstrip(".") for suffix in offered_suffixes())


@dataclass(frozen=True, kw_only=True)
class BatchSettings(Settings):
    """What `batch` takes."""

    about = (
        "Results keep the names of their pictures. Each is verified before it is saved (large ones on edges "
        "and a grid), and appears whole or not at all; nothing is replaced without --overwrite. A file "
        "that fails is listed with its reason and does not stop the others; the exit status is not 0 then. "
        "On a GPU the pictures go through in one stream, copies beside kernels."
    )
    examples = (
        "photos --out soft --mask gaussian:9:1.5 --border mirror",
        "a.jpg b.jpg c.png --out edges --mask sobel-x --range absolute --format png",
        "scans --recursive --out sharper --mask sharpen --result-type same --overwrite",
        '"shots/*.tif" --out out --mask box:31 --no-verify --json',
    )

    inputs: tuple[str, ...] = operands("IN  pictures, folders of pictures, or patterns in quotes")
    out: str = required("--out FOLDER  folder for the results; it is made if it does not exist", str)
    format: str = option(
        lambda: (
            f"--format FORMAT  of the results: {', '.join(_formats())} (keep: each picture's own; "
            f"{titles((known for known in FORMATS if known.encode is None), 'and')} are not written)"
        ),
        _KEEP,
        lambda text: OneOf("--format", _formats())(text),
    )
    recursive: bool = option(
        "--recursive  also search the folders within folders, and make them in --out", False
    )
    scheduler: SchedulerAddress | None = option(
        """--scheduler ADDRESS  let the workers of a Dask cluster filter, each file on one core: tcp://host:8786,
        tls://host:8786, or local:2 for two processes on this machine (docs/cluster.md)""",
        None,
        SchedulerAddress.parse,
    )
    overwrite: bool = option("--overwrite  replace files of the same names", False)
    skip_existing: bool = option(
        "--skip-existing  leave out pictures whose results are there: go on where a batch was stopped", False
    )
    dry_run: bool = option(
        "--dry-run  write nothing; list what would be filtered, left out and refused, with its reason", False
    )
    steps: StepOptions = group(StepOptions)
    saving: SavingOptions = group(SavingOptions)

    def __post_init__(self) -> None:
        """Refuse options that do not belong together."""
        self.steps.check(self.saving)
        if self.skip_existing and self.overwrite:
            why = "one leaves the results that are there, the other replaces them"
            raise BadValue("--skip-existing with --overwrite", why, "Give one of the two.")


def files_for(
    settings: BatchSettings, how: PictureWork, on_note: Callable[[str], object]
) -> list[PictureFile]:
    """Return the pictures of a batch, in the order of the inputs.

    They are files, folders, and patterns that no shell has expanded. A folder gives its files with a
    picture's extension, in order of their names, without hidden ones; a recursive search makes its subfolders
    in the one for the results too, and never looks into that itself. A folder that cannot be searched is a
    file that is refused. A picture whose result is there is done, where such are to be skipped; what is no
    whole picture is refused. A link beside its picture is a picture too, as its name is another; a link to a
    folder is not followed, which `on_note` reports.
    """
    files: list[PictureFile] = []
    seen_targets: dict[str, str] = {}
    sources: dict[str, tuple[str, str]] = {}
    for source, name in _sources(settings.inputs, settings, on_note):
        sources.setdefault(_entry(source), (source, name))
    real_sources = {os.path.realpath(source) for source, _ in sources.values()}
    for source, name in sources.values():
        stem, own = os.path.splitext(name)
        suffix = own if settings.format == _KEEP else f".{settings.format}"
        target = os.path.join(settings.out, stem + suffix)
        real_target, in_parts = os.path.realpath(target), how.is_in_parts(source, target)
        saved_as = None if in_parts else format_to_save(target)
        is_written = saved_as is not None or (in_parts and kind_of_result(target) != "")
        is_there = is_written and os.path.lexists(target) and not _is_same(source, target)
        is_done = settings.skip_existing and is_there
        refusal = _refusal(settings, source, target, is_written, is_done, seen_targets.get(real_target))
        if refusal is None and real_target != os.path.realpath(source) and real_target in real_sources:
            remedy = "Choose another folder for the results, or another --format."
            refusal = BadValue(f"{target} cannot be written", "it is another picture of this batch", remedy)
        if refusal is None:
            seen_targets[real_target] = source
        is_done = is_done and refusal is None
        files.append(PictureFile(source, target, saved_as, refusal, settings.overwrite, in_parts, is_done))
    return files


def _sources(
    inputs: Sequence[str], settings: BatchSettings, on_note: Callable[[str], object]
) -> Iterator[tuple[str, str]]:
    """Yield each file with its name below the folder for the results."""
    own_results, suffixes = os.path.realpath(settings.out), (*opened_suffixes(), *SUFFIXES)
    for source in inputs:
        if is_unmatched_pattern(source) and (matches := sorted(glob.glob(source, recursive=True))):
            # On Windows a program expands patterns itself. Folders are searched as if a shell had.
            yield from _sources(matches, settings, on_note)
            continue
        if not os.path.isdir(source) or kind_of(source) == "zarr":
            yield source, os.path.basename(os.path.normpath(source))
            continue
        paths: list[str] = []
        unread: list[OSError] = []
        # Left to itself, `os.walk` passes over a folder that may not be read.
        for parent, folders, files in os.walk(source, onerror=unread.append):
            named = (name for name in folders if name.endswith(".zarr"))
            stores = [name for name in named if kind_of(Path(parent, name)) == "zarr"]
            folders[:] = sorted(
                name
                for name in folders
                if settings.recursive
                and name not in stores
                and not name.startswith(".")
                and os.path.realpath(os.path.join(parent, name)) != own_results
            )
            for linked in filter(os.path.islink, (os.path.join(parent, name) for name in folders)):
                on_note(f"{linked} is a link to a folder and is not searched: name it beside the others")
            known = (name for name in sorted([*files, *stores]) if Path(name).suffix.lower() in suffixes)
            paths += (os.path.join(parent, name) for name in known if not name.startswith("."))
        paths += (error.filename for error in unread)
        yield from ((path, os.path.relpath(path, source)) for path in paths)


def _entry(path: str) -> str:
    """Return the one name of an entry of a folder: a link beside the file that it leads to is another one."""
    folder, last = os.path.split(path.rstrip("/"))
    is_name = last not in ("", ".", "..")
    return os.path.join(os.path.realpath(folder), last) if is_name else os.path.realpath(path)


def is_unmatched_pattern(source: str) -> bool:
    """Return whether the name of a source is a pattern, and not the name of a file."""
    return glob.has_magic(source) and not os.path.lexists(source)


def _refusal(
    settings: BatchSettings, source: str, target: str, is_written: bool, is_done: bool, other: str | None
) -> EngineError | None:
    """Return why a picture cannot be filtered; `other` is the picture whose result has the same name."""
    if is_unmatched_pattern(source):
        remedy = "Check the folder and the name; * stands for any letters, ? for one."
        return ImageReadError(source, "it is a pattern, and no file matches it", remedy)
    if os.path.isdir(source) and kind_of(source) != "zarr":
        remedy = "Check its permissions, or leave it out."
        return ImageReadError(f"{source} cannot be searched", "this folder cannot be read", remedy)
    if not os.path.exists(source):
        try:
            open_image(source)
        except EngineError as error:
            return error
    if not is_written:
        extension = os.path.splitext(target)[1].lower()
        names = in_words(suffix.lstrip(".") for suffix in offered_suffixes())
        why = f"{extension} files are not written" if extension else "its name has no extension"
        return BadValue(f"{target} cannot be written", why, f"Choose what to write: --format {names}.")
    if other is not None:
        remedy = "Filter them into different folders, or give one of them another name."
        return BadValue(f"{target} cannot be written", f"the result of {other} has the same name", remedy)
    if is_done and not os.path.isdir(target):  # a store gets its name when it is whole
        try:
            # `batch` writes whole files, others may not have.
            header_form(target)
        except EngineError as error:
            remedy = "Remove it, or replace it with --overwrite."
            return BadValue(target, f"it exists and is no whole picture: {error.why}", remedy)
    if settings.overwrite or is_done:
        return None
    if _is_same(source, target):
        or_lose = "" if settings.skip_existing else ", or --overwrite to lose the picture"
        remedy = f"Give --out another folder{or_lose}."
        return BadValue(f"{target} is the picture itself", "its result would replace it", remedy)
    return why_not_new(target)


class _HeaderRead(Exception):
    """The header of a picture is read, and its form is known."""


def header_form(path: str, **limits: Any) -> Form:
    """Return a picture's form, upright, from its header alone; `limits` and errors are of `open_image`."""
    forms: list[Form] = []

    def note(form: Form) -> tuple[np.ndarray, np.ndarray | None]:
        forms.append(form)
        raise _HeaderRead

    watched.say_begun(path)
    with suppress(_HeaderRead):
        open_image(path, allocate=note, **limits)
    return forms[0]


def _is_same(source: str, target: str) -> bool:
    return os.path.exists(target) and os.path.samefile(source, target)


def why_not_new(target: str) -> EngineError | None:
    """Return why a result is not written where nothing may be replaced; None where nothing has its name."""
    if not os.path.lexists(target):
        return None
    return BadValue(target, "it exists; use --overwrite to replace it")


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """What is done with which files, on which device, and the notes on it."""

    how: PictureWork
    files: Sequence[PictureFile]
    device: DeviceInfo
    notes: Sequence[str]
    out: str = ""
    scheduler: SchedulerAddress | None = None  # of the cluster that filters; None: this machine does
    skipped: Sequence[PictureFile] = ()  # done before, beside `files`


def planned(settings: BatchSettings) -> BatchPlan:
    """Return the plan; refuse what is wrong with every picture. Without --dry-run the folder is made."""
    how = work_for(settings.steps, settings.saving)
    if settings.scheduler is not None:
        request, why = how.request, "workers filter on their CPUs"
        if request.named is not None and request.named.device is not DeviceKind.CPU:
            what = f"--variant {request.variant} with --scheduler"
            raise BadValue(what, why, "Choose a CPU variant, or leave it out.")
        if request.device not in (AUTO, "cpu"):
            raise BadValue(f"--device {request.device} with --scheduler", why, "Leave it out.")
        how = how.on("cpu")
    notes = [*_check(how, settings)]
    files = files_for(settings, how, notes.append)
    if not files:
        remedy = "Add --recursive to look into its folders too, or name the files."
        what = f"{', '.join(settings.inputs)}: nothing to filter"
        raise BadValue(what, "there is no picture in it", remedy)
    sources = [file.source for file in files]
    if files[0].refusal is not None and not any(map(os.path.lexists, map(os.path.abspath, sources))):
        # No picture failed: a name is wrong.
        raise files[0].refusal
    folder = settings.out or "."
    if not settings.dry_run:
        make_folder(folder, with_parents=True)
    else:
        # Of one that is not there the nearest is checked.
        folder = os.path.abspath(path_text(folder))
        while not os.path.lexists(folder):
            folder = os.path.dirname(folder)
    try:
        check_place(os.path.join(folder, "result"))
    except FileWriteError as error:
        what = f"No result can be written into the folder {folder!r}"
        raise FileWriteError(what, error.why, "Choose another folder.") from error
    skipped, files = [file for file in files if file.is_done], [file for file in files if not file.is_done]
    # One that is filtered in bands has the machine for itself, and chooses for itself.
    how, device, hints = choose_device(how, [file for file in files if not file.in_parts] or files or skipped)
    written = [file.saved_as for file in files if file.saved_as is not None]
    notes = [*notes, *hints, *how.saving.unused_quality(written)]
    return BatchPlan(how, files, device, notes, settings.out, settings.scheduler, skipped)


def _check(how: PictureWork, settings: BatchSettings) -> list[str]:
    probe = Picture(np.zeros((1, 1), np.uint8), np.zeros((1, 1), np.uint8))
    dtype = how.saved_type(probe.dtype)
    if settings.format != _KEEP and how.saving.depth != _KEEP:
        saved_as = saved_format(f"picture.{settings.format}")
        try:
            check_holds(saved_as, dtype, 1, 1, "")
        except EngineError as error:
            what = f"--format {settings.format} with --depth {how.saving.depth}"
            raise BadValue(what, error.why, error.remedy) from error
    return how.check(probe)


def choose_device(
    how: PictureWork, files: Sequence[PictureFile]
) -> tuple[PictureWork, DeviceInfo, list[str]]:
    """Return what is done with its device, the device, and a sentence where `auto` leaves a GPU out.

    With `auto` the device is chosen for the whole batch: a GPU only where that helps all of it.
    """
    if how.request.named is not None or how.request.device != AUTO:
        return how, devices_for(how.request.named, how.request.device)[0], []
    why: str | None = ""
    if has_driver():
        # Judged by the size of the first picture that can be opened.
        form = None
        for file in (one for one in files if one.refusal is None):
            with suppress(EngineError):
                form = form_in_parts(file.source) if file.in_parts else header_form(file.source)
                break
        why = how.why_not_gpu(form, len(files)) if form else "no picture can be opened"
    device = device_named(AUTO if why is None else "cpu")
    notes = [f"The CPU filters: {why}. --device cuda takes the GPU."] if why else []
    return how.on(device.key), device, notes
