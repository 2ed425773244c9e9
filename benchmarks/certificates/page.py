"""What is published of a study: tables in `docs/understand/certificates.md`, and the rates that reports quote."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.certificates import quotes
from benchmarks.certificates.summary import (
    CERTIFIED,
    IMPROPER,
    Rate,
    Row,
    by,
    certified_of_right,
    proper,
    rate,
    scores,
    seen,
    spread_of_scores,
    statuses,
)
from benchmarks.certificates.targets import KINDS, TARGETS
from benchmarks.convergence.columns import thousands

PAGE = quotes.ROOT / "docs" / "understand" / "certificates.md"
RATES = quotes.ROOT / "src" / "consilience" / "diagnostics" / "error_rates.py"
BEGIN, END = "<!-- study: written by python -m benchmarks.certificates --publish -->", "<!-- end of study -->"
INTERVAL = 1.96  # standard errors, within which 95 % should lie
PUBLISHED = ("converged", "converged_with_divergences", "not_converged", "chains_disagree")


def publish(rows: Sequence[Row]) -> None:
    """Write the page, the rates, and every place that quotes them.

    Raises
    ------
    ValueError
        For rows of several versions of the code, or of a tree with changes that were not committed.
    """
    figures = figures_of(rows)
    text = PAGE.read_text(encoding="utf-8")
    before, after = text[: text.index(BEGIN)], text[text.index(END) :]
    PAGE.write_text(before + "\n".join([BEGIN, "", *tables(rows), "", after]), encoding="utf-8")
    RATES.write_text(module(figures), encoding="utf-8")
    quotes.write(figures)


def figures_of(rows: Sequence[Row]) -> quotes.Figures:
    """What is quoted of a study."""
    made = {(str(row.get("version")), str(row.get("commit"))) for row in rows}
    if len(made) != 1 or any(commit.endswith("+") or commit == "None" for _, commit in made):
        raise ValueError(f"a study is of one commit without further changes, and these rows are of {sorted(made)}.")
    ((version, commit),) = made
    improper = [row for row in rows if row["target"] in KINDS[IMPROPER]]
    certified = Rate(sum(row["status"] == CERTIFIED for row in improper), len(improper))
    return quotes.Figures(version, commit, len(by(proper(rows), "target")), statuses(rows), certified)


def tables(rows: Sequence[Row]) -> list[str]:
    """Of statuses, and of targets by kind."""
    kept = proper(rows)
    targets = len(by(kept, "target"))
    lines = [
        "The study was made with version {}, commit {}.".format(*figures_of(rows)[:2]),
        f"{len(kept):,} runs of {targets} targets, {_seeds(kept)} seeds of each.",
        "",
        "| status | runs | wrong | rate of error (95 % interval) | processor s | gradients |",
        "|---|--:|--:|---|--:|--:|",
    ]
    for status, some in by(kept, "status").items():
        found = rate(some)
        lines.append(f"| `{status}` | {found.runs} | {found.wrong} | {found} | {_seconds(some)} | {_gradients(some)} |")
    improper = [row for row in rows if row["target"] in KINDS[IMPROPER]]
    if improper:
        some = Rate(sum(row["status"] == CERTIFIED for row in improper), len(improper))
        lines += ["", f"Of {some.runs} runs of posteriors without a normalisation {some.wrong} were certified: {some}."]
    lines += ["", named(kept)]
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
            "| target | runs | certified | wrong | with divergences (wrong) | other | processor s | gradients |",
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


def named(rows: Sequence[Row]) -> str:
    """Wrong certificates by target, what remains without targets made to be invisible, and how many right ones are."""
    certified = by([row for row in rows if row["status"] == CERTIFIED], "target")
    wrong = {name: rate(some) for name, some in certified.items() if rate(some).wrong}
    told = "; ".join(f'{found.wrong} of {found.runs} of "{name}"' for name, found in wrong.items()) or "none"
    hidden = ", ".join(f'"{name}"' for name, target in TARGETS.items() if target.invisible)
    visible, right = rate(seen([row for some in certified.values() for row in some])), certified_of_right(rows)
    return (
        f"Wrong certificates: {told}.\nWithout {hidden}, made so that nothing which a run can afford tells of a mode,\n"
        f"{visible.wrong} of {visible.runs:,} certificates were wrong: {visible}.\nOf {right.runs:,} runs whose draws "
        f"are right {right.wrong:,} were certified, those with divergences among them: {right}."
    )


def module(found: quotes.Figures) -> str:
    """The table of rates as a module."""
    rates = found.rates
    entries = "".join(
        f'    "{status}": ({rates[status].wrong}, {rates[status].runs}),\n' for status in PUBLISHED if status in rates
    )
    return (
        '"""How often results of each status were wrong in the study of `docs/understand/certificates.md`: '
        "(wrong, runs).\n\n"
        "Written by `python -m benchmarks.certificates --publish`; those without a posterior are in IMPROPER.\n"
        '"""\n\n'
        "from __future__ import annotations\n\n"
        f'VERSION, COMMIT = "{found.version}", "{found.commit}"\n'
        f"TARGETS = {found.targets}\n"
        f"RATES: dict[str, tuple[int, int]] = {{\n{entries}}}\n"
        f"IMPROPER = ({found.improper.wrong}, {found.improper.runs})\n"
    )


def _seeds(rows: Sequence[Row]) -> str:
    counts = [len(some) for some in by(rows, "target").values()]
    return f"{max(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"


def _seconds(rows: Sequence[Row]) -> str:
    return f"{np.median([row.get('cpu', row['seconds']) for row in rows]):.2f}"


def _gradients(rows: Sequence[Row]) -> str:
    return thousands(float(np.median([row["gradients"] for row in rows])))
