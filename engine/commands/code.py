"""`code`: a kernel's source with its story, its PTX and SASS with counts, diffs of two, and all as slides."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from engine.commands import DONE
from engine.commands.arguments import Settings, given_options, group, option, refuse_given
from engine.commands.code_documents import diff_document, listing_document, story_document
from engine.commands.code_text import diff_text, listing_text, source_text
from engine.commands.output import log_notes, print_answer, print_json
from engine.commands.step_options import PictureOptions
from engine.errors import BadValue
from engine.explain.code.code_diff import measured_difference
from engine.explain.code.kernel_listing import kernel_diff, listed_kernels
from engine.explain.code.kernel_source import source_of
from engine.explain.code.listing import Form
from engine.explain.code.teaching_story import about_text, slides, teaching_story
from engine.explain.examples import Asked, Example, example_of, variant_named
from engine.explain.gpus import ARCHITECTURES, DEFAULT, Architecture
from engine.files.atomic_write import atomic_write
from engine.files.output_checks import check_other_file, check_place
from engine.files.reading import Json
from engine.geometry.block import Block
from engine.mask.mask import Mask
from engine.mask.resolve import resolve_mask
from engine.results.measurement import AnyResult
from engine.tasks.read_results import results_in_file
from engine.work.operations.table import parameters_from

FORMAT, VERSION = "haloscope-code", 1
_DEPENDED_ON = "mask", "border", "dtype", "result_type", "channels", "block", "set"
_OF_A_KERNEL = "ptx", "sass", "arch", "diff", "side_by_side", *_DEPENDED_ON


@dataclass(frozen=True, kw_only=True)
class CodeSettings(Settings):
    """What `code` takes."""

    about = (
        "Without --ptx and --sass it shows the source: the story of its module, the kernel, and the "
        "functions that it calls. PTX and SASS are compiled for an architecture that need not be here, "
        "without a GPU, and name the line of the source that each instruction comes from. What a kernel "
        "depends on has a value that the variant takes where it is not given. Instructions are counted as "
        "they are written, not as they run."
    )
    examples = (
        "tiled",
        "naive --ptx --arch sm_86",
        "tiled --sass --mask gaussian:9 --block 16x16",
        "naive --diff tiled --results results.json",
        "cached --ptx --diff tiled --side-by-side",
        "--story slides.html --results results.json",
    )

    variant: str | None = option("VARIANT  key of a kernel of any task (`variants` lists them)", None)
    ptx: bool = option("--ptx  the PTX of its CUDA kernels, with counts by class", False)
    sass: bool = option("--sass  their machine code, with counts; needs NVIDIA's nvdisasm", False)
    arch: Architecture = option(
        lambda: f"--arch NAME  compile for {', '.join(map(str, ARCHITECTURES))} (default {DEFAULT})",
        DEFAULT,
        Architecture.named,
    )
    diff: str | None = option("--diff OTHER  what another kernel has instead of this one's lines", None)
    side_by_side: bool = option("--side-by-side  the two kernels of --diff in two columns", False)
    story: str | None = option(
        "--story OUT.html  write the teaching order as slides: what each kernel changes, and what it saved",
        None,
    )
    results: tuple[str, ...] = option(
        "--results FILE  results of `bench`, for what was measured; --results again for more", ()
    )
    mask: Mask | None = option("--mask MASK  as `filter` takes it (default: 5 × 5)", None, resolve_mask)
    picture: PictureOptions = group(PictureOptions, where="", default="")
    block: Block | None = option("--block 16x16  threads of a CUDA block, width × height", None, Block.parse)
    set: tuple[str, ...] = option("--set NAME=VALUE  a parameter of an operation, such as size=5", ())

    def __post_init__(self) -> None:
        """Refuse options that do not belong together."""
        if self.variant is None and self.story is None:
            remedy = "Name a kernel, such as tiled, or --story slides.html for all of them."
            raise BadValue("code", "no kernel is named", remedy)
        if self.ptx and self.sass:
            raise BadValue("--ptx with --sass", "one listing is shown at a time", "Give one of the two.")
        if self.story is not None:
            if self.variant is not None:
                why = "the slides show every kernel"
                raise BadValue(f"--story with {self.variant}", why, "Leave one of the two out.")
            refuse_given(self, _OF_A_KERNEL, "with --story", "it is for one kernel", "Leave it out.")
        if self.diff is None:
            refuse_given(
                self, ("side_by_side",), "without --diff", "it shows two kernels", "Add --diff OTHER."
            )
            if self.story is None:
                why = "times are shown beside a difference"
                refuse_given(self, ("results",), "without --diff", why, "Add --diff OTHER.")

    @property
    def form(self) -> Form | None:
        """The listing that is asked for; None: the source."""
        return Form.PTX if self.ptx else Form.SASS if self.sass else None

    @property
    def asked(self) -> Asked:
        """What the kernel is for."""
        return Asked(
            mask=self.mask,
            **vars(self.picture),
            block=self.block,
            settings=parameters_from(self.set),
        )


def run(settings: CodeSettings) -> int:
    """Print the code of a kernel or the diff of two, or write the slides; return the exit status."""
    results = [result for path in settings.results for result in results_in_file(path)]
    if settings.story is not None:
        return _write_story(settings, settings.story, results)
    example = example_of(variant_named(settings.variant or ""), settings.asked)
    if settings.diff is not None:
        other = example_of(variant_named(settings.diff), settings.asked)
        measured = measured_difference(results, example.variant.key, other.variant.key)
        diff = kernel_diff(example, other, settings.form, settings.arch, measured)
        log_notes(_unused(settings, (example, other)))
        _print(settings, diff_document(diff), diff_text(diff, side_by_side=settings.side_by_side))
        return DONE
    if settings.form is None:
        source = source_of(example)
        document, text = asdict(source), source_text(example, source)
    else:
        kernels = listed_kernels(example, settings.form, settings.arch)
        document, text = listing_document(kernels), listing_text(example, kernels)
    log_notes(_unused(settings, (example,)))
    facts = {"variant": example.variant.key, "task": example.variant.task, "compiled_for": example.facts}
    _print(settings, facts | document, text)
    return DONE


def _print(settings: CodeSettings, document: Json, text: str) -> None:
    if settings.json:
        print_json({"format": FORMAT, "version": VERSION} | document)
    else:
        print_answer(text)


def _unused(settings: CodeSettings, examples: Sequence[Example]) -> list[str]:
    """Return a sentence for each option that changes none of these kernels."""
    used = {name for example in examples for name in example.depends_on}
    given = dict(given_options(settings))
    notes = [
        f"{given[name]} was not used: {' and '.join(one.variant.key for one in examples)} "
        f"do{'es' * (len(examples) == 1)} not depend on it."
        for name in _DEPENDED_ON
        if name in given and name not in used
    ]
    if settings.form is None and settings.arch != DEFAULT:
        notes.append("--arch was not used: it is for --ptx and --sass.")
    return notes


def _write_story(settings: CodeSettings, path: str, results: Sequence[AnyResult]) -> int:
    check_place(path)
    for source in settings.results:
        check_other_file(path, source, "Give the slides another name.", what="file of results")
    chapters = teaching_story(results)
    atomic_write(path, slides(chapters, about_text(results)).encode())
    kernels = sum(len(chapter.steps) for chapter in chapters)
    document = {"story": path, "chapters": story_document(chapters)}
    _print(settings, document, f"{path}: {kernels} kernels in {len(chapters)} chapters.")
    return DONE
