"""What holds for every test: each program that is lowered passes the verifier, and one thread computes products."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator, Iterator

import pytest

# Before NumPy is loaded, and for every process that a test starts. With as many threads as cores in each of as many
# processes as cores, a product of two small matrices waits milliseconds for its turn.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from consilience.backends import llvm
from tests.lower.verify_program import verify


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
