"""`batch --dry-run`: what a batch would do with each file, without writing anything."""

from typing import NamedTuple

from engine.commands import BAD_INPUT, DONE
from engine.commands.batch_files import PictureFile, header_form
from engine.commands.batch_plan import BatchPlan, BatchSettings
from engine.commands.output import print_answer, print_json
from engine.commands.picture_opening import WORK, form_in_parts, makes_plot, result_dtype, work_bytes
from engine.commands.picture_work import PictureWork
from engine.errors import EngineError
from engine.image.large.part_folder import PartFolder
from engine.image.save import check_holds

FORMAT, VERSION = "haloscope-batch", 1


class _Planned(NamedTuple):
    file: PictureFile
    action: str  # "filter", "continue" or "refuse"
    why: str = ""


def about_plan(settings: BatchSettings, plan: BatchPlan) -> dict[str, object]:
    """Return what the JSON document of a batch says of what was asked."""
    mask, step = plan.how.mask, plan.how.asked.filter
    return {
        "format": FORMAT,
        "version": VERSION,
        "out": settings.out,
        "operation": plan.how.name,
        "mask": mask and {"name": mask.title, "rows": mask.rows, "columns": mask.columns},
        "border": str(step.border) if mask and step else None,
    }


def skipped_files(plan: BatchPlan) -> list[dict[str, object]]:
    """Return the pictures that are left out, for JSON."""
    return [{"input": file.source, "output": file.target} for file in plan.skipped]


def report_plan(settings: BatchSettings, plan: BatchPlan) -> int:
    """Print what would be done; return the exit status that refusals known before the work would give."""
    files = [_planned(plan.how, file) for file in plan.files]
    refused = sum(one.action == "refuse" for one in files)
    if settings.json:
        print_json(
            {
                **about_plan(settings, plan),
                "dry_run": True,
                "device": plan.device.title,
                "pictures": len(files) + len(plan.skipped),
                "to_do": len(files) - refused,
                "skipped": len(plan.skipped),
                "refused": refused,
                "files": [
                    {"input": file.source, "output": file.target, "action": action, "why": why}
                    for file, action, why in files
                ],
                "skipped_files": skipped_files(plan),
            }
        )
    else:
        lines = [_line(one) for one in files]
        lines += [f"leave out {file.source}: {file.target} is there" for file in plan.skipped]
        total = len(files) + len(plan.skipped)
        counts = f"{len(files) - refused} of {total} would be {plan.how.done} into {plan.out or '.'}"
        lines.append(
            f"{counts} on {plan.device.title}, {len(plan.skipped)} left out, {refused} refused; "
            "nothing was written"
        )
        print_answer("\n".join(lines))
    return BAD_INPUT if refused else DONE


def _line(planned: _Planned) -> str:
    file, action, why = planned
    if action == "refuse":
        return f"refuse {why}" if file.source in why else f"refuse {file.source}: {why}"
    return f"{action} {file.source} -> {file.target}"


def _planned(how: PictureWork, file: PictureFile) -> _Planned:
    """Say what becomes of a picture by its header."""
    try:
        if file.refusal is not None:
            raise file.refusal
        _check(how, file)
    except EngineError as error:
        return _Planned(file, "refuse", str(error))
    is_begun = file.in_parts and PartFolder(file.target).folder.is_dir()
    return _Planned(file, "continue" if is_begun else "filter")


def _check(how: PictureWork, file: PictureFile) -> None:
    asked, saving, saved_as = how.asked, how.saving, file.saved_as
    if file.in_parts:
        result_dtype(asked, saving, form_in_parts(file.source).dtype)
        return
    assert saved_as is not None
    form = header_form(
        file.source,
        max_bytes=saving.max_bytes,
        work_bytes=lambda form: work_bytes(asked, saving, form, saved_as),
        work=WORK,
    )
    if not makes_plot(asked):
        check_holds(saved_as, result_dtype(asked, saving, form.dtype), form.height, form.width, file.target)
