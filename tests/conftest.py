"""What holds for every test: each program that is lowered passes the verifier, and one thread computes products."""

from __future__ import annotations

import gc
import os
import re
import time
from collections.abc import Generator, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

# Before NumPy is loaded, and for every process that a test starts. With as many threads as cores in each of as many
# processes as cores, a product of two small matrices waits milliseconds for its turn.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from consilience.backends import llvm
from tests.lower.verify_program import verify


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--slowest 100` is what `--durations` is not on a busy machine; `--peers jax` is for where more is installed."""
    help = "print the N tests that took the most processor time, that of processes they started included"
    parser.addoption("--slowest", type=int, default=0, metavar="N", help=help)
    help = "only what needs one of these packages, between commas; each that is not there is named"
    parser.addoption("--peers", type=lambda names: names.split(","), default=[], metavar="NAMES", help=help)


def pytest_report_header(config: pytest.Config) -> list[str]:
    """The versions of the peers, in capitals those that are missing."""
    lines = []
    for name in config.getoption("peers"):
        try:
            lines.append(f"peer: {name} {version(name)}")
        except PackageNotFoundError:
            lines.append(f"peer: {name} IS NOT INSTALLED; its tests are not run")
    return lines


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Of the files of tests, those that ask whether a peer is there."""
    names = config.getoption("peers")
    if not names or not collection_path.match("test_*.py"):
        return None
    asks = rf"(importorskip|find_spec)\(\"({'|'.join(names)})\b|installed\(\)"
    return None if re.search(asks, collection_path.read_text(encoding="utf-8")) else True


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of what is run for each backend, the peers' rows."""
    names = config.getoption("peers")
    if not names:
        return
    parameters = [getattr(getattr(item, "callspec", None), "params", {}) for item in items]
    theirs = [{p.get("backend"), p.get("engine")} <= {None, *names} for p in parameters]
    config.hook.pytest_deselected(items=[item for item, keep in zip(items, theirs, strict=True) if not keep])
    items[:] = [item for item, keep in zip(items, theirs, strict=True) if keep]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Reports carry the processor time to where they are summed up."""
    begun = _processor_seconds()
    try:
        return (yield)
    finally:
        if item.config.getoption("slowest"):
            item.user_properties.append(("processor seconds", _processor_seconds() - begun))


def _processor_seconds() -> float:
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """The dearest tests and the sum of all."""
    count: int = config.getoption("slowest")
    if not count:
        return
    reports = [r for kind in terminalreporter.stats.values() for r in kind if getattr(r, "when", "") == "call"]
    took = {r.nodeid: dict(r.user_properties).get("processor seconds", 0.0) for r in reports}
    terminalreporter.section(f"processor time: {sum(took.values()):.0f} s in {len(took)} tests")
    for name in sorted(took, key=took.__getitem__, reverse=True)[:count]:
        terminalreporter.line(f"{took[name]:8.2f} s  {name}")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Tests are collected without looking for garbage; later searches leave them out, since they stay."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(autouse=True, scope="session")
def _lowered_programs_are_verified() -> Iterator[None]:
    patch = pytest.MonkeyPatch()
    lower = llvm.lower
    patch.setattr(llvm, "lower", lambda inputs, outputs, data=(): verify(lower(inputs, outputs, data)))
    yield
    patch.undo()
