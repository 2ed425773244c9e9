"""Machine code side by side: BLAS has one thread meanwhile, whoever asks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import consilience
from consilience.native.blas import libraries
from consilience.native.threads import NativeThreads


def counts() -> list[object]:
    """Threads of the BLAS libraries of this process."""
    return [library["num_threads"] for library in libraries()]


def test_blas_has_one_thread_while_the_executor_is_there() -> None:
    before = counts()
    with NativeThreads(2, "first") as first:
        assert set(first.submit(counts).result()) == set(counts()) == {1}
        second = NativeThreads(1)
        second.shutdown(cancel_futures=True)
        assert set(counts()) == {1}
    assert counts() == before


def test_an_error_inside_gives_blas_its_threads_back() -> None:
    before = counts()
    with pytest.raises(ZeroDivisionError), NativeThreads(2) as pool:
        pool.submit(lambda: 1 / 0).result()
    assert counts() == before


def test_nothing_runs_side_by_side_with_a_blas_of_many_threads() -> None:
    """Threads that all call a BLAS with threads wait for each other: a search of modes took 6 s for 0.2."""
    root = Path(consilience.__file__).parent
    examples = re.compile(r"^ *(>>>|\.\.\.) .*$", re.MULTILINE)
    texts = {p.name: examples.sub("", p.read_text(encoding="utf-8")) for p in root.rglob("*.py")}
    makers = {name for name, text in texts.items() if re.search(r"ThreadPoolExecutor\(|\(ThreadPoolExecutor\)", text)}
    assert makers == {"threads.py", "workers.py"}
    assert all("single_threaded()" in texts[name] for name in makers)
