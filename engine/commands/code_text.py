"""What `code` prints for people: sources with line numbers, listings beside their lines, diffs."""

from collections.abc import Iterator, Sequence
from textwrap import indent

from engine.commands.output import table
from engine.explain.code.code_diff import Change, Diff
from engine.explain.code.listing import CodeLine, InstructionCounts, ListedKernel
from engine.explain.code.source import KernelSource
from engine.explain.examples import Example

# Equal lines that are shown before and after a difference.
_AROUND = 3
# Of a side of a diff; a longer line is cut.
_SIDE = 96
_MARKS = {Change.SAME: " ", Change.CHANGED: "|", Change.REMOVED: "<", Change.ADDED: ">"}


def source_text(example: Example, source: KernelSource) -> str:
    """Return the story, then each function with the numbers of its lines."""
    parts = [source.story.title]
    parts += [
        f"{section.heading}\n{indent(section.text, '    ')}" if section.heading else section.text
        for section in source.story.sections
    ]
    if source.remark:
        parts.append(source.remark)
    if example.variant.has_kernels:
        parts.append(_compiled_for(example))
    for one in source.functions:
        lines = "\n".join(
            f"{number:5}  {line}".rstrip() for number, line in enumerate(one.lines, start=one.first_line)
        )
        parts.append(f"{one.path}, line {one.first_line}: {one.role} {one.name}\n{lines}")
    return "\n\n".join(parts)


def listing_text(example: Example, kernels: Sequence[ListedKernel]) -> str:
    """Return each kernel: its counts, then its lines beside those of the source."""
    parts = [_compiled_for(example)]
    for one in kernels:
        parts += [one.heading, counts_text(one.counts), "\n".join(_beside_source(one.listing.lines))]
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


def diff_text(diff: Diff, *, side_by_side: bool) -> str:
    """Return a diff under its heading, in one column or in two."""
    if not diff.removed and not diff.added:
        return f"{diff.heading}\n\nNothing differs."
    lines = _two_columns(diff) if side_by_side else (line.marked for line in diff.unified(_AROUND))
    return "\n".join([diff.heading, "", *lines])


def _compiled_for(example: Example) -> str:
    return f"{example.variant.key}, compiled for: {example.compiled_for}"


def _beside_source(lines: Sequence[CodeLine]) -> Iterator[str]:
    before = None
    for number, line in enumerate(lines, start=1):
        source = line.source
        # Said once for all instructions of a line.
        place = (
            "" if source is None or source == before else f"{source.path.rsplit('/', 1)[-1]}:{source.line}"
        )
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
