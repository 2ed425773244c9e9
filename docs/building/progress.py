"""How far a build is, in lines on the error stream: a build that says nothing for minutes looks like one that hangs.

In: events of Sphinx, in whatever process they happen. Out: a line for every 200 pages that are read or written.
"""

from __future__ import annotations

import sys
import time
from multiprocessing import Value
from typing import Any

EACH = 200
BEGUN = time.monotonic()


def say(words: str) -> None:
    """A line, with the time since the build began."""
    print(f"[{time.monotonic() - BEGUN:4.0f} s] {words}", file=sys.stderr, flush=True)


class Counter:
    """Pages, counted over all processes that Sphinx divides them among."""

    def __init__(self, verb: str) -> None:
        self.verb, self.count, self.all = verb, Value("i", 0), 0

    def one_more(self) -> None:
        """A page is done."""
        with self.count.get_lock():
            self.count.value += 1
            now = self.count.value
        if now % EACH == 0:
            say(f"{now:,} of {self.all:,} pages {self.verb}")


def setup(app: Any) -> dict[str, Any]:
    """Tell of pages that are read, and of those that are written."""
    read, written = Counter("read"), Counter("written")

    def to_read(app: Any, env: Any, names: list[str]) -> None:
        read.all = len(names)
        say(f"{len(names):,} pages to read")

    def to_write(app: Any, env: Any) -> None:
        written.all = len(env.found_docs)
        say(f"pages are read; up to {written.all:,} to write")

    def done(app: Any, failed: Exception | None) -> None:
        say("failed" if failed else "written; links are checked")

    app.connect("env-before-read-docs", to_read, priority=600)
    app.connect("source-read", lambda app, name, text: read.one_more())
    app.connect("env-updated", to_write)
    app.connect("html-page-context", lambda app, name, template, context, doctree: doctree and written.one_more())
    app.connect("build-finished", done, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "1"}
