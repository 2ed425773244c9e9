"""Every page of Learn and Do runs in an empty folder with a wheel; the address of the repository has one place."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs"))

from building import keywords, repository  # noqa: E402


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_every_page_of_learn_and_do_runs_in_an_empty_folder_with_a_wheel() -> None:
    pytest.importorskip("matplotlib")
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "follow_pages.py"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


def test_no_page_reads_a_file_of_the_checkout() -> None:
    """What a page opens came with the library, or was written by the page."""
    for folder in ("learn", "do"):
        for page in (ROOT / "docs" / folder).glob("*.md"):
            assert not re.search(r"examples/data|open\(\"data/|Path\(\"data\"\)", page.read_text(encoding="utf-8")), (
                page
            )


def test_the_address_of_the_repository_stands_in_one_place() -> None:
    """A release replaces it in pyproject.toml; all other files take it from there, or do without."""
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
    assert all(url.startswith(urls["Repository"]) for url in urls.values())
    others = [ROOT / name for name in ("README.md", "CITATION.cff", "CONTRIBUTING.md", "SECURITY.md", "docs/conf.py")]
    for path in [*others, *(ROOT / "docs").glob("[a-z]*/*.md"), *(ROOT / "docs").glob("*.md")]:
        assert urls["Repository"] not in path.read_text(encoding="utf-8"), path
    assert "<address of the repository>" in repository.entered("git clone REPOSITORY x", None)
    assert repository.entered("git clone REPOSITORY x", "https://a.org/b") == "git clone https://a.org/b x"


def test_search_terms_of_a_page_stand_in_its_front_matter() -> None:
    """Over several lines, too; a page without has none, and none of the words of its text."""
    assert keywords.keywords("---\nneeds: jax\nkeywords: a b; c;\n  d e\n---\n\n# T\n") == ["a b", "c", "d e"]
    assert keywords.keywords("# T\n\nkeywords: x\n") == keywords.keywords("---\nneeds: jax\n---\n") == []
