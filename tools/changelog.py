"""Puts the fragments of changelog.d into CHANGELOG.md and removes them. `python tools/changelog.py 0.3.0`

In: fragments by kind, and a version. Out: its section, before all others, with an entry for each fragment. A person
then puts the entries in order: the most important first, those of one subject together.
"""

from __future__ import annotations

import argparse
import datetime as dt
import re
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KINDS = {"added": "Added", "changed": "Changed", "removed": "Removed", "faster": "Faster", "fixed": "Fixed"}
"""The kinds of fragments, as `changelog.d/README.md` has them, and the headings of their entries."""


def entry(text: str) -> str:
    """A fragment as an item of a list; its links, written for the folder of fragments, lead from the root."""
    words = text.strip().removeprefix("- ").replace("](../", "](")
    return textwrap.fill(
        "- " + " ".join(words.split()),
        120,
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def section(version: str, date: str, fragments: dict[str, str]) -> str:
    """The section of a version; `fragments` are texts by the names of files. Raises ValueError for another kind."""
    entries: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for name, text in sorted(fragments.items()):
        kind = name.split(".")[-2]
        if kind not in entries:
            raise ValueError(f"changelog.d/{name} is of the kind {kind!r}; there is {', '.join(KINDS)}.")
        entries[kind].append(entry(text))
    parts = [f"### {KINDS[kind]}\n\n" + "\n".join(found) for kind, found in entries.items() if found]
    return "\n\n".join([f"## {version} ({date})", *parts]) + "\n\n"


def with_section(changelog: str, added: str) -> str:
    """The changelog with a section before those of earlier versions. Raises ValueError where it has that version."""
    head, first, rest = changelog.partition("\n## ")
    version = added.split()[1]
    if re.search(rf"^## {re.escape(version)} ", changelog, re.MULTILINE):
        raise ValueError(f"CHANGELOG.md has a section of version {version} already.")
    return f"{head}\n{added}{first.strip()} {rest}" if first else f"{changelog.rstrip()}\n\n{added}"


def main() -> None:
    """Write the section and remove the fragments."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("version", help="as `__version__` of the package will be")
    parser.add_argument("--date", default=dt.date.today().isoformat())
    asked = parser.parse_args()
    files = [path for path in sorted((ROOT / "changelog.d").glob("*.md")) if path.name != "README.md"]
    fragments = {path.name: path.read_text(encoding="utf-8") for path in files}
    changelog = ROOT / "CHANGELOG.md"
    text = with_section(changelog.read_text(encoding="utf-8"), section(asked.version, asked.date, fragments))
    changelog.write_text(text, encoding="utf-8")
    for path in files:
        path.unlink()
    print(f"CHANGELOG.md: {len(files)} fragments in the section of version {asked.version}")


if __name__ == "__main__":
    main()
