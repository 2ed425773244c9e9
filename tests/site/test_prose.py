"""Pages read as a native writer of documentation puts it: few findings of the rules, and none where readers begin."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs"))

from building import prose  # noqa: E402

MOST = 3
"""Findings on all pages. It was 126 before the rules were written; it never grows."""


def told(path: Path) -> list[str]:
    """Findings of a page, as editors open them."""
    return [f"{path.relative_to(ROOT)}:{line}: {rule}: {words}" for rule, line, words in prose.findings(path)]


def test_pages_where_readers_begin_have_no_findings() -> None:
    first = [p for p in prose.pages() if p.parent.name == "learn" or p.parent in (ROOT, ROOT / "docs")]
    assert len(first) > 10
    assert [line for path in first for line in told(path)] == []


def test_all_pages_have_few_findings() -> None:
    found = [line for path in prose.pages() for line in told(path)]
    assert len(found) <= MOST, "\n".join(found)


def test_measured_figures_belong_to_a_commit() -> None:
    undated = [(p.relative_to(ROOT), line, words) for p in prose.pages() for _, line, words in prose.undated(p)]
    assert undated == []


def test_a_figure_without_a_commit_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# T\n\nA run of 5 seconds, `limit=3 s`.\n\n## U\n\n| a | 0.2 ms |\n", encoding="utf-8")
    assert [(line, words) for _, line, words in prose.undated(page)] == [(7, "0.2 ms")]
    page.write_text("# T\n\nIt takes 0.2 ms (commit 0123456789).\n", encoding="utf-8")
    assert list(prose.undated(page)) == []


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Supported is each version of Python.", "inversion"),
        ("Who needs the bits keeps the version with the seed.", "relative clause as subject"),
        ("The last one grows with mends alone.", "house word"),
        ("The run ends at 400 effective draws.", "old term"),
        ("Some text.\n\nIt goes on with the\nnext chain.", "impersonal going on"),
        (" ".join(["word"] * 50) + ".", "long sentence"),
    ],
)
def test_each_rule_finds_what_it_is_for(tmp_path: Path, text: str, rule: str) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# T\n\n{text}\n\n```python\n# Supported is nothing here.\n```\n", encoding="utf-8")
    assert rule in {found for found, _, _ in prose.findings(page)}
    page.write_text(
        "# T\n\nWhat is R-hat? Each release contains bug fixes.\n\n    Supported is code.\n", encoding="utf-8"
    )
    assert not list(prose.findings(page))
