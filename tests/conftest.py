"""What holds for every test: each program that is lowered passes the verifier."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from consilience.backends import llvm
from tests.lower.verify_program import verify


@pytest.fixture(autouse=True, scope="session")
def _lowered_programs_are_verified() -> Iterator[None]:
    patch = pytest.MonkeyPatch()
    lower = llvm.lower
    patch.setattr(llvm, "lower", lambda inputs, outputs, data=(): verify(lower(inputs, outputs, data)))
    yield
    patch.undo()
