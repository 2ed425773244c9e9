"""What `tools/changelog.py` makes of fragments at a release."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import changelog

ROOT = Path(__file__).resolve().parent.parent

FRAGMENTS = {
    "b.fixed.md": "A crash.\n",
    "a.fixed.md": "- A wrong\nnumber. See [here](../docs/a.md).\n",
    "c.added.md": "A name.\n",
}


def test_fragments_become_entries_under_their_kind() -> None:
    expected = """## 1.1 (2030-01-02)

### Added

- A name.

### Fixed

- A wrong number. See [here](docs/a.md).
- A crash.

"""
    assert changelog.section("1.1", "2030-01-02", FRAGMENTS) == expected


def test_a_section_stands_before_those_of_earlier_versions_and_once() -> None:
    first = changelog.with_section("# Changes\n\nWords.\n", "## 1.0 (then)\n\n")
    both = changelog.with_section(first, "## 1.1 (now)\n\n")
    assert both.split("\n\n") == ["# Changes", "Words.", "## 1.1 (now)", "## 1.0 (then)", ""]
    with pytest.raises(ValueError, match=r"a section of version 1\.1 already"):
        changelog.with_section(both, "## 1.1 (later)\n\n")


def test_every_fragment_is_of_a_kind_that_its_readme_tells() -> None:
    readme = (ROOT / "changelog.d" / "README.md").read_text(encoding="utf-8")
    assert all(f"| `{kind}` |" in readme for kind in changelog.KINDS)
    names = [path.name for path in (ROOT / "changelog.d").glob("*.md") if path.name != "README.md"]
    changelog.section("9.9", "never", dict.fromkeys(names, "Words."))
    with pytest.raises(ValueError, match="of the kind 'mended'"):
        changelog.section("9.9", "never", {"a.mended.md": "Words."})
