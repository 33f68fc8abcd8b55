"""A bank of masks in one launch beside the same masks one after another: time per filter, all verified.

python -m bench.bank [--side 2048] [--mask 5] [--banks 1,2,4,8,16,32] [--blocks 64x8,128x4] [--json FILE]
python -m bench.bank --write FILE     writes the table of such a file into the page of implicit-gemm

`implicit-gemm` applies the whole bank in one launch; `naive` and `tiled` are launched once a mask, with their
default blocks, in one captured graph. Every result is compared with the float64 oracle before anything is
timed: those of `implicit-gemm` whole (up to 7 x 7 masks on 2048 x 2048), the others in part.
"""

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bench.document import DocumentTable, page_of
from bench.options import add_files, parser_of, wrote_tables
from bench.spreads import summarised
from engine.device.backend import Backend
from engine.device.devices import backend
from engine.device.launches import Prepared
from engine.errors import EngineError
from engine.geometry.block import Block
from engine.mask.bank import Bank
from engine.mask.mask import Mask
from engine.results.measurement import RunResult
from engine.run.device_choice import device_for
from engine.run.job import bank_job
from engine.run.measure import measure
from engine.run.resolve import as_samples, describe_problem
from engine.run.sampling import SamplingPlan
from engine.tasks.filtering.agreement import AFFORDABLE_MULTIPLY_ADDS
from engine.tasks.work import Work
from engine.variants.auto.planner import Choice
from engine.variants.contract import Variant
from engine.variants.ladder import implicit_gemm
from engine.variants.registry import variant

PLAN = SamplingPlan(budget_s=0.3, patience_s=3.0, fewest_copies=3)
IN_TURN = ("naive", "tiled")


@dataclass(frozen=True)
class InTurn:
    """Several filters made ready, launched one after another; each writes its own rows of the result."""

    each: Sequence[Prepared]

    def launch(self, image: Any, out: Any, stream: Any = 0) -> None:
        height = image.shape[0]
        for number, prepared in enumerate(self.each):
            prepared.launch(image, out[number * height : (number + 1) * height], stream)


def in_turn(one: Variant, bank: Bank) -> Variant:
    """Return the variant that applies the masks of a bank one after another as `one` does."""

    def work(problem, block):
        counts = one.work(problem, block)
        return Work(**{name: getattr(counts, name) * len(bank) for name in Work.__slots__})

    return replace(
        one,
        work=work,
        prepare=lambda problem, mask, block: InTurn([one.prepare(problem, own, block) for own in bank.masks]),
    )


def random_bank(masks: int, side: int) -> Bank:
    """Return as many masks, always the same ones."""
    random = np.random.default_rng(1)
    return Bank(tuple(Mask(random.standard_normal((side, side)) / side) for _ in range(masks)))


def measure_all(
    side: int, mask_side: int, sizes: Iterable[int], blocks: Iterable[Block], machine: Backend
) -> Iterable[tuple[int, RunResult]]:
    """Yield the number of masks and the result of every bank with every variant and block."""
    image = as_samples(np.random.default_rng(0).random((side, side), dtype=np.float32))
    for masks in sizes:
        bank = random_bank(masks, mask_side)
        problem = describe_problem(image, bank.masks[0], "zero", 0.0)
        at_once = implicit_gemm.for_bank(bank)
        choices = [Choice(at_once, block) for block in dict.fromkeys((at_once.default_block, *blocks))]
        for key in IN_TURN:
            one = variant(key)
            choices.append(Choice(in_turn(one, bank), one.default_block))
        for choice in choices:
            yield (
                masks,
                measure(
                    bank_job(
                        bank,
                        problem,
                        image,
                        chosen=choice.variant,
                        block=choice.block,
                        affordable=_affordable(choice),
                    ),
                    machine,
                    PLAN,
                ).result,
            )


def _affordable(choice: Choice) -> int | None:
    return AFFORDABLE_MULTIPLY_ADDS if choice.variant.key == implicit_gemm.VARIANT.key else None


def describe(masks: int, result: RunResult) -> str:
    """Return one line of the table."""
    head = f"{masks:5} {result.variant:14} {result.block!s:9}"
    if result.kernel_ms is None or result.timing is None or result.work is None:
        return f"{head} {result.status}"
    kernel = result.timing.kernel
    loads = result.work.picture_loads / (masks * result.problem.samples)
    return (
        f"{head} {kernel.median_ms:9.4f} {kernel.median_ms / masks:11.4f} "
        f"{kernel.p20_ms / masks:9.4f} {kernel.p80_ms / masks:9.4f} {loads:7.2f}  {result.status}"
    )


def tables(found: list[dict[str, Any]]) -> list[DocumentTable]:
    """Return the table of the time per mask, for each number of masks."""
    keys = list(dict.fromkeys(one["variant"] for one in found))
    rows: dict[int, dict[str, str]] = {}
    for one in found:
        # Of several blocks the first is the default one.
        kernel_ms = one["timing"]["kernel"]["median_ms"]
        rows.setdefault(one["masks"], {}).setdefault(one["variant"], f"{kernel_ms / one['masks'] * 1e3:.0f}")
    problem = found[0]["problem"]
    lines = [
        f"A bank of 5 x 5 masks on {problem['width']} x {problem['height']} float32, "
        f"{found[0]['environment']['device']}; kernel time per mask, microseconds (median); `implicit-gemm` "
        "applies all masks in one launch, the others apply one mask per launch:",
        "",
        f"| masks | {' | '.join(f'`{key}`' for key in keys)} |",
        f"|---|{'---|' * len(keys)}",
        *(f"| {masks} | {' | '.join(row.get(key, '') for key in keys)} |" for masks, row in rows.items()),
    ]
    return [DocumentTable(page_of(implicit_gemm.VARIANT.key), "banks of masks", lines)]


def main() -> int:
    """Measure and print; return the exit status."""
    parser = parser_of(__doc__)
    parser.add_argument("--side", type=int, default=2048)
    parser.add_argument("--mask", type=int, default=5)
    parser.add_argument("--banks", default="1,2,4,8,16,32", help="how many masks")
    parser.add_argument(
        "--blocks", default="", help="blocks to try beside the default one, such as 64x8,128x4"
    )
    add_files(parser, "docs/variants")
    arguments = parser.parse_args()
    if wrote_tables(arguments, tables):
        return 0
    found: list[dict[str, Any]] = []
    verified = True
    try:
        blocks = [Block.parse(text) for text in arguments.blocks.split(",") if text]
        machine = backend(device_for(implicit_gemm.VARIANT, "auto").key)
        print(
            f"{arguments.side} x {arguments.side} float32, {arguments.mask} x {arguments.mask} masks, "
            f"zero border, {machine.info.title}"
        )
        print(
            "masks variant        block       all, ms per filter, ms       p20       p80   loads  "
            "(loads: of the picture, a result)"
        )
        sizes = [int(text) for text in arguments.banks.split(",")]
        for masks, result in measure_all(arguments.side, arguments.mask, sizes, blocks, machine):
            print(describe(masks, result), flush=True)
            found.append({"masks": masks} | summarised(result))
            verified &= result.verification is not None and result.verification.passed
    except EngineError as error:
        print(error, file=sys.stderr)
        return 3
    finally:
        if arguments.json and found:
            arguments.json.write_text(json.dumps(found, indent=1), encoding="utf-8")
    return 0 if verified else 4


if __name__ == "__main__":
    sys.exit(main())
