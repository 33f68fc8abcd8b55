"""The settings of a run, back in the workspace."""

from engine.work.messages import PictureJob
from gui.explore.chain.chain_job import state_of
from gui.explore.picture_job import is_chain
from gui.explore.state import KERNEL, values_of
from gui.explore.workspace import Workspace


def restore(workspace: Workspace, job: PictureJob, text: str) -> None:
    """Choose what a job did: mask or parameters, kernel, block, device, as one step `text`.

    The picture stays. The mask's name and its switches stay too where they give the job's mask.
    """
    where = {"device": job.device, "layout": job.layout}
    how = values_of(KERNEL, job) | where
    if (step := job.filter) is not None:
        how |= {"border": step.border, "cval": step.cval, "result_type": job.result_type}
        mask, is_new = workspace.mask, workspace.applied_mask() != job.mask
        if is_new:
            # As the weights are: neither turned nor divided by their sum.
            mask, how = job.mask, how | {"flip": False, "normalise": False}
        workspace.set_mask(mask, text, is_new=is_new, **how)
        return
    if is_chain(job):
        state = state_of(job.chain, workspace.state)
        workspace.edit(state.with_step(state.step.with_settings(**where)), text)
        return
    operation = job.operation
    assert operation is not None
    how |= {"parameters": dict(operation.settings), "patch_path": job.patch_path}
    workspace.edit_step(workspace.step.with_operation(operation.operation).with_settings(**how), text)


def same_picture(workspace: Workspace, job: PictureJob) -> bool:
    """Whether the job's picture is the one that is open; opened anew it lies elsewhere in memory."""
    open_now = workspace.picture
    if open_now is None:
        return False
    where = (open_now.path, open_now.sample, open_now.title)
    return open_now == job.picture or where == (job.picture.path, job.picture.sample, job.picture.title)
