"""Sentences that no native writer of documentation writes: pages enter, findings by rule leave.

    python docs/building/prose.py              # findings, and how many there are of each rule
    python docs/building/prose.py README.md    # of these files

Code, tables of names, quotations of other pages' titles in links and front matter are left out. Measured figures belong
to a commit: a section with times or sizes, its tables included, names one.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RULES = {
    "inversion": r"(?:^|[.:;] )(?:Supported|Public|Not|Known|Shown|Refused|Left|Needed) (?:is|are) [a-z]",
    "relative clause as subject": r"(?:^|[.;:] )(?:Who|Whoever|Whose|Whatever|What (?![^.]*\?)[a-z]+)(?: [^.?]*)\.",
    "house word": r"\b(?:mends?|doors?|those who|what one has|thereby|whereof|of its own accord|nothing ails)\b",
    "old term": r"\b(?:effective draws|effective sizes?|hierarchies|funnels? neck)\b",
    "impersonal going on": r"\bgo(?:es)? on (?:with|from|as|in|where)\b",
    "is told": r"\b(?:is|are) told\b",
    "are to be found": r"\b(?:is|are) to be (?:found|had|seen|given)\b|\bcan not\b",
    "there is none": r"(?:^|[.;] )[A-Z][^.]* is none\.|\bwhere there (?:is|are) none\b",
    "all the same": r"\ball the same\b|\bas always\b|\bas it is\b|\bas it stands\b",
    "beside": r"\bbeside(?!s)\b",
    "long sentence": r"(?:[^\s.:;!?|]+[ \n]){45,}[^\s.:;!?|]+[.!?]",
}
"""Patterns by the rule that they break. They see one paragraph at a time, its lines joined."""
CODE = re.compile(
    r"^```.*?^```$|\A---\n.*?^---$|^(?:    |\t)[^\n]*$|^:::[^\n]*$|^\|[^\n]*$|<!--.*?-->", re.MULTILINE | re.DOTALL
)


def paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Prose paragraph by paragraph with the line it begins at, without code."""
    bare = CODE.sub(lambda found: "\n" * found[0].count("\n"), text)
    line = 1
    for block in re.split(r"(\n\s*\n)", bare):
        words = re.sub(r"`[^`]*`", "`x`", " ".join(block.split()))
        if words:
            yield line, re.sub(r"\]\([^)]*\)", "]", words)
        line += block.count("\n")


def findings(path: Path) -> Iterator[tuple[str, int, str]]:
    """Rule, line and words of all that a file has against the rules."""
    for line, words in paragraphs(path.read_text(encoding="utf-8")):
        for rule, pattern in RULES.items():
            for found in re.finditer(pattern, words):
                yield rule, line, found[0].strip()[:100]


UNDATED = "figure without a commit"
FIGURE = re.compile(r"\b\d[\d.,]* (?:ns|µs|ms|s|MB|GB|MiB|GiB)\b")
COMMIT = re.compile(r"\bcommit\s+[0-9a-f]{7,40}\b")
FENCES = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def undated(path: Path) -> Iterator[tuple[str, int, str]]:
    """The first measured figure of each section that names no commit. Limits are written with "seconds" in full."""
    text = FENCES.sub(lambda found: "\n" * found[0].count("\n"), path.read_text(encoding="utf-8"))
    line = 1
    for section in re.split(r"(?m)^(?=#+ )", text):
        figure = FIGURE.search(section)
        if figure is not None and COMMIT.search(section) is None:
            yield UNDATED, line + section.count("\n", 0, figure.start()), figure[0]
        line += section.count("\n")


def pages() -> list[Path]:
    """What users read: the README, and the pages of the site that are written by hand."""
    found = [ROOT / "README.md", ROOT / "docs" / "index.md", ROOT / "docs" / "versions.md"]
    for folder in ("learn", "do", "understand"):
        found += sorted((ROOT / "docs" / folder).glob("*.md"))
    return found


if __name__ == "__main__":
    counts: Counter[str] = Counter()
    for page in [Path(name) for name in sys.argv[1:]] or pages():
        for rule, line, words in [*findings(page), *undated(page)]:
            print(f"{page}:{line}: {rule}: {words}")
            counts[rule] += 1
    print(dict(counts), counts.total())
