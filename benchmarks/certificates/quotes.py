"""The places that quote the study, each with the words that it has to say: `diagnostics.error_rates` in, sentences out.

One place is a pattern that is found once in a file; publishing a study replaces it, and a test compares it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from benchmarks.certificates.summary import CERTIFIED, ORDER, Rate

ROOT = Path(__file__).resolve().parents[2]


class Figures(NamedTuple):
    """What is quoted: of the study, its code, its runs by status, and certified ones of posteriors that are none."""

    version: str
    commit: str
    targets: int
    rates: dict[str, Rate]
    improper: Rate

    @property
    def runs(self) -> int:
        """Of posteriors that there are."""
        return sum(rate.runs for rate in self.rates.values())

    @property
    def certified(self) -> Rate:
        """Those that ended `converged`."""
        return self.rates[CERTIFIED]


class Quote(NamedTuple):
    """A place: a file, what is found there once, and what it says."""

    file: str
    pattern: str
    words: Callable[[Figures], str]


def stored() -> Figures:
    """The figures of the study that was published."""
    from consilience.diagnostics import error_rates as study

    rates = {status: Rate(*study.RATES[status]) for status in ORDER if status in study.RATES}
    return Figures(study.VERSION, study.COMMIT, study.TARGETS, rates, Rate(*study.IMPROPER))


def percent(rate: Rate) -> str:
    """`0.47 % (95 % interval 0.30 % to 0.71 %)` without the words in brackets before the bounds."""
    low, high = rate.interval()
    return f"{100 * rate.wrong / rate.runs:.2f} % ({100 * low:.2f} % to {100 * high:.2f} %)"


def with_interval(rate: Rate) -> str:
    """The same, in a sentence."""
    return percent(rate).replace("(", "(95 % interval ")


def _row(found: Figures) -> str:
    return "\n".join(
        f"| `{status}` | {rate.wrong} of {rate.runs:,} | {percent(rate)} |" for status, rate in found.rates.items()
    )


def _improper(found: Figures) -> str:
    some = found.improper
    return f"{'none' if not some.wrong else some.wrong} of {some.runs:,} runs"


NUMBER = r"[\d.,]+"
RATE = rf"{NUMBER} % \((?:95 % interval )?{NUMBER} % to {NUMBER} %\)"
MADE = r"(?: \(commit \w+\))?"  # of which code the study is
QUOTES = (
    Quote(
        "README.md",
        rf"{NUMBER} % of certified results were wrong \(.*?\), of {NUMBER} whose truth is known{MADE}",
        lambda f: (
            f"{with_interval(f.certified).replace(' (', ' of certified results were wrong (', 1)}, "
            f"of {f.certified.runs:,} whose truth is known (commit {f.commit})"
        ),
    ),
    Quote(
        "docs/index.md",
        rf"\*\*{NUMBER} %\*\* of certified results were wrong \(.*?\) \| {NUMBER} certified runs{MADE}",
        lambda f: (
            f"**{100 * f.certified.wrong / f.certified.runs:.2f} %** of certified results were wrong "
            f"({with_interval(f.certified).split(' (')[1]} | {f.certified.runs:,} certified runs (commit {f.commit})"
        ),
    ),
    Quote(
        "docs/learn/trust.md",
        rf"In a study of {NUMBER} runs of {NUMBER} posteriors\nwhose truth is known{MADE}, "
        rf"{NUMBER} of {NUMBER} certified results were wrong, {RATE}, and \w+ of {NUMBER} runs",
        lambda f: (
            f"In a study of {f.runs:,} runs of {f.targets} posteriors\nwhose truth is known (commit {f.commit}), "
            f"{f.certified.wrong} of {f.certified.runs:,} certified results were wrong, {with_interval(f.certified)}, "
            f"and {_improper(f)}"
        ),
    ),
    Quote("docs/understand/runtime.md", rf"(?:\| `\w+` \| {NUMBER} of {NUMBER} \| .*\|\n?)+(?<!\n)", _row),
    Quote(
        "docs/understand/runtime.md",
        rf"certified in \w+ of {NUMBER} runs{MADE}",
        lambda f: f"certified in {_improper(f)} (commit {f.commit})",
    ),
    Quote(
        "docs/understand/certificates.md",
        r"The study was made with version \S+, commit \w+\.",
        lambda f: f"The study was made with version {f.version}, commit {f.commit}.",
    ),
)


def misquotes(found: Figures) -> list[str]:
    """In words, each place that says something else."""
    wrong = []
    for quote in QUOTES:
        there = re.findall(quote.pattern, (ROOT / quote.file).read_text(encoding="utf-8"))
        if there != [quote.words(found)]:
            wrong.append(f"{quote.file} has {there}, the study {quote.words(found)!r}: `--publish` writes it")
    return wrong


def write(found: Figures) -> None:
    """Write all of them."""
    for quote in QUOTES:
        file, words = ROOT / quote.file, quote.words(found)
        text, count = re.subn(quote.pattern, lambda _, words=words: words, file.read_text(encoding="utf-8"))  # type: ignore[misc]
        if count != 1:
            raise ValueError(f"{quote.file} should have one place like {quote.pattern!r}, not {count}.")
        file.write_text(text, encoding="utf-8")
