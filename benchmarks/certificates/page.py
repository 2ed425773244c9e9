"""What is published of a study: tables in `docs/understand/certificates.md`, and the rates that reports quote."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.certificates.summary import (
    CERTIFIED,
    IMPROPER,
    Rate,
    Row,
    by,
    proper,
    rate,
    scores,
    spread_of_scores,
    statuses,
)
from benchmarks.certificates.targets import KINDS
from benchmarks.convergence.columns import thousands

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "understand" / "certificates.md"
RATES = ROOT / "src" / "consilience" / "diagnostics" / "error_rates.py"
BEGIN, END = "<!-- study: written by python -m benchmarks.certificates --publish -->", "<!-- end of study -->"
INTERVAL = 1.96  # standard errors, within which 95 % should lie
PUBLISHED = ("converged", "converged_with_divergences", "not_converged", "chains_disagree")


def publish(rows: Sequence[Row]) -> None:
    """Write both files."""
    text = PAGE.read_text(encoding="utf-8")
    before, after = text[: text.index(BEGIN)], text[text.index(END) :]
    PAGE.write_text(before + "\n".join([BEGIN, "", *tables(rows), "", after]), encoding="utf-8")
    RATES.write_text(module(rows), encoding="utf-8")


def tables(rows: Sequence[Row]) -> list[str]:
    """Of statuses, and of targets by kind."""
    kept = proper(rows)
    targets = len(by(kept, "target"))
    lines = [
        f"{len(kept):,} runs of {targets} targets, {_seeds(kept)} seeds of each.",
        "",
        "| status | runs | wrong | rate of error (95 % interval) | seconds | gradients |",
        "|---|--:|--:|---|--:|--:|",
    ]
    for status, some in by(kept, "status").items():
        found = rate(some)
        lines.append(f"| `{status}` | {found.runs} | {found.wrong} | {found} | {_seconds(some)} | {_gradients(some)} |")
    improper = [row for row in rows if row["target"] in KINDS[IMPROPER]]
    if improper:
        some = Rate(sum(row["status"] == CERTIFIED for row in improper), len(improper))
        lines += ["", f"Of {some.runs} runs of posteriors without a normalisation {some.wrong} were certified: {some}."]
    z = np.abs(scores(kept))
    said = (
        f"{(z < INTERVAL).mean():.1%} of {len(z):,} means lie within {INTERVAL} of the standard errors that they claim"
    )
    lines += ["", f"In certified runs that are right, {said}; the root mean square is {spread_of_scores(kept):.2f}."]
    for kind, names in KINDS.items():
        of_kind = by([row for row in rows if row["target"] in names], "target")
        if not of_kind:
            continue
        lines += [
            "", f"### {kind[0].upper()}{kind[1:]}", "",
            "| target | runs | certified | wrong | with divergences (wrong) | other statuses | seconds | gradients |",
            "|---|--:|--:|--:|--:|--:|--:|--:|",
        ]  # fmt: skip
        for name, some in of_kind.items():
            groups = by(some, "status")
            certified, diverged = rate(groups.get(CERTIFIED, [])), rate(groups.get("converged_with_divergences", []))
            cells = [
                name, len(some), certified.runs, certified.wrong, f"{diverged.runs} ({diverged.wrong})",
                len(some) - certified.runs - diverged.runs, _seconds(some), _gradients(some),
            ]  # fmt: skip
            lines.append(f"| {' | '.join(map(str, cells))} |")
    return lines


def module(rows: Sequence[Row]) -> str:
    """The table of rates as a module."""
    found = statuses(rows)
    entries = "".join(
        f'    "{status}": ({found[status].wrong}, {found[status].runs}),\n' for status in PUBLISHED if status in found
    )
    return (
        '"""How often results of each status were wrong in the study of `docs/understand/certificates.md`: '
        "(wrong, runs).\n\n"
        "Written by `python -m benchmarks.certificates --publish`; targets without a posterior are left out.\n"
        '"""\n\n'
        "from __future__ import annotations\n\n"
        f"TARGETS = {len(by(proper(rows), 'target'))}\n"
        f"RATES: dict[str, tuple[int, int]] = {{\n{entries}}}\n"
    )


def _seeds(rows: Sequence[Row]) -> str:
    counts = [len(some) for some in by(rows, "target").values()]
    return f"{max(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"


def _seconds(rows: Sequence[Row]) -> str:
    return f"{np.median([row['seconds'] for row in rows]):.2f}"


def _gradients(rows: Sequence[Row]) -> str:
    return thousands(float(np.median([row["gradients"] for row in rows])))
