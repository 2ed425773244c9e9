"""Every public name loads by itself in a process that has loaded nothing else of the library: no hidden order."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import consilience

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")

# Reads lines "package name name …"; for each a child that has NumPy alone gets these names, and answers with an error.
SERVER = """
import os, sys, traceback
import numpy
from importlib import import_module
for line in sys.stdin:
    package, *names = line.split()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        answer = ""
        try:
            for name in names:
                getattr(import_module(package), name)
        except BaseException:
            answer = traceback.format_exc()
        os.write(writer, answer.encode()[-4000:])
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as answers:
        print(repr(answers.read().decode()), flush=True)
    os.waitpid(child, 0)
"""


def homes() -> dict[tuple[str, str], list[str]]:
    """Names by package and by the file that has them."""
    found: dict[tuple[str, str], list[str]] = {}
    root = Path(consilience.__file__).parent
    for file in sorted(root.rglob("*.py")):
        if "\nload_on_use(" in file.read_text(encoding="utf-8"):
            parts = file.relative_to(root).with_suffix("").parts
            package = ".".join(["consilience", *parts]).removesuffix(".__init__")
            for name, (place, _) in vars(import_module(package))["HOMES"].items():
                found.setdefault((package, place), []).append(name)
    return found


HOMES = homes()


@pytest.fixture(scope="module")
def server() -> Iterator[subprocess.Popen[str]]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(
        [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


@pytest.mark.parametrize(("package", "home"), sorted(HOMES))
def test_names_of_a_file_load_alone(server: subprocess.Popen[str], package: str, home: str) -> None:
    """Names of one file, by the package that shows them, are got without any other."""
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(f"{package} {' '.join(HOMES[package, home])}\n")
    server.stdin.flush()
    answer = server.stdout.readline()
    assert answer == "''\n", answer
