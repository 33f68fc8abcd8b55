"""What `code --json` prints: listings with counts, diffs and the story as plain data."""

from collections.abc import Sequence

from engine.explain.code.code_diff import Diff, MeasuredDifference
from engine.explain.code.listing import CodeLine, InstructionCounts, ListedKernel
from engine.explain.code.teaching_story import Chapter, Step


def listing_document(kernels: Sequence[ListedKernel]) -> dict[str, object]:
    """Return the listings of a variant's kernels, with their counts."""
    return {
        "kernels": [
            {
                "kernel": one.listing.kernel,
                "passes": list(one.passes),
                "form": str(one.listing.form),
                "architecture": one.listing.architecture,
                "counts": _counts(one.counts),
                "lines": [_line(line) for line in one.listing.lines],
            }
            for one in kernels
        ]
    }


def diff_document(diff: Diff) -> dict[str, object]:
    """Return the rows of a diff; a side without a line has null for its number."""
    rows = [
        {
            "change": str(row.change),
            "left_line": row.left_number,
            "left": row.left,
            "right_line": row.right_number,
            "right": row.right,
        }
        for row in diff.rows
    ]
    numbers = {"removed": diff.removed, "added": diff.added, "measured": _measured(diff.measured)}
    return {"left": diff.left, "right": diff.right, "heading": diff.heading} | numbers | {"rows": rows}


def story_document(chapters: Sequence[Chapter]) -> list[dict[str, object]]:
    """Return the steps of the story, without their code."""
    return [{"title": one.title, "steps": [_step(step) for step in one.steps]} for one in chapters]


def _counts(counts: InstructionCounts) -> dict[str, object]:
    taps = counts.taps
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
    whole = {"instructions": counts.total, "on_64_bit_integers": counts.on_64_bit, "by_class": by_class}
    return whole | {"per_multiply_add": per_tap}


def _line(line: CodeLine) -> dict[str, object]:
    source = line.source and {"path": line.source.path, "line": line.source.line}
    kind = None if line.kind is None else str(line.kind)
    return {"text": line.text, "class": kind, "opcode": line.opcode or None, "source": source}


def _measured(measured: MeasuredDifference | None) -> dict[str, object] | None:
    if measured is None:
        return None
    times = {"before_ms": measured.before_ms, "after_ms": measured.after_ms, "saved": measured.saved}
    return times | {"problem": measured.problem, "device": measured.device}


def _step(step: Step) -> dict[str, object]:
    return {
        "variant": step.key,
        "title": step.title,
        "idea": step.idea,
        "compared_with": step.before or None,
        "removed": step.diff and step.diff.removed,
        "added": step.diff and step.diff.added,
        "measured": _measured(step.measured),
    }
