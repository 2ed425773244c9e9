"""The page on seeing inside shows what its code prints; `python -m tests.test_seeing_inside --write` writes it anew."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "understand" / "seeing-inside.md"
BLOCK = re.compile(r"^```(python|text|mermaid|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def written_anew(page: str) -> str:
    """The page with the outputs of its code; those of times, marked `console`, only where there are none."""
    namespace = {"__name__": "page"}
    printed = ""

    def shown(block: re.Match[str]) -> str:
        nonlocal printed
        kind, text = block[1], block[2]
        if kind == "python":
            lines = "\n" * (page[: block.start()].count("\n") + 1)
            with contextlib.redirect_stdout(io.StringIO()) as output:
                exec(compile(lines + text, PAGE.name, "exec"), namespace)
            printed = output.getvalue()
        elif kind != "console" or not text:
            return f"```{kind}\n{printed}```"
        return block[0]

    return BLOCK.sub(shown, page)


def anew() -> str:
    """The same from a process of its own: equal values of one process keep the line where they were first written."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, __file__], capture_output=True, text=True, check=False, env=environment, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_page_shows_what_its_code_prints() -> None:
    assert anew() == PAGE.read_text(encoding="utf-8"), "run `python -m tests.test_seeing_inside --write`"


if __name__ == "__main__":
    if "--write" in sys.argv:
        for _ in range(3):  # outputs name lines of the page, which move when outputs change in length
            PAGE.write_text(anew(), encoding="utf-8")
    else:
        text = written_anew(PAGE.read_text(encoding="utf-8"))
        sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]  # a text stream
        sys.stdout.write(text)
