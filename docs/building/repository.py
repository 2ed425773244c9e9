"""The address of the repository, taken from `[project.urls]` of pyproject.toml, its only place.

In: pages that say REPOSITORY, and the placeholder or address of pyproject.toml. Out: the address in its place, and
links to the repository and its issues in the site's header once the address is known.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"
PLACEHOLDER = ".example"
"""A top-level domain that no registry gives away (RFC 2606): an address that ends so is not known yet."""


def address() -> str | None:
    """The address of the repository; None as long as pyproject.toml has a placeholder."""
    urls = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["urls"]
    written = str(urls["Repository"])
    return None if PLACEHOLDER + "/" in written else written


def entered(text: str, known: str | None) -> str:
    """A page with the address in the place of the word REPOSITORY."""
    return text.replace("REPOSITORY", known or "<address of the repository>")


def setup(app: Any) -> dict[str, Any]:
    """Enter the address as pages are read, and links to it above all pages."""
    known = address()

    def read(app: Any, name: str, source: list[str]) -> None:
        source[0] = entered(source[0], known)

    def linked(app: Any, config: Any) -> None:
        if known:
            config.html_theme_options["external_links"] = [
                {"name": "Repository", "url": known},
                {"name": "Issues", "url": f"{known}/issues"},
            ]

    app.connect("source-read", read)
    app.connect("config-inited", linked, priority=100)
    return {"parallel_read_safe": True, "version": "1"}
