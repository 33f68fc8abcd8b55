"""Histogram: how many samples of each channel lie in each of some equal intervals from black to white."""

import numpy as np

from engine.device.kernel_factory import kernel_factory
from engine.device.kernel_names import cuda
from engine.geometry.block import Block
from engine.results.problem import Work
from engine.run.task import AnyJob
from engine.variants.operations import counts
from engine.variants.operations.kernels import OperationLaunch, cuda_variant
from engine.verify.closeness import Verification
from engine.work.operations import contract
from engine.work.problem import OperationProblem


def verify(values: np.ndarray, job: AnyJob, checkpoint: contract.Checkpoint) -> Verification:
    """Compare every count with whole numbers counted by NumPy: nothing is rounded, so they are equal."""
    reason, problem = "", job.problem
    exact = counts.counted(job.operands, problem, checkpoint)
    off = np.abs(values[..., 0].astype(np.int64) - exact)
    if off.any():
        channel, at = np.argwhere(off)[0].tolist()
        counted, lie = values[channel, at, 0], exact[channel, at]
        reason = f"not verified: channel {channel}, bin {at} is {counted}, and {lie} samples lie in it"
    pixels, wrong = problem.pixels, int(np.count_nonzero(off))
    return Verification(
        not reason, float(off.max()), 0.0, pixels, pixels, not reason, reason, wrong_samples=wrong
    )


def answer(values: np.ndarray, problem: OperationProblem, samples: np.ndarray) -> contract.Answer:
    """Return the counts, with how many there are and the fullest bin of all channels together."""
    counts = values[..., 0].astype(np.int64)
    bins, every = counts.shape[1], counts.sum(axis=0)
    total, fullest = int(every.sum()), int(every.argmax())
    if problem.is_float:
        where = f"{fullest / bins:.4g} to {(fullest + 1) / bins:.4g}"
    else:
        levels = int(problem.full_scale) + 1
        first, last = fullest * levels // bins, (fullest + 1) * levels // bins - 1
        where = f"{first}" if first == last else f"{first} to {last}"
    no_nan = "Samples that lie in a bin; NaN does not."
    quantities = (
        contract.Quantity("counted", "Counted", total, f"{total:,} samples", no_nan),
        contract.Quantity(
            "fullest_bin",
            "Fullest bin",
            fullest,
            f"{where} ({int(every[fullest]):,} samples)",
            "The interval with the most samples, of all channels together.",
        ),
    )
    return contract.Answer(quantities=quantities, counts=counts)


CPU = counts.count_code.variant(
    lambda problem, patch: counts.PartialHistograms(problem),
    key="cpu-histogram",
    idea="Each core counts its rows into bins of its own, which are added up in the end.",
    # Each sample is read and counted once, each count is written once: cores' own ones stay in their caches.
    work=lambda problem, block: contract.operation_work(
        problem, picture_loads=problem.samples, flops=problem.samples
    ),
)


@kernel_factory
def global_kernel(dtype: str, bins: int):
    """`histogram-global`: a thread per sample, one histogram in global memory, atomics.

    Idea
        Thread (row, column) of layer `channel` adds 1 to the bin of its sample by an atomic: reading, adding
        and writing as one step that no other thread comes between.
    Who loads what
        Each thread loads one sample. All threads of the device share the bins: those that have the same bin
        at the same time take turns, in L2, where atomics on global memory are done.
    Limit
        A picture of few values (a sky, a drawing) sends all threads to a few bins, one after the other.

    Source: COSC 407, "CUDA Memories and Performance Revisited", histogram operations.
    """
    bin_of = counts.cuda_bin(dtype, bins)

    @cuda.jit
    def count_in_global_memory(image, width, out):
        column, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        if row >= image.shape[0] or column >= width:
            return
        index = bin_of(image[row, column, channel])
        if index >= 0:
            cuda.atomic.add(out, (channel, index, 0), 1)

    return count_in_global_memory


GLOBAL = cuda_variant(
    counts.clearing(),
    OperationLaunch(lambda problem, block: global_kernel(problem.dtype, problem.whole("bins"))),
    # Each sample is loaded, and its atomic loads and stores a count; NaN has none.
    work=lambda problem, block: contract.operation_work(
        problem,
        picture_loads=problem.samples,
        flops=problem.samples,
        result_loads=problem.samples,
        stores=problem.values + problem.samples,
    ),
    key="histogram-global",
    title="Global atomics",
    idea="A thread per sample adds 1 to its bin in global memory; threads with the same bin take turns.",
)

COUNTING = counts.counting()


def shared_work(problem: OperationProblem, block: Block) -> Work:
    """Return the work: an atomic in shared memory for each sample, one in global memory for each block's bin.

    Each block clears its bins, and reads them again to add them; NaN is not counted.
    """
    bins = problem.whole("bins")
    blocks = COUNTING.launch(problem, block).blocks
    return contract.operation_work(
        problem,
        picture_loads=problem.samples,
        flops=problem.samples + blocks * bins,
        result_loads=blocks * bins,
        stores=problem.values + blocks * bins,
        shared_loads=problem.samples + blocks * bins,
        shared_stores=problem.samples + blocks * bins,
    )


SHARED = cuda_variant(
    counts.clearing(),
    COUNTING,
    work=shared_work,
    key="histogram-shared",
    title="Shared histograms",
    idea="Each block counts into bins of its own in shared memory, and adds them to global memory once.",
)

HISTOGRAM = contract.Operation(
    key="histogram",
    title="Histogram",
    teaches="Threads that count into the same bin must take turns: atomics in global memory against a "
    "partial histogram per block in shared memory.",
    result=contract.ResultKind.PLOT,
    parameters=(counts.BINS,),
    result_shape=lambda height, width, channels, parameters: (channels, int(parameters["bins"]), 1),
    result_dtype="uint32",
    refuse=counts.refuse,
    verify=verify,
    answer=answer,
    proof="Whole numbers: every count must be equal.",
    variants=(CPU, GLOBAL, SHARED),
)
