"""Rows of JSON that processes make one piece of work at a time: the command's words, and the rows as they are known."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

Row = dict[str, Any]


def parser_of(program: str, words: str | None, models: Sequence[str], runs: str) -> argparse.ArgumentParser:
    """The words that such commands have in common."""
    parser = argparse.ArgumentParser(prog=f"python -m {program}", description=words)
    parser.add_argument("--runs", type=int, default=20, help=f"{runs} of each model")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--models", nargs="+", choices=list(models), default=list(models))
    parser.add_argument("--out", type=Path, metavar="FILE", help="file to which rows of JSON are added")
    parser.add_argument("--budget", type=float, default=1e9, help="seconds, after which no more rows are waited for")
    parser.add_argument("--summary", nargs="+", type=Path, metavar="FILE", help="files of before")
    return parser


def read(files: Iterable[Path]) -> list[Row]:
    """The rows of files."""
    return [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]


def made(one: Callable[[Any], Row], work: Sequence[Any], given: argparse.Namespace) -> list[Row]:
    """Rows of all pieces of work, or of those that were done in time, each added to the file at once."""
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    rows, until = [], time.monotonic() + given.budget
    with multiprocessing.get_context("spawn").Pool(given.processes) as pool:
        results = pool.imap_unordered(one, work)
        for _ in work:
            try:
                rows.append(results.next(timeout=max(0.0, until - time.monotonic())))
            except multiprocessing.TimeoutError:
                break
            if given.out:
                with given.out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(rows[-1]) + "\n")
        pool.terminate()
    return rows
