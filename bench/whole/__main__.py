"""Whole processes from start to exit, beside what a person would use instead, in alternating turns.

    python -m bench.whole [--quick] [--count 20] [--many 100] [--device cpu] [--json FILE] [--history]

Each program filters the same pictures, which are made first; a first run of each is not counted. Ratios are
of medians. Peak memory is what the system says of the process at its end. Peers that are not there, or do not
work, are named.
"""

import json
from pathlib import Path

from bench.options import parser_of
from bench.whole.session import Settings, measured, record
from bench.whole.tables import lines_of


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--quick", action="store_true", help="small pictures, one round: see that it works")
    parser.add_argument("--count", type=int, help="pictures of the batch (20)")
    parser.add_argument("--many", type=int, help="pictures of the larger batch (100)")
    parser.add_argument("--rounds", type=int, help="runs of each process that count (7)")
    parser.add_argument("--rows", default="", help="only these, by their keys, with commas")
    parser.add_argument("--device", help="that ours are given (auto)")
    parser.add_argument("--peer-python", help="the Python that has OpenCV, if another one")
    parser.add_argument("--commit", default="", help="for the record, where there is no git to ask")
    parser.add_argument("--history", action="store_true", help="add the ratios to bench/history-whole.jsonl")
    parser.add_argument("--json", type=Path, help="also write everything as JSON")
    arguments = parser.parse_args()
    small = {"count": 4, "many": 12, "rounds": 1} if arguments.quick else {}
    names = "count", "many", "rounds", "device", "peer_python"
    given = {name: value for name in names if (value := getattr(arguments, name)) is not None}
    settings = Settings(is_quick=arguments.quick, **(small | given))
    run = measured(settings, arguments.rows.split(",") if arguments.rows else ())
    run["commit"] = arguments.commit or run["commit"]
    print("\n" + "\n".join(lines_of(run)))
    if arguments.json:
        arguments.json.write_text(json.dumps(run, indent=1), encoding="utf-8")
    if arguments.history:
        record(run)


if __name__ == "__main__":
    main()
