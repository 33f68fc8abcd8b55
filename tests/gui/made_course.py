"""Papers and tables as the engine would make them, for the tests of the course material."""

from engine.course.paper import Cell, Configuration, CourseKernel, CourseTable, Figure, Paper, Series
from engine.geometry.block import Block

NO_GPU = "There is no NVIDIA driver here. Install one to measure the GPU's times."
NOT_MEASURED = "not measured yet"

PAPER = Paper(
    key="report",
    title="CUDA Assignment 3: 2D Convolution",
    authors="Two students",
    source="A university, 2017",
    about="A 5 x 5 mask on matrices of 512, 1024 and 2048.",
    kernels=(
        CourseKernel("the serial reference", "Results", Configuration("cpu-serial", "gaussian:5:1")),
        CourseKernel(
            "ConvolutionKernel",
            "2.) Device Function",
            Configuration("naive", "gaussian:5:1", Block(32, 8), border="replicate"),
            "Sums are float32, not double.",
        ),
        CourseKernel(
            "ConvolutionKernel_lost", "3.) Lost", Configuration("lost", "gaussian:5:1", Block(16, 16))
        ),
        CourseKernel("ConvolutionKernel_odd", "4.) Odd", Configuration("naive", "no such mask")),
    ),
    tables=("Time and speed-up", "Loads"),
)
OTHER_PAPER = Paper(
    key="lab",
    title="Separable convolution",
    authors="One student",
    source="Another university",
    about="Two passes.",
    kernels=(
        CourseKernel("MatrixMul", "CGMA", Configuration("matmul-naive", block=Block(16, 16), task="product")),
    ),
    tables=("Speed-up",),
)
PAPERS = (PAPER, OTHER_PAPER)


def made_tables(*, measured: bool) -> tuple[CourseTable, ...]:
    """Return a table of times with a figure and one of loads, counted or measured without a GPU."""
    serial = Cell("0.0185", "0.0121") if measured else Cell("0.0185", reason=NOT_MEASURED)
    naive = Cell("0.0004", reason=NO_GPU if measured else NOT_MEASURED)
    sizes = (512.0, 1024.0, 2048.0)
    here = (12.1, 48.0, 190.0) if measured else (None, None, None)
    return (
        CourseTable(
            "Time and speed-up",
            ("Matrix size", "Thread-block size", "Time serial (s)", "Time naïve (s)"),
            tuple((Cell(f"{size:g}x{size:g}"), Cell("16"), serial, naive) for size in sizes),
            ("Times are medians.",),
            Figure(
                "Time by size",
                "size, pixels",
                "time, ms",
                (Series("serial", sizes, here, "cpu-serial"),),
                (Series("serial", sizes, (18.5, 61.6, 213.0)),),
                log_y=True,
            ),
        ),
        CourseTable(
            "Loads", ("Tile", "Loads"), ((Cell("8"), Cell("12", "12")), (Cell("16"), Cell("", "20")))
        ),
    )
