"""The plan of a batch: which files, what is done with them, and on which device."""

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from engine.cluster import SchedulerAddress
from engine.commands.arguments import Settings, group, operands, option, required
from engine.commands.batch_files import PictureFile, files_for, header_form, is_unmatched_pattern
from engine.commands.option_readers import OneOf
from engine.commands.picture_opening import form_in_parts, is_in_parts, result_form
from engine.commands.picture_work import PictureWork, work_for
from engine.commands.saving_options import SavingOptions
from engine.commands.step_options import StepOptions
from engine.device.cuda_presence import has_driver
from engine.device.devices import device_named
from engine.device.launches import DeviceKind
from engine.device_info import AUTO, DeviceInfo
from engine.errors import BadValue, EngineError, FileWriteError
from engine.files.atomic_write import path_text
from engine.files.output_checks import check_place, make_folder
from engine.image.form import Form
from engine.image.formats import FORMATS, offered_suffixes, titles
from engine.image.picture import Picture
from engine.image.save import check_holds, saved_format
from engine.run.device_choice import device_for

_KEEP = "keep"


def _format_text() -> str:
    not_written = titles((known for known in FORMATS if known.encode is None), "and")
    keep = f"keep: each picture's own; {not_written} are not written"
    return f"--format FORMAT  of the results: {', '.join(_formats())} ({keep})"


def _formats() -> tuple[str, ...]:
    return _KEEP, *(suffix.lstrip(".") for suffix in offered_suffixes())


def _format(text: str) -> str:
    return OneOf("--format", _formats())(text)


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
    format: str = option(_format_text, _KEEP, _format)
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


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """What is done with which files, on which device, and what is to be said of it."""

    how: PictureWork
    files: Sequence[PictureFile]
    device: DeviceInfo
    notes: Sequence[str]
    out: str = ""
    scheduler: SchedulerAddress | None = None  # of the cluster that filters; None: this machine does
    skipped: Sequence[PictureFile] = ()  # done before, beside `files`


def planned(settings: BatchSettings) -> BatchPlan:
    """Return the plan; refuse what is wrong with every picture, and make the folder for the results.

    With `--dry-run` the folder is not made.
    """
    how = work_for(settings.steps, settings.saving)
    if settings.scheduler is not None:
        how = _on_workers(how)
    notes = [*_check(how, settings)]
    files = files_for(
        settings.inputs,
        settings.out,
        extension="" if settings.format == _KEEP else f".{settings.format}",
        recursive=settings.recursive,
        overwrite=settings.overwrite,
        skip_existing=settings.skip_existing,
        in_parts=lambda source, target: is_in_parts(source, target, how.asked, how.saving),
        on_note=notes.append,
    )
    if not files:
        remedy = "Add --recursive to look into its folders too, or name the files."
        what = f"{', '.join(settings.inputs)}: nothing to filter"
        raise BadValue(what, "there is no picture in it", remedy)
    if files[0].refusal is not None and all(is_unmatched_pattern(file.source) for file in files):
        raise files[0].refusal
    if settings.dry_run:
        _check_folder(settings.out)
    else:
        _prepare_folder(settings.out or ".")
    skipped, files = [file for file in files if file.is_done], [file for file in files if not file.is_done]
    # One that is filtered in bands has the machine for itself, and chooses for itself.
    how, device, why = settled(how, [file for file in files if not file.in_parts] or files or skipped)
    written = [file.saved_as for file in files if file.saved_as is not None]
    notes = [*notes, *why, *how.saving.unused_quality(written)]
    return BatchPlan(how, files, device, notes, settings.out, settings.scheduler, skipped)


def _on_workers(how: PictureWork) -> PictureWork:
    """Return the filter on the CPU of a worker; refuse another device."""
    asked = how.asked
    if asked.variant != AUTO and how.named_variant().device is not DeviceKind.CPU:
        why = "workers filter on their CPUs"
        raise BadValue(
            f"--variant {asked.variant} with --scheduler", why, "Choose a CPU variant, or leave it out."
        )
    if asked.device not in (AUTO, "cpu"):
        raise BadValue(
            f"--device {asked.device} with --scheduler", "workers filter on their CPUs", "Leave it out."
        )
    return how.on("cpu")


def _check(how: PictureWork, settings: BatchSettings) -> list[str]:
    pixel = np.zeros((1, 1), np.uint8)
    probe = Picture(pixel, pixel)
    _, dtype = result_form(how.asked, how.saving, probe)
    if settings.format != _KEEP and how.saving.depth != _KEEP:
        saved_as = saved_format(f"picture.{settings.format}")
        try:
            check_holds(saved_as, dtype, 1, 1, "")
        except EngineError as error:
            what = f"--format {settings.format} with --depth {how.saving.depth}"
            raise BadValue(what, error.why, error.remedy) from error
    return how.check(probe)


def _prepare_folder(folder: str) -> None:
    """Make the folder for the results, and check that files can be written there."""
    make_folder(folder, with_parents=True)
    _check_written(folder)


def _check_folder(folder: str) -> None:
    """Check that a folder could be made, and written into: the nearest that is there is asked."""
    folder = os.path.abspath(path_text(folder))
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    _check_written(folder)


def _check_written(folder: str) -> None:
    try:
        check_place(os.path.join(folder, "result"))
    except FileWriteError as error:
        what = f"No result can be written into the folder {folder!r}"
        raise FileWriteError(what, error.why, "Choose another folder.") from error


def settled(how: PictureWork, files: Sequence[PictureFile]) -> tuple[PictureWork, DeviceInfo, list[str]]:
    """Return what is done with its device, the device, and a sentence where `auto` leaves a GPU out.

    With `auto` the device is chosen for the whole batch: a GPU only where that helps all of it.
    """
    asked = how.asked
    if asked.variant != AUTO:
        return how, device_for(how.named_variant(), how.device_key), []
    if asked.device != AUTO:
        return how, device_named(how.device_key), []
    why: str | None = ""
    if has_driver():
        # Judged by the size of the first picture that can be opened.
        forms = (_form_of(file) for file in files if file.refusal is None)
        form = next(filter(None, forms), None)
        why = how.why_not_gpu(form, len(files)) if form else "no picture can be opened"
    device = device_named(AUTO if why is None else "cpu")
    notes = [f"The CPU filters: {why}. --device cuda takes the GPU."] if why else []
    return how.on(device.key), device, notes


def _form_of(file: PictureFile) -> Form | None:
    """Return the form of a picture from its header alone; None where it cannot be opened."""
    if file.in_parts:
        with suppress(EngineError):
            return form_in_parts(file.source)
        return None
    with suppress(EngineError):
        return header_form(file.source)
    return None
