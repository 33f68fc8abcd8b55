"""The five course papers: title, kernels and which is which here, names of the tables. Plain data, no Numba."""

import difflib

from engine.course.paper import Configuration, CourseKernel, Paper
from engine.errors import UnknownName
from engine.geometry.block import Block
from engine.tasks.product.problem import MatrixProduct

REPORT_MASK = "gaussian:5:1"
LAB_MASK = "gaussian:17:3"
ROW_MASK = "1 2 3 2 1 /9"

_SUMS = "Sums are one float32 partial sum a mask row"
_LAB_OWN = (
    "The lab states neither its mask nor the shape of its blocks of 256 threads: here a Gaussian of 17 x 17, "
    "blocks of 16 x 16."
)

REPORT = Paper(
    key="report",
    title="CUDA Assignment 3: 2D Convolution",
    authors="Gregory Matthews and Mark Klobukov",
    source="Drexel University, ECEC-622 Parallel Computer Architecture (Dr. Kandasamy), 16 March 2017",
    about="A 5 x 5 mask on matrices of 512, 1024 and 2048: a naive kernel, and one with shared and constant memory "
    "that leaves the halo to the L2 cache; what the block's size changes, and what allocation and copies cost.",
    kernels=(
        CourseKernel(
            "the serial reference",
            "Results, Time Serial (s)",
            Configuration("cpu-serial", REPORT_MASK),
            f"{_SUMS}, not double.",
        ),
        CourseKernel(
            "ConvolutionKernel",
            "2.) Device Function, global memory",
            Configuration("naive", REPORT_MASK, Block(16, 16)),
            "The paper's threads of a warp go down a column (its row i comes from threadIdx.x), so their loads are "
            f"not coalesced; here they go along a row. {_SUMS}, not double.",
        ),
        CourseKernel(
            "ConvolutionKernel_optimized",
            "2.) Device Function, optimized",
            Configuration("cached", REPORT_MASK, Block(16, 16)),
            "The mask lies in global memory here, so that editing it needs no compiling; what constant memory gives is "
            f"seen in the next kernel, `constant`. {_SUMS}.",
        ),
        CourseKernel(
            "kernel_c (cudaMemcpyToSymbol)",
            "1.) Host Function",
            Configuration("constant", REPORT_MASK, Block(16, 16)),
            "The paper's constant memory by itself, without shared memory; Numba bakes the weights into the code.",
        ),
    ),
    tables=(
        "Time and speed-up",
        "Naïve: change in time per extra thread",
        "Optimized: change in time per extra thread",
        "Overhead of allocation and transfer",
        "GFLOPs",
    ),
)

CNN = Paper(
    key="cnn",
    title="ECE408 Final Report: CUCUDA",
    authors="Xiaohao Wang, Zhao Weng and Xiaosheng Wu",
    source="ECE408, final project report",
    about="Forward propagation of a convolutional network with 5 x 5 filters: a thread an output element, then a matrix "
    "product whose unrolled input is built in shared memory on the fly. Here are its convolutions; the "
    "network and pooling come later. Its streams are what `batch` and `engine.filter_stream` do with "
    "pictures.",
    kernels=(
        CourseKernel(
            "convolution, a thread an output element",
            "1. Parallelize the convolution computation",
            Configuration("naive", "box:5", Block(16, 16)),
            "One picture and one filter instead of a batch of feature maps, and every pixel has a result: the "
            "paper's output is smaller than its input by the mask. The paper's loads are not coalesced; here the threads of "
            "a warp go along a row.",
        ),
        CourseKernel(
            "matrix multiplication on the fly",
            "4 Build Matrix Multiplication on the fly",
            Configuration("implicit-gemm", "box:5"),
            "The paper takes blocks of 25 x 25 threads because a filter has 25 weights; here the block is free of the "
            "mask. A bank of masks at once is what makes it worth while: `engine.apply_bank` in Python; "
            "`python -m bench.bank` measures it.",
        ),
    ),
    tables=(
        "The unrolled matrix that is never stored",
        "Control divergence",
        "Running time of the stages",
        "A thread an output element, and matrix multiplication on the fly",
    ),
)

LAB = Paper(
    key="lab",
    title="CUDA: Convolution",
    authors="Gary R. Roberts, Jr.",
    source="University of the Pacific, lab report, 21 April 2017",
    about="Separable convolution in two passes, horizontal and vertical, in three levels: global memory only; aprons "
    "loaded cooperatively into shared memory; aprons left to the L2 cache.",
    kernels=(
        CourseKernel(
            "serial algorithm",
            "3 Methodology",
            Configuration("cpu-serial", LAB_MASK),
            "Its time is that of two runs, with the mask's row and with its column, added up.",
        ),
        CourseKernel(
            "L0",
            "3.1 L0",
            Configuration("separable-l0", LAB_MASK, Block(16, 16)),
            _LAB_OWN,
        ),
        CourseKernel(
            "L1",
            "3.2 L1",
            Configuration("separable-l1", LAB_MASK, Block(16, 16)),
            _LAB_OWN,
        ),
        CourseKernel(
            "L2",
            "3.3 L2",
            Configuration("separable-l2", LAB_MASK, Block(16, 16)),
            _LAB_OWN,
        ),
    ),
    tables=("Figure 1: Execution Time vs. Image Size", "Table 1: Speed-Up For Each Level Dependent on Size"),
)

CONVOLUTION = Paper(
    key="convolution",
    title="Convolution",
    authors="Lecturer not named",
    source="CENG443 Heterogeneous Parallel Programming, lecture",
    about="1-D and 2-D convolution: basic, tiled with halo cells, tiled with the halo left to the cache, constant "
    "memory, ghost cells, padded rows with a pitch; what a tile saves in loads.",
    kernels=(
        CourseKernel(
            "convolution_1D_basic_kernel",
            "1D Convolution Kernel",
            Configuration("row-naive", ROW_MASK, Block(256, 1)),
            "It runs along every row of a picture, and threads past the end of a row do nothing (the lecture's would "
            "write past the array).",
        ),
        CourseKernel(
            "convolution_1D_tiled_kernel",
            "Tiled 1D Convolution Kernel",
            Configuration("row-tiled", ROW_MASK, Block(256, 1)),
            "TILE_SIZE is the block's x. The mask lies in global memory, and the left halo is as wide as the anchor's column, so even masks work.",
        ),
        CourseKernel(
            "convolution_1D_tiled_caching_kernel",
            "Simpler Tiled 1D Convolution",
            Configuration("row-cached", ROW_MASK, Block(256, 1)),
            "TILE_SIZE is the block's x. The mask lies in global memory.",
        ),
        CourseKernel(
            "M in constant memory",
            "Constant Memory Usage",
            Configuration("constant", "gaussian:5:1", Block(16, 16)),
            "In two dimensions. Numba bakes the weights into the code, so each edit of the mask compiles again.",
        ),
        CourseKernel(
            "convolution_2D_basic_kernel",
            "2D Convolution Kernel",
            Configuration("naive", "gaussian:5:1", Block(16, 16)),
            f"{_SUMS}, where the lecture's are int, and the result is not cut to 8 bits.",
        ),
        CourseKernel(
            "tiled 2-D, block = input tile",
            "Tiled 2D Convolution",
            Configuration("tiled-input", "gaussian:5:1", Block(20, 20)),
            "BLOCK_WIDTH is the block, O_TILE_WIDTH is what the mask leaves of it: 16 of 20. Between loading and "
            "computing there is a barrier, which the slides leave out.",
        ),
        CourseKernel(
            "tiled 2-D, block = output tile",
            "Tiled 1D Convolution - Output Tile, in two dimensions",
            Configuration("tiled", "gaussian:5:1", Block(16, 16)),
            "The second design, beside the first: all threads compute, and load the input tile in several steps.",
        ),
        CourseKernel(
            "ghost elements, 0",
            "Boundary Condition",
            Configuration("naive", "gaussian:5:1", Block(16, 16), border="zero"),
        ),
        CourseKernel(
            "ghost elements, replicates of boundary values",
            "Boundary Condition",
            Configuration("naive", "gaussian:5:1", Block(16, 16), border="replicate"),
            "Every kernel takes every border; reflect, mirror, wrap and a constant are here too.",
        ),
        CourseKernel(
            "Row-Major Layout with Pitch",
            "2D Image with Padding",
            Configuration("naive", "gaussian:5:1", Block(16, 16), layout="pitched"),
            "Rows start on 128-byte boundaries; the layout `packed` is the same without padding.",
        ),
    ),
    tables=(
        "1-D tile: elements loaded, bandwidth reduction",
        "2-D tile: elements loaded, bandwidth reduction",
        "The kernels' accesses to each memory",
        "Padded rows",
        "Packed and pitched rows, measured",
    ),
)

PERFORMANCE = Paper(
    key="performance",
    title="CUDA Memories and Performance Revisited",
    authors="Lecturer not named",
    source="COSC 407 Intro to Parallel Computing, topic 16: Performance, part 2, lecture",
    about="CPU and GPU timers, theoretical and effective bandwidth, CGMA, and naive and tiled matrix multiplication: why "
    "a kernel that reads one float for each operation cannot be fast, and what a tile changes.",
    kernels=(
        CourseKernel(
            "MatrixMul",
            "CGMA, Example",
            Configuration("matmul-naive", block=Block(16, 16), task=MatrixProduct.task),
            "Any shape: threads outside the result do nothing.",
        ),
        CourseKernel(
            "MatrixMul with Ms and Ns",
            "Tiled Multiplication: Kernel Code",
            Configuration("matmul-tiled", block=Block(16, 16), task=MatrixProduct.task),
            'Any shape. The lecture\'s remark "we still need if(x<width && y<width){...}" must not stand around the '
            "barriers: here it guards the loads and the store.",
        ),
    ),
    tables=(
        "CPU timers and GPU timers",
        "Theoretical bandwidth",
        "Effective bandwidth of a matrix copy",
        "CGMA",
        "Tiling size effects",
        "Performance improvement guidelines",
    ),
)

PAPERS: tuple[Paper, ...] = (REPORT, CNN, LAB, CONVOLUTION, PERFORMANCE)


def paper(key: str) -> Paper:
    """Return the paper of that key.

    Raises
    ------
    UnknownName
        No paper is called so; the remedy names the nearest one.
    """
    for candidate in PAPERS:
        if candidate.key == key:
            return candidate
    keys = [candidate.key for candidate in PAPERS]
    near = difflib.get_close_matches(key.lower(), keys, n=1, cutoff=0.4)
    hint = f"Did you mean {near[0]}? " if near else ""
    shown = key if len(key) <= 40 else f"{key[:39]}…"
    raise UnknownName(
        f"paper '{shown}'", "no paper is called that", f"{hint}Choose one of {', '.join(keys)}."
    )
