"""The command: truths, runs, the summary of files of runs, and what is published of it."""

from __future__ import annotations

import argparse
import math
import tempfile
from pathlib import Path

from benchmarks.certificates.study import LIMIT, Study
from benchmarks.certificates.targets import KINDS, TARGETS

STUDY = 70  # seeds of every target: some 10,000 runs


def main() -> None:
    """One of five things: `--truths`, some runs, `--study FILE`, `--summary FILES`, `--publish FILES`."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.certificates", description=__doc__)
    parser.add_argument("--runs", type=int, default=2, help="runs of each target: seeds 0, 1, ...")
    parser.add_argument("--seeds", metavar="A:B", help="seeds from A up to B, in place of --runs")
    parser.add_argument("--processes", type=int, default=1, help="each with one thread")
    parser.add_argument("--rows", nargs="+", metavar="ROW", help="targets or kinds; all by default")
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="file to which rows of JSON are added; a temporary one"
    )
    parser.add_argument("--budget", type=float, default=math.inf, help="seconds, after which no run begins")
    parser.add_argument("--per-target", type=float, default=math.inf, help="seconds of all runs of a target together")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds of a run")
    parser.add_argument("--truths", action="store_true", help="compute the truths of the rows, and keep them")
    parser.add_argument("--summary", nargs="+", type=Path, metavar="FILE", help="print what these files come to")
    parser.add_argument(
        "--against", nargs="+", type=Path, metavar="FILE", help="compare costs with those of these files"
    )
    parser.add_argument(
        "--study", type=Path, metavar="FILE", help=f"{STUDY} seeds of every target, those in the file left out; publish"
    )
    parser.add_argument(
        "--publish",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="write the page, the error rates and all that quote them",
    )
    parser.add_argument("--list", action="store_true", help="names of all targets")
    options = parser.parse_args()
    names = [name for row in options.rows or KINDS for name in KINDS.get(row, [row])]
    names = list(dict.fromkeys(names))
    unknown = [name for name in names if name not in TARGETS]
    if unknown:
        parser.error(f"no target or kind is called {unknown[0]!r}; --list has their names")
    if options.list:
        for kind, rows in KINDS.items():
            print(f"{kind}: {'; '.join(rows)}")
    elif options.truths:
        from benchmarks.certificates.truths import make

        make(names)
    elif options.summary or options.publish:
        from benchmarks.certificates import summary

        if options.publish:
            from benchmarks.certificates.page import publish

            publish(summary.read(options.publish))
        if options.summary:
            summary.show(summary.read(options.summary), summary.read(options.against or []))
    else:
        from benchmarks.certificates import summary

        runs = max(options.runs, STUDY) if options.study else options.runs
        first, end = map(int, options.seeds.split(":")) if options.seeds else (0, runs)
        out = options.study or options.out or Path(tempfile.mkstemp(suffix=".jsonl")[1])
        study = Study(
            names, range(first, end), options.processes, out, options.per_target, options.budget, options.limit
        )
        study.run()
        summary.show(summary.read([out]), summary.read(options.against or []))
        if options.study:
            from benchmarks.certificates.page import publish

            publish(summary.read([out]))


if __name__ == "__main__":
    main()
