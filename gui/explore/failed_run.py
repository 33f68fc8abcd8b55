"""A run that the engine could not answer, as a row of the results: it is never missing."""

from engine.device_info import Environment
from engine.errors import EngineError
from engine.host.messages import VariantInfo
from engine.host.protocol import FilterJob
from engine.results.measurement import RunResult
from gui.explore.results.comparison import problem_of


def failed_run(job: FilterJob, variant: VariantInfo | None, error: EngineError) -> RunResult:
    """Return the result of a run that ended with an error; `variant` is what is known of the job's variant."""
    return RunResult(
        variant=job.variant,
        title=variant.title if variant else job.variant,
        device=job.device,
        problem=problem_of(job),
        mask_name=job.mask.name,
        weights_digest=job.mask.weights_digest,
        block=job.block,
        environment=Environment(job.device),
        failure=str(error),
        layout=str(job.layout) if variant and variant.kind == "cuda" else "",
    )
