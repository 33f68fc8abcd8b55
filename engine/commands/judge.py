"""`judge`: is a kernel right? One that somebody wrote, in CUDA C or Numba, without a GPU."""

from dataclasses import dataclass
from pathlib import Path

from engine.commands import BAD_INPUT, DONE, UNEXPECTED
from engine.commands.arguments import Settings, option, required
from engine.commands.output import print_one, table
from engine.judging.judge import judge
from engine.judging.judgement import METRICS, Judgement, Verdict, gate_of
from engine.results.text_forms import rate_text

_STATUS_AND_WORDS = {
    Verdict.RIGHT: (DONE, "right"),
    Verdict.WRONG: (UNEXPECTED, "wrong"),
    Verdict.FAULTY: (UNEXPECTED, "has a fault, although the picture is right"),
    Verdict.REFUSED: (BAD_INPUT, "refused"),
}


@dataclass(frozen=True, kw_only=True)
class JudgeSettings(Settings):
    """What `judge` takes."""

    about = (
        'A file .cu has one kernel extern "C" __global__ void any_name(...), a file .py one function under '
        "@cuda.jit. Parameters are known by name, in any order: image, mask, out, width, height, mask_width, "
        "mask_height, channels, border_value. Comments at its top say how it is launched: block: 32 8 "
        "(default 16 16), results: 28 4 (of a block; default one per thread), mask: 5 5 (default any "
        "odd up to 9 × 9), border: replicate (default zero), shared: 4096 (bytes), type: uint8. The kernel "
        "runs in an interpreter that sees races, accesses outside of arrays and reads of unwritten memory."
    )
    exit_statuses = "0 right, 1 wrong or faulty or a requirement that does not hold, 2 refused or bad use"
    examples = (
        "tiled.cu",
        "tiled.cu --json",
        'tiled.py --full --require "loads per result <= 3" --require "idle lanes <= 0.5"',
    )

    file: str = required("FILE  a kernel: .cu (CUDA C) or .py (Numba)", str)
    full: bool = option("--full  all sizes and masks, not four launches; and the GPU, where one is", False)
    function: str | None = option("--function NAME  the kernel, where the file has several", None)
    require: tuple[str, ...] = option(
        lambda: (
            '--require PROPERTY  such as "loads per result <= 3"; --require again for more. Known: '
            + ", ".join(METRICS)
        ),
        (),
    )

    def __post_init__(self) -> None:
        """Refuse a requirement that is none before anything is compiled."""
        for text in self.require:
            gate_of(text)


def run(settings: JudgeSettings) -> int:
    """Judge a kernel and print the verdict; return the exit status."""
    judgement = judge(settings.file, full=settings.full, function=settings.function, require=settings.require)
    print_one(settings.json, judgement.as_json(), in_words(judgement, Path(settings.file).name))
    status, _ = _STATUS_AND_WORDS[judgement.verdict]
    return UNEXPECTED if status == DONE and not judgement.passed else status


def in_words(judgement: Judgement, file: str) -> str:
    """Return a judgement as text for a terminal."""
    name = f"{judgement.kernel} in {file}" if judgement.kernel else file
    lines = [f"{name}: {_STATUS_AND_WORDS[judgement.verdict][1]}"]
    lines += [f"  {finding}" for finding in judgement.findings]
    for gate in judgement.gates:
        state = "holds" if gate.holds else "does not hold"
        has = f"it has {rate_text(gate.value)}, naive has {rate_text(gate.naive)}"
        lines.append(f"  required: {gate.text}: {state}, {has}")
    if judgement.device:
        lines.append(f"  {judgement.device}")
    if judgement.launches:
        lines += ["", f"Launched {len(judgement.launches)} times: {'; '.join(judgement.launches)}.", ""]
        metrics = [(one, rate_text(value)) for one, value in judgement.metrics.items()]
        lines.append(table(("count, in the largest launch", ""), metrics, right=(1,)))
        counted = "requests", "sectors", "wavefronts"
        rows = [
            (str(line), what, *(f"{counts[name]:,}" if counts[name] else "-" for name in counted))
            for line, kinds in sorted(judgement.lines.items())
            for what, counts in kinds.items()
        ]
        if rows:
            lines += ["", table(("line", "requests to", *counted), rows, right=(0, 2, 3, 4))]
    return "\n".join(lines)
