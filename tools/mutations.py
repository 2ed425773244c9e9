"""Do tests fail when the part that they name is gone? `python tools/mutations.py [--only WORD] [--jobs 2]`.

In: `tools/mutations.txt`, a row for each pair of a test and a part: the test, `module:name` of the part, and what takes
its place: a value that a function returns, "first" for its first argument, or "empty" for a table without rows. Out: a
line for each test that passes without its part, or cannot be run. The part is replaced once the test was collected.
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
FAILED = 1
LONGEST = 300  # seconds for a test


class Row(NamedTuple):
    """A test, its part, and what takes the part's place."""

    test: str
    part: str
    instead: str


def rows() -> list[Row]:
    """The rows of the table; lines that begin with # are comments."""
    lines = (ROOT / "tools" / "mutations.txt").read_text(encoding="utf-8").splitlines()
    return [Row(*line.split()) for line in lines if line.strip() and not line.startswith("#")]


def nothing(instead: str) -> Callable[..., Any]:
    """The function that takes a part's place."""
    value = None if instead == "first" else eval(instead)
    return (lambda *given, **_: given[0]) if instead == "first" else (lambda *_, **__: value)


def code_of(function: FunctionType, instead: str) -> CodeType:
    """Code with as many free variables as a function has, so that it can be exchanged wherever the function is held."""
    free = function.__code__.co_freevars
    value = "_given[0]" if instead == "first" else instead
    inner = f"def outer({', '.join(free)}):\n def nothing(*_given, **_named):\n  {', '.join(free) or 'pass'}\n"
    space: dict[str, Any] = {}
    exec(f"{inner}  return {value}\n return nothing", space)
    found: FunctionType = space["outer"](*free)
    return found.__code__


def replace(part: str, instead: str) -> None:
    """Replace a part by nothing, for all who hold it."""
    module, _, name = part.partition(":")
    owner: Any = import_module(module)
    *path, last = name.split(".")
    for step in path:
        owner = getattr(owner, step)
    thing: Any = vars(owner).get(last) or getattr(owner, last)
    while hasattr(thing, "__wrapped__"):
        thing = thing.__wrapped__
    thing = getattr(thing, "__func__", thing)
    if instead == "empty":
        with contextlib.suppress(AttributeError):
            thing.clear()
            return
        setattr(owner, last, type(thing)())
    elif isinstance(thing, FunctionType):
        thing.__code__, thing.__defaults__, thing.__kwdefaults__ = code_of(thing, instead), None, None
    else:
        setattr(owner, last, nothing(instead))


class Mutation:
    """A plugin of pytest that replaces the part after collection."""

    def __init__(self, row: Row) -> None:
        self.row = row

    def pytest_collection_finish(self) -> None:
        replace(self.row.part, self.row.instead)


def one(row: Row) -> int:
    """The status of pytest with a part replaced."""
    import pytest

    options = ["-q", "-x", "-n", "0", "-p", "no:cacheprovider", "--no-header", "--tb=line"]
    return int(pytest.main([f"tests/{row.test}", *options], [Mutation(row)]))


def outcome(row: Row) -> str:
    """What is wrong with a row; nothing where its test fails."""
    command = [sys.executable, __file__, "--one", *row]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LONGEST, check=False)
    except subprocess.TimeoutExpired:
        return f"{row.test} takes more than {LONGEST} s without {row.part}"
    if done.returncode == FAILED:
        return ""
    told = "passes without" if done.returncode == 0 else f"cannot be run (status {done.returncode}) without"
    return f"{row.test} {told} {row.part}\n{'' if done.returncode == 0 else done.stdout[-600:] + done.stderr[-600:]}"


def main() -> Iterator[str]:
    """Lines about the rows whose tests do not fail."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="a word of the test or the part")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one is not None:
        raise SystemExit(one(Row(*given.one)))
    chosen = [row for row in rows() if given.only in f"{row.test} {row.part}"]
    with ThreadPoolExecutor(given.jobs) as workers:
        found = []
        for told in filter(None, workers.map(outcome, chosen)):
            found.append(told)
            yield told
    yield f"{len(chosen) - len(found)} of {len(chosen)} tests fail without their part."
    if found:
        raise SystemExit(1)


if __name__ == "__main__":
    for line in main():
        print(line, flush=True)
