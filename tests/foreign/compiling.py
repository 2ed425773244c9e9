"""Shared libraries made of C for tests: text in, a path out."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

COMPILER = shutil.which("gcc") or shutil.which("cc")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")


def library(folder: Path, source: str, *options: str) -> Path:
    """The path of a library made of C source."""
    assert COMPILER is not None
    text, made = folder / "source.c", folder / "library.so"
    text.write_text(source, encoding="utf-8")
    subprocess.run([COMPILER, "-O2", "-shared", "-fPIC", *options, "-o", made, text, "-lm"], check=True)
    return made
