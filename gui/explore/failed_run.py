"""A run that the engine could not answer, as a row of the results: it is never missing."""

from engine.device_info import Environment
from engine.errors import EngineError
from engine.host.protocol import FilterJob, VariantInfo
from engine.results.measurement import RunResult
from engine.tasks.filtering.problem import Problem


def failed_run(job: FilterJob, variant: VariantInfo | None, error: EngineError) -> RunResult:
    """Return the result of a run that ended with an error; `variant` is what is known of the job's variant."""
    picture, mask = job.picture, job.mask
    problem = Problem(
        height=picture.height,
        width=picture.width,
        channels=picture.channels,
        dtype=picture.pixels.dtype,
        mask_shape=mask.shape,
        anchor=mask.anchor,
        border=job.border,
        cval=job.cval,
        result_dtype=picture.pixels.dtype if job.result_type == "same" else "float32",
    )
    return RunResult(
        variant=job.variant,
        title=variant.title if variant else job.variant,
        device=job.device,
        problem=problem,
        mask_name=mask.name,
        weights_digest=mask.weights_digest,
        block=job.block,
        environment=Environment(job.device),
        failure=str(error),
        layout=str(job.layout) if variant and variant.kind == "cuda" else "",
    )
