"""The facts of a run's launches: the plan of its variant, and what the loaded kernels take.

No Numba in here.
"""

from engine.device.launches import Prepared
from engine.device_info import DeviceInfo
from engine.results.launch_facts import LaunchFacts, launch_facts
from engine.results.problem import P
from engine.run.task import ProblemJob


def launched(job: ProblemJob[P], prepared: Prepared, device: DeviceInfo) -> tuple[LaunchFacts, ...] | None:
    """Return the facts of each launch of a job that is prepared; None where it has no kernels of ours.

    In the simulator nobody knows what a kernel takes. To find all this takes 0.2 to 10 ms, once.
    """
    launches = job.variant.plan(job.problem, job.block)
    if not launches:
        return None
    # What works through a batch in chunks launches other grids than the whole has, and says nothing of them.
    resources = getattr(prepared, "resources", ())
    known = resources if len(resources) == len(launches) else (None,) * len(launches)
    shares = job.variant.block_shares(job.problem, job.block)
    return tuple(
        launch_facts(launch.grid, launch.block, taken, device.attributes, share)
        for launch, taken, share in zip(launches, known, shares, strict=True)
    )
