"""How many random models pass, and how others fail.

`python -m tests.random_models --seeds 1,2,3 --count 20000 --jobs 2`

On other engines, `--engines c jax torch`: some 3,000 models an hour with two processors, where compilers optimise
little (XLA_FLAGS="--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false", a CC that ends in -O1).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

from tests.random_models.runs import Failure, checked_numbers, report, run


def main() -> int:
    """Run the models, print counts per outcome and the smallest example of each class of failures."""
    parser = argparse.ArgumentParser(prog="python -m tests.random_models", description=main.__doc__)
    parser.add_argument("--seeds", default="1,2,3", help="comma-separated; the models are shared among them")
    parser.add_argument("--count", type=int, default=20000, help="models in all")
    parser.add_argument("--first", type=int, default=0, help="the first number of each seed")
    parser.add_argument("--number", type=int, action="append", help="these numbers of each seed instead")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument(
        "--shrink", type=float, default=20.0, help="seconds for shrinking one class of failures; 0 for none"
    )
    parser.add_argument("--engines", nargs="*", default=[], help="backends to compare beside machine code and NumPy")
    parser.add_argument("--features", action="store_true", help="print how often each idiom occurred")
    parser.add_argument("--report", type=Path, help="write what is printed to this file too")
    chosen = parser.parse_args()
    seeds = [int(s) for s in chosen.seeds.split(",")]
    began = time.monotonic()
    outcomes: Counter[str] = Counter()
    features: Counter[str] = Counter()
    failures: list[Failure] = []
    for part in run(checked_numbers(seeds, chosen.count, chosen.first, chosen.number), chosen.jobs, chosen.engines):
        outcomes.update(part.outcomes)
        features.update(part.features)
        failures += part.failures
        done = sum(outcomes.values())
        for failure in part.failures:
            print(f"\n{failure.seed}:{failure.number} {failure.outcome.label}", file=sys.stderr)
        print(
            f"\r{done} models, {outcomes['pass']} pass, {time.monotonic() - began:.0f} s",
            end="",
            file=sys.stderr,
            flush=True,
        )
    print(file=sys.stderr)
    text = report(outcomes, failures, seeds, time.monotonic() - began, chosen.shrink, chosen.engines)
    if chosen.features:
        text += "\n\nidioms used\n" + "\n".join(f"{n:7d}  {name}" for name, n in sorted(features.items()))
    print(text)
    if chosen.report is not None:
        chosen.report.write_text(text + "\n", encoding="utf-8")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
