"""`batch`: many picture files in, a folder of results out; a file that fails does not stop the others."""

import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from importlib import import_module

from engine import interrupts
from engine.commands import BAD_INPUT, DONE, NOT_VERIFIED, status_of
from engine.commands.batch_loop import Batch, Finished
from engine.commands.batch_plan import BatchPlan, BatchSettings, PictureFile, header_form, planned
from engine.commands.batch_watch import watched
from engine.commands.output import clip_hint, log, log_notes, print_one
from engine.commands.picture_opening import WORK, form_in_parts
from engine.commands.picture_work import PictureWork
from engine.errors import DeviceFault, EngineError, ImageReadError, VerificationFailed
from engine.files.standard_streams import printable
from engine.image.large.result import PartFolder
from engine.image.save import check_holds
from engine.work.filtering.clipping import HINT_FROM


def run(settings: BatchSettings) -> int:
    """Filter the files; return the exit status."""
    plan = planned(settings)
    log_notes(plan.notes)
    if settings.dry_run:
        return report_plan(settings, plan)
    # What was planned and done before a decoder ended the process.
    if watched.plan is None:
        watched.say("plan", content=(plan.files, plan.skipped))
    else:
        plan = replace(plan, files=watched.plan[0], skipped=watched.plan[1])
    outcomes: list[Finished] = [*watched.outcomes]
    known = {finished.file.names for finished in outcomes}
    left = [file for file in plan.files if file.names not in known]
    left = [file for file in left if not watched.alone or file.source in watched.alone]

    def on_finished(finished: Finished) -> None:
        outcomes.append(finished)
        file, proof = finished.file, finished.verification
        done = f"{file.source} -> {file.target}" if finished.error is None else _failure(finished)
        log(f"[{len(outcomes)}/{len(plan.files)}] {done}")
        unproven = () if proof is None or proof.passed else (proof.sentence(),)
        log_notes([f"{file.source}: {note}" for note in (*finished.notes, *unproven)])
        watched.say("done", file.source, finished)

    batch = Batch(1 if watched.alone else len(left), on_finished)
    batch.written = sum(finished.error is None for finished in watched.outcomes)
    begin = watched.begin or time.perf_counter()
    fault: DeviceFault | None = None

    def stopped_at_once() -> str:
        pictures = f"{batch.written} of {len(plan.files)} pictures"
        return printable(f"Stopped: {pictures} {plan.how.done} into {settings.out}.")

    try:
        with interrupts.telling(stopped_at_once), interrupts.calling(batch.stop):
            if left:
                # Loaded only with --scheduler: Dask's part takes a tenth of a second.
                dask = "engine.commands.batch_dask"
                batch.run(replace(plan, files=left), lambda *work: import_module(dask).run(*work))
    except DeviceFault as error:
        fault = error
        known = {finished.file.names for finished in outcomes}
        outcomes += [Finished(file, error) for file in plan.files if file.names not in known]
    if watched.alone and not batch.is_stopped and fault is None:
        return DONE  # another process does the rest
    elapsed_s = time.perf_counter() - begin
    # In the order in which they were done.
    variants = list(dict.fromkeys(finished.variant for finished in outcomes if finished.variant))
    devices = list(dict.fromkeys(device for finished in outcomes for device in finished.devices))
    order = {file.names: number for number, file in enumerate(plan.files)}
    outcomes.sort(key=lambda finished: order[finished.file.names])
    clipped = {one.file.source: one.clipped for one in outcomes if one.clipped and one.clipped.better_range}
    if clipped:
        # One line for the whole run.
        most, share = max(clipped, key=lambda source: clipped[source].share), f"{100 * HINT_FROM:.0f} %"
        count = f"{len(clipped)} of {len(outcomes)} results are clipped by more than {share}; "
        words, better = clipped[most].words, clipped[most].better_range
        log_notes([clip_hint(words, better, f"{count if len(outcomes) > 1 else ''}{most}: ")])
    errors = [finished.error for finished in outcomes if finished.error is not None]
    document = _about(settings, plan) | {
        "variants": variants, "devices": devices, "elapsed_s": elapsed_s,
        # Connecting to a cluster, or starting it, is part of the elapsed time.
        **({"scheduler": plan.scheduler.text, "start_s": batch.start_s} if plan.scheduler else {}),
        "pictures": len(plan.files) + len(plan.skipped),
        "done": len(outcomes) - len(errors), "failed": len(errors),
        **({"skipped": len(plan.skipped)} if settings.skip_existing else {}),
        "files": [_file(finished, on_cluster=plan.scheduler is not None) for finished in outcomes],
        **({"skipped_files": _skipped_files(plan)} if settings.skip_existing else {}),
    }  # fmt: skip
    stopped = "Stopped: " if batch.is_stopped else ""
    by = f"{', '.join(variants)} on {', '.join(devices)}"
    print_one(settings.json, document, stopped + _summary(settings, plan, by, outcomes, elapsed_s))
    if batch.is_stopped:
        return interrupts.exit_status(DONE)
    if fault is not None:
        raise fault
    if any(isinstance(error, VerificationFailed) for error in errors):
        return NOT_VERIFIED
    return status_of(finished.verification for finished in outcomes) or (BAD_INPUT if errors else DONE)


def _failure(finished: Finished) -> str:
    """Return why a file failed, after its name where the error does not name it."""
    error = finished.error
    return str(error) if isinstance(error, ImageReadError) else f"{finished.file.source}: {error}"


def _summary(
    settings: BatchSettings, plan: BatchPlan, by: str, outcomes: Sequence[Finished], elapsed_s: float
) -> str:
    done = [finished for finished in outcomes if finished.error is None]
    failed = [finished for finished in outcomes if finished.error is not None]
    total = len(plan.files)
    pictures = "picture" if total == 1 else "pictures"
    line = f"{len(done)} of {total} {pictures} {plan.how.done} into {printable(settings.out)}"
    if not plan.files:
        return f"{line}: all {len(plan.skipped)} were there"
    if plan.skipped:
        line += f", {len(plan.skipped)} more were there"
    if done:
        proofs = [finished.verification for finished in done if finished.verification is not None]
        passed, verified = sum(proof.passed for proof in proofs), ", not verified"
        if proofs:
            in_part = any(proof.checked_pixels < proof.total_pixels for proof in proofs)
            count = "each" if passed == len(proofs) else f"{passed} of {len(proofs)}"
            verified = f", {count} verified{' (large ones on a part of their pixels)' if in_part else ''}"
        line += f", by {by}{verified}"
    line += f"; {elapsed_s:.3g} s"
    if done:
        line += f", {len(done) / elapsed_s:.3g} per second"
    failures = [f"  {printable(_failure(finished))}" for finished in failed]
    return "\n".join([line, *([f"{len(failed)} failed:"] if failed else []), *failures])


def _file(finished: Finished, *, on_cluster: bool) -> dict[str, object]:
    return {
        "input": finished.file.source,
        "output": finished.file.target if finished.error is None else None,
        "failure": "" if finished.error is None else str(finished.error),
        "verification": None if finished.verification is None else asdict(finished.verification),
        **({"machine": finished.machine} if on_cluster and finished.machine else {}),
        **finished.facts,
        "clipped": 0.0 if finished.clipped is None else finished.clipped.share,
        "notes": list(finished.notes),
    }


FORMAT, VERSION = "haloscope-batch", 1


def _about(settings: BatchSettings, plan: BatchPlan) -> dict[str, object]:
    mask, step = plan.how.mask, plan.how.request.filter
    return {
        "format": FORMAT,
        "version": VERSION,
        "out": settings.out,
        "operation": plan.how.name,
        "mask": mask and {"name": mask.title, "rows": mask.rows, "columns": mask.columns},
        "border": str(step.border) if mask and step else None,
    }


def _skipped_files(plan: BatchPlan) -> list[dict[str, str]]:
    return [{"input": file.source, "output": file.target} for file in plan.skipped]


def report_plan(settings: BatchSettings, plan: BatchPlan) -> int:
    """Print what would be done; return the exit status that refusals known before the work would give."""
    files = [(file, *_planned(plan.how, file)) for file in plan.files]
    refused = sum(action == "refuse" for _, action, _ in files)
    to_do, skipped, total = len(files) - refused, len(plan.skipped), len(files) + len(plan.skipped)
    lines, each = [], []
    for file, action, why in files:
        each.append({"input": file.source, "output": file.target, "action": action, "why": why})
        words = f"{file.source} -> {file.target}"
        if action == "refuse":
            words = why if file.source in why else f"{file.source}: {why}"
        lines.append(f"{action} {words}")
    lines += [f"leave out {file.source}: {file.target} is there" for file in plan.skipped]
    counts = f"{to_do} of {total} would be {plan.how.done} into {plan.out or '.'} on {plan.device.title}"
    lines.append(f"{counts}, {skipped} left out, {refused} refused; nothing was written")
    document = _about(settings, plan) | {
        "dry_run": True, "device": plan.device.title, "pictures": total, "to_do": to_do, "skipped": skipped,
        "refused": refused, "files": each, "skipped_files": _skipped_files(plan),
    }  # fmt: skip
    print_one(settings.json, document, "\n".join(lines))
    return BAD_INPUT if refused else DONE


def _planned(how: PictureWork, file: PictureFile) -> tuple[str, str]:
    """Return what becomes of a picture by its header, "filter", "continue" or "refuse", and why."""
    saved_as = file.saved_as
    try:
        if file.refusal is not None:
            raise file.refusal
        if saved_as is None:
            how.saved_type(form_in_parts(file.source).dtype)
            return "continue" if PartFolder(file.target).folder.is_dir() else "filter", ""
        form = header_form(
            file.source,
            max_bytes=how.saving.max_bytes,
            work_bytes=lambda form: how.bytes_for(form, saved_as),
            work=WORK,
        )
        if not how.makes_plot:
            check_holds(saved_as, how.saved_type(form.dtype), form.height, form.width, file.target)
    except EngineError as error:
        return "refuse", str(error)
    return "filter", ""
