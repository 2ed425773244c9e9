"""Rows of JSON that processes make one piece of work at a time: the command's words, and the rows as they are known.

A file of rows, which is of one commit, survives an interruption at any moment: begun again with it, a command makes the
rows that are missing.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

Row = dict[str, Any]
WHAT_RUNS = ("src", "benchmarks", ":!src/consilience/diagnostics/error_rates.py")  # figures that studies write


def code() -> dict[str, str]:
    """Version and commit that runs are of: the last that changed what runs; a plus where changes are not committed."""
    import consilience

    def git(*words: str) -> str:
        here, paths = Path(__file__).parents[1], ("--", *WHAT_RUNS)
        return subprocess.run(["git", *words, *paths], cwd=here, capture_output=True, text=True, check=True).stdout

    commit, changed = git("log", "-1", "--format=%h", "--abbrev=10").strip(), git("status", "--porcelain").strip()
    return {"version": consilience.__version__, "commit": commit + "+" * bool(changed)}


def parser_of(program: str, words: str | None, models: Sequence[str], runs: str) -> argparse.ArgumentParser:
    """The words that such commands have in common."""
    parser = argparse.ArgumentParser(
        prog=f"python -m {program}", description=words, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=20, help=f"{runs} of each model")
    parser.add_argument("--processes", type=int, default=1, help="0: this one, for what itself begins others")
    parser.add_argument("--models", nargs="+", choices=list(models), default=list(models))
    parser.add_argument("--out", type=Path, metavar="FILE", help="file to which rows of JSON are added that it lacks")
    parser.add_argument("--budget", type=float, default=1e9, help="seconds, after which no more rows are waited for")
    parser.add_argument("--summary", nargs="+", type=Path, metavar="FILE", help="files of before")
    return parser


def read(files: Iterable[Path]) -> list[Row]:
    """The rows of files; lines that were cut off are left out."""
    found = []
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            try:
                row = json.loads(line)
            except json.JSONDecodeError:
                continue
            if isinstance(row, dict):
                found.append(row)
    return found


def of_one_commit(file: Path | None, now: str) -> list[Row]:
    """The rows of a file that is to be continued; none without one.

    Raises
    ------
    SystemExit
        For a file with rows of another commit.
    """
    there = read([file]) if file and file.exists() else []
    if strangers := {str(row.get("commit")) for row in there} - {now}:
        raise SystemExit(f"{file} has runs of commit {strangers.pop()}, and this is {now}; begin another file.")
    return there


def add(file: Path, row: Row) -> None:
    """Write a row at the end of a file, on a line of its own even where the last one was cut off."""
    with file.open("a+b") as stream:
        end = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, end - 1))
        cut_off = end and stream.read(1) != b"\n"
        stream.write(b"\n" * bool(cut_off) + json.dumps(row).encode() + b"\n")


def made(one: Callable[[Any], Row], work: Sequence[Any], given: argparse.Namespace) -> list[Row]:
    """Rows of all pieces of work, or of those that were done in time, each added to the file at once.

    Rows that the file has are not made again.
    """
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    stamp, until = code(), time.monotonic() + given.budget
    rows = of_one_commit(given.out, stamp["commit"])
    done = {json.dumps(row["work"]) for row in rows}
    left, row_of = [piece for piece in work if json.dumps(piece) not in done], partial(_row, one)

    def keep(row: Row) -> None:
        rows.append(row | stamp)
        if given.out:
            add(given.out, rows[-1])

    if not given.processes:
        for row in map(row_of, left):
            keep(row)
            if time.monotonic() > until:
                break
        return rows
    with multiprocessing.get_context("spawn").Pool(given.processes) as pool:
        results = pool.imap_unordered(row_of, left)
        for _ in left:
            try:
                keep(results.next(timeout=max(0.0, until - time.monotonic())))
            except multiprocessing.TimeoutError:
                break
        pool.terminate()
    return rows


def _row(one: Callable[[Any], Row], piece: Any) -> Row:
    return one(piece) | {"work": piece}
