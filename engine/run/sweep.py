"""Jobs of many cells: made, measured one after another where their devices are, or only counted."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from engine.device.launches import DeviceKind
from engine.device_info import AUTO, DeviceInfo
from engine.errors import DeviceFault, EngineError
from engine.geometry.block import Block
from engine.geometry.layout import Layout
from engine.mask.mask import Mask
from engine.results.measurement import Measurement
from engine.run.device_choice import device_for
from engine.run.executor import ExecutorFor, outcome_of
from engine.run.job import AnyJob, FilterJob, Job, filter_job
from engine.run.measure import unrun
from engine.run.product_job import ProductJob
from engine.run.resolve import describe_problem, result_dtype_for
from engine.run.sampling import SamplingPlan
from engine.tasks.contract import V
from engine.tasks.filtering.request import FilterOptions
from engine.tasks.filtering.task import random_mask, random_picture
from engine.tasks.product.operands import random_matrices
from engine.tasks.product.problem import MatrixProduct
from engine.tasks.product.task import PRODUCT
from engine.variants.auto.planner import Choice
from engine.variants.contract import Variant
from engine.variants.matmul.contract import MatmulVariant

Result = Measurement[Any]
Measure = Callable[[Any, DeviceInfo, SamplingPlan, ExecutorFor], Result]
"""Measures a job on a device and returns its result."""
ONE_LAYOUT = (Layout.PITCHED,)


def ways(
    variants: Iterable[V], blocks: Sequence[Block], layouts: Sequence[Layout] = ONE_LAYOUT
) -> Iterator[tuple[V, Block, Layout]]:
    """Yield each variant with each block and layout; one without a block, or on the CPU, only once.

    No blocks: each variant's default. The layouts are of the rows on a CUDA device.
    """
    for variant in variants:
        for block in blocks if blocks and variant.uses_block else (variant.default_block,):
            for layout in layouts if variant.device is DeviceKind.CUDA else layouts[:1]:
                yield variant, block, layout


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterSweep:
    """What a benchmark of filters measures: each combination of all lists, on random pictures."""

    options: FilterOptions  # border, device and type of the results; the lists say the rest
    variants: Sequence[Variant]
    sizes: Sequence[tuple[int, int]]  # pictures, width x height, pixels
    # A mask; or a shape, rows x columns, for one with random weights.
    masks: Sequence[Mask | tuple[int, int]]
    blocks: Sequence[Block] = ()
    layouts: Sequence[Layout] = ONE_LAYOUT
    channels: int = 1
    dtype: str = "float32"
    seed: int = 0  # of the pictures, the weights and the pixels that are verified
    budget_s: float = 0.5  # time for the samples of each cell, seconds

    @property
    def cells(self) -> int:
        """How many results there will be."""
        of_each = sum(1 for _ in ways(self.variants, self.blocks, self.layouts))
        return len(self.sizes) * len(self.masks) * of_each

    def as_json(self) -> dict[str, Any]:
        """Return what is measured as plain data."""
        return {
            "variants": [variant.key for variant in self.variants],
            "sizes": [{"width": width, "height": height} for width, height in self.sizes],
            "masks": [
                {
                    "rows": mask.rows,
                    "columns": mask.columns,
                    "name": mask.name,
                    "weights": mask.weights.tolist() if mask is asked else "random",
                }
                for asked, mask in zip(self.masks, self._masks(), strict=True)
            ],
            "blocks": [asdict(block) for block in self.blocks],
            "layouts": [str(layout) for layout in self.layouts],
            "border": str(self.options.border),
            "device": self.options.device,
            "channels": self.channels,
            "dtype": self.dtype,
            "result_type": self.options.result_type,
            "seed": self.seed,
            "budget_s": self.budget_s,
        }

    def _masks(self) -> list[Mask]:
        return [mask if isinstance(mask, Mask) else random_mask(*mask, self.seed) for mask in self.masks]

    def jobs(self) -> Iterator[FilterJob]:
        """Yield every job, in order of sizes, masks, variants, blocks, layouts."""
        for width, height in self.sizes:
            samples = random_picture((height, width, self.channels), self.dtype, self.seed)
            result_dtype = result_dtype_for(self.options.result_type, samples, samples)
            for mask in self._masks():
                problem = describe_problem(samples, mask, self.options.border, 0.0, result_dtype)
                for variant, block, layout in ways(self.variants, self.blocks, self.layouts):
                    choice = Choice(variant, block)
                    yield filter_job(choice, problem, mask, samples, layout=layout, seed=self.seed)


def product_jobs(
    products: Iterable[MatrixProduct],
    variants: Sequence[MatmulVariant],
    tiles: Iterable[int],
    *,
    seed: int = 0,
    unmade: bool = False,
) -> Iterator[ProductJob]:
    """Yield the job of every product with every variant and tile, in that order.

    The matrices are made from `seed` once for each product; `unmade` leaves them out, for jobs that are only
    counted.
    """
    blocks = [Block(tile, tile) for tile in tiles]
    for product in products:
        operands: Any = None if unmade else random_matrices(product, seed)
        for variant, block, _ in ways(variants, blocks):
            yield Job(PRODUCT, variant, block, product, operands, seed=seed)


def measured_result(job: AnyJob, device: DeviceInfo, plan: SamplingPlan, executor_for: ExecutorFor) -> Result:
    """Return the result of a job that is measured where its device is."""
    return outcome_of(job, device, plan, executor_for).result


def sweep(
    jobs: Iterable[AnyJob],
    device: str,
    budget_s: float,
    executor_for: ExecutorFor,
    on_result: Callable[[Any], None] = lambda result: None,
    measure: Measure = measured_result,
) -> tuple[list[Any], DeviceFault | None]:
    """Measure every job; a failure is a result with its reason.

    Parameters
    ----------
    jobs : iterable of Job
        Made one by one, so that operands need not be there all at once.
    device : str
        For the CUDA variants; "auto" is the first one that works.
    budget_s : float
        Time for the samples of each job, seconds.
    measure : Measure
        Measures one job.

    Returns
    -------
    list of Measurement
        In the order of the jobs.
    DeviceFault or None
        If a device was lost on the way: the CUDA jobs after it were not tried.
    """
    results: list[Result] = []
    fault: DeviceFault | None = None
    plan = SamplingPlan(budget_s=budget_s)
    for job in jobs:
        try:
            if fault is not None and job.variant.device == DeviceKind.CUDA:
                reason = f"the device was lost before ({fault.what}: {fault.why})"
                raise EngineError("Not measured", reason, fault.remedy)
            result = measure(job, device_for(job.variant, device), plan, executor_for)
        except DeviceFault as error:
            fault = error
            result = not_run(job, device, error)
        except MemoryError:
            full = EngineError("Not enough memory", "the system gave no more", "Choose a smaller size.")
            result = not_run(job, device, full)
        except EngineError as error:
            result = not_run(job, device, error)
        results.append(result)
        on_result(result)
    return results, fault


def counted(job: AnyJob, device: str) -> Result:
    """Return the result of a job that is only counted, with the reason where it cannot run on the device."""
    try:
        job.refuse(device_for(job.variant, device))
    except EngineError as error:
        return not_run(job, device, error)
    return not_run(job, device, None)


def not_run(job: AnyJob, wanted: str, error: EngineError | None) -> Result:
    """Return the result of a job that did not run; without a device it names the first GPU."""
    known: DeviceInfo | None = None
    if not isinstance(error, DeviceFault):
        with suppress(EngineError):
            known = device_for(job.variant, wanted)
    return unrun(job, known, "cuda:0" if wanted == AUTO else wanted, error)
