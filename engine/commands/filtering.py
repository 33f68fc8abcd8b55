"""`filter`: a picture file in, the filtered picture out, with the proof that it is right."""

import argparse
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

from engine.commands import DONE
from engine.commands.arguments import Parser
from engine.commands.filter_options import add_filter_options, is_operation, mask_of
from engine.commands.opening import open_for
from engine.commands.output import report_interrupt
from engine.files.output_checks import check_other_file, check_place
from engine.image.form import Form
from engine.image.formats import in_words, offered_suffixes, titles

_EXAMPLES = (
    "photo.jpg edges.png --mask sobel-x --range absolute",
    "photo.jpg soft.jpg --mask gaussian:9:1.5 --border mirror",
    'photo.png out.tif --mask "1 0 -1; 2 0 -2; 1 0 -1" --depth float32',
    "photo.png out.png --mask my-mask.json --variant tiled --block 32x8 --flip",
    "photo.png calm.png --operation median --set size=5",
    "photo.png found.png --operation find-patch --patch eye.png --json",
    "small.png out.png --mask box-3 --variant naive --device simulator --json",
)


def run(arguments: list[str]) -> int:
    """Filter a file; return the exit status."""
    options = _parser().read(arguments)
    with report_interrupt([options.output]):
        _filter(options)
    return DONE


def _filter(options: argparse.Namespace) -> None:
    check_place(options.output)
    if not options.overwrite:
        check_other_file(
            options.output, options.input, "Give the result another name, or --overwrite to lose the picture."
        )
    for name in ("mask", "patch"):
        if getattr(options, name):
            check_other_file(options.output, getattr(options, name), what=name)
    if is_operation(options):
        from engine.commands.operation_file import operate_file
        from engine.commands.operation_options import read_operation

        read_operation(options)
        operate_file(options, open_for(options, options.input, options.output))
        return
    mask = mask_of(options)
    forms: Future[Form] = Future()

    def on_form(form: Form) -> None:
        if not forms.done():
            forms.set_result(form)

    with ThreadPoolExecutor(1, thread_name_prefix="filter-open") as opener:
        opening = opener.submit(open_for, options, options.input, options.output, on_form=on_form)
        # While the picture is decoded: both take 65 ms, a fifth of the whole command.
        from engine.commands.filter_file import filter_file, load_code

        either: tuple[Future[Any], ...] = (forms, opening)
        wait(either, return_when=FIRST_COMPLETED)
        if forms.done():
            load_code(options, mask, forms.result())
    filter_file(options, mask, opening.result())


def _parser() -> Parser:
    parser = Parser(
        "filter",
        "The result is verified against a float64 oracle before it is saved. Depth, colour profile and alpha "
        "of the picture are kept. The mask is correlated with the picture; --flip convolves. --operation "
        "computes something else: OUT is then the picture, the plot of a histogram, or the picture with the "
        "best match marked. `batch` does many files.",
        _EXAMPLES,
    )
    parser.add_argument("input", metavar="IN", help=f"picture: {titles()} (first frame)")
    parser.add_argument(
        "output",
        metavar="OUT",
        help=f"file to write: {in_words(offered_suffixes())}; it appears whole or not at all",
    )
    parser.add_options("""
        --overwrite  let OUT be IN itself, which is then lost (another OUT that exists is always replaced)
        """)
    add_filter_options(parser)
    return parser
