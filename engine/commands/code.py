"""`code`: a kernel's source with its story, its PTX and SASS with counts, diffs of two, and all as slides."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from textwrap import indent

from engine.commands import DONE
from engine.commands.arguments import Settings, group, option, refuse_used, used_options
from engine.commands.output import log_notes, print_one, table
from engine.commands.step_options import PictureOptions
from engine.errors import BadValue
from engine.explain.code_diff import Change, Diff, MeasuredDifference, measured_difference
from engine.explain.code_lines import CodeLine, InstructionCounts, KernelSource, Listing, ListingForm
from engine.explain.examples import Example, KernelPurpose, example_of, variant_named
from engine.explain.kernel_code import kernel_diff, listed_kernels, source_of
from engine.explain.launches import ARCHITECTURES, DEFAULT, Architecture
from engine.explain.teaching_story import StoryStep, about_text, slides, teaching_story
from engine.files.atomic_write import atomic_write, check_other_file, check_place
from engine.geometry.block import Block
from engine.mask.mask import Mask
from engine.mask.presets import resolve_mask
from engine.results.measurement import AnyResult
from engine.tasks.read_results import results_in_file
from engine.work.operations.contract import parameters_from

HEAD: dict[str, object] = {"format": "haloscope-code", "version": 1}
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
            refuse_used(self, _OF_A_KERNEL, "with --story", "it is for one kernel", "Leave it out.")
        if self.diff is None:
            needed = "without --diff", "it shows two kernels", "Add --diff OTHER."
            refuse_used(self, ("side_by_side",), *needed)
            if self.story is None:
                why = "times are shown beside a difference"
                refuse_used(self, ("results",), "without --diff", why, "Add --diff OTHER.")

    @property
    def form(self) -> ListingForm | None:
        """The requested listing; None: the source."""
        return ListingForm.PTX if self.ptx else ListingForm.SASS if self.sass else None

    @property
    def purpose(self) -> KernelPurpose:
        """What the kernel is for."""
        settings = parameters_from(self.set)
        return KernelPurpose(mask=self.mask, **vars(self.picture), block=self.block, settings=settings)


def run(settings: CodeSettings) -> int:
    """Print the code of a kernel or the diff of two, or write the slides; return the exit status."""
    results = [result for path in settings.results for result in results_in_file(path)]
    if settings.story is not None:
        return _write_story(settings, settings.story, results)
    example = example_of(variant_named(settings.variant or ""), settings.purpose)
    if settings.diff is not None:
        other = example_of(variant_named(settings.diff), settings.purpose)
        measured = measured_difference(results, example.variant.key, other.variant.key)
        diff = replace(kernel_diff(example, other, settings.form, settings.arch), measured=measured)
        log_notes(_unused(settings, (example, other)))
        rows = [
            {"change": str(row.change), "left_line": row.left_number, "left": row.left}
            | {"right_line": row.right_number, "right": row.right}
            for row in diff.rows
        ]
        document: dict[str, object] = {"left": diff.left, "right": diff.right, "heading": diff.heading}
        document |= {"removed": diff.removed, "added": diff.added, "measured": _measured(diff.measured)}
        lines: Iterable[str] = ["Nothing differs."]
        if diff.removed or diff.added:
            marked = (line.marked for line in diff.unified(_AROUND))
            lines = _two_columns(diff) if settings.side_by_side else marked
        print_one(settings.json, HEAD | document | {"rows": rows}, "\n".join([diff.heading, "", *lines]))
        return DONE
    if settings.form is None:
        source = source_of(example)
        document, text = asdict(source), source_text(example, source)
    else:
        kernels = listed_kernels(example, settings.form, settings.arch)
        document, parts = listing_document(kernels), [_compiled_for(example)]
        for one in kernels:
            parts += [one.heading, counts_text(one.counts), "\n".join(_beside_source(one.lines))]
        text = "\n\n".join(parts)
    log_notes(_unused(settings, (example,)))
    facts = {"variant": example.variant.key, "task": example.variant.task, "compiled_for": example.facts}
    print_one(settings.json, HEAD | facts | document, text)
    return DONE


def _unused(settings: CodeSettings, examples: Sequence[Example]) -> list[str]:
    """Return a sentence for each option that changes none of these kernels."""
    used = {name for example in examples for name in example.depends_on}
    written = dict(used_options(settings))
    notes = [
        f"{written[name]} was not used: {' and '.join(one.variant.key for one in examples)} "
        f"do{'es' * (len(examples) == 1)} not depend on it."
        for name in _DEPENDED_ON
        if name in written and name not in used
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
    kernels = sum(map(len, chapters.values()))
    listed = [{"title": title, "steps": list(map(_step, steps))} for title, steps in chapters.items()]
    document = HEAD | {"story": path, "chapters": listed}
    print_one(settings.json, document, f"{path}: {kernels} kernels in {len(chapters)} chapters.")
    return DONE


def listing_document(kernels: Sequence[Listing]) -> dict[str, object]:
    """Return the listings of a variant's kernels, with their counts."""
    documents = []
    for one in kernels:
        counts, taps = one.counts, one.counts.taps
        per_tap = taps and {
            "is_loop": taps.is_loop,
            "first_line": taps.first + 1,
            "last_line": taps.last + 1,
            "multiply_adds": taps.taps,
            "instructions": taps.instructions,
            "on_64_bit_integers": taps.integer_64,
            "by_class": {str(kind): count for kind, count in taps.per_tap.items()},
        }
        by_class = {str(kind): count for kind, count in counts.by_class.items()}
        counted = {"instructions": counts.total, "on_64_bit_integers": counts.on_64_bit, "by_class": by_class}
        lines = [
            {
                "text": line.text,
                "class": line.kind and str(line.kind),
                "opcode": line.opcode or None,
                "source": line.source and {"path": line.source.path, "line": line.source.line},
            }
            for line in one.lines
        ]
        what: dict[str, object] = {"kernel": one.kernel, "passes": list(one.passes)}
        what |= {"form": str(one.form), "architecture": one.architecture}
        documents.append(what | {"counts": counted | {"per_multiply_add": per_tap}, "lines": lines})
    return {"kernels": documents}


def _measured(measured: MeasuredDifference | None) -> dict[str, object] | None:
    if measured is None:
        return None
    times = {"before_ms": measured.before_ms, "after_ms": measured.after_ms, "saved": measured.saved}
    return times | {"problem": measured.problem, "device": measured.device}


def _step(step: StoryStep) -> dict[str, object]:
    return {
        "variant": step.key,
        "title": step.title,
        "idea": step.idea,
        "compared_with": step.before or None,
        "removed": step.diff and step.diff.removed,
        "added": step.diff and step.diff.added,
        "measured": _measured(step.measured),
    }


_AROUND = 3  # equal lines that are shown before and after a difference
_SIDE = 96  # of a side of a diff; a longer line is cut
_MARKS = {Change.SAME: " ", Change.CHANGED: "|", Change.REMOVED: "<", Change.ADDED: ">"}


def source_text(example: Example, source: KernelSource) -> str:
    """Return the story, then each function with the numbers of its lines."""
    parts = [source.story.title]
    for section in source.story.sections:
        headed = f"{section.heading}\n{indent(section.text, '    ')}"
        parts.append(headed if section.heading else section.text)
    parts += filter(None, [source.remark])
    parts += [_compiled_for(example)] if example.variant.has_kernels else []
    for one in source.functions:
        numbered = enumerate(one.lines, start=one.first_line)
        lines = "\n".join(f"{number:5}  {line}".rstrip() for number, line in numbered)
        parts.append(f"{one.path}, line {one.first_line}: {one.role} {one.name}\n{lines}")
    return "\n\n".join(parts)


def counts_text(counts: InstructionCounts) -> str:
    """Return a table of the classes of instructions, in the kernel and for a multiply-add."""
    taps = counts.taps
    per_tap = taps.per_tap if taps else {}
    rows = [
        (str(kind), str(count), f"{per_tap[kind]:.2f}" if kind in per_tap else "")
        for kind, count in counts.by_class.items()
    ]
    rows.append(("all", str(counts.total), f"{taps.instructions:.1f}" if taps else ""))
    wide = "on 64-bit integers and addresses", str(counts.on_64_bit), f"{taps.integer_64:.1f}" if taps else ""
    printed = table(("class", "instructions", "per multiply-add"), [*rows, wide], right=(1, 2))
    return f"{printed}\nPer multiply-add: {taps.where}." if taps else printed


def _compiled_for(example: Example) -> str:
    return f"{example.variant.key}, compiled for: {example.compiled_for}"


def _beside_source(lines: Sequence[CodeLine]) -> Iterator[str]:
    before = None
    for number, line in enumerate(lines, start=1):
        source, place = line.source, ""
        # Shown once for all instructions of a line.
        if source is not None and source != before:
            place = f"{source.path.rsplit('/', 1)[-1]}:{source.line}"
        before = source if line.kind else before
        yield f"{number:5}  {place:26}{line.text.expandtabs(8)}".rstrip()


def _two_columns(diff: Diff) -> Iterator[str]:
    width = min(_SIDE, max((len(row.left.expandtabs()) for row in diff.rows), default=0))

    def side(number: int | None, text: str) -> str:
        shown = text.expandtabs()
        shown = shown if len(shown) <= width else f"{shown[: width - 1]}…"
        return f"{'' if number is None else number:>5} {shown}"

    for row in diff.rows:
        left = side(row.left_number, row.left)
        right = side(row.right_number, row.right)
        yield f"{left:{width + 6}} {_MARKS[row.change]} {right}".rstrip()
