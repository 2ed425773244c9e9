"""Python processes with an object cache of their own: what is measured owes nothing to earlier runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def environment(cache: str | os.PathLike[str]) -> dict[str, str]:
    """The present environment with another object cache; byte code is kept, as for any user."""
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"CONSILIENCE_CACHE": str(cache)}


def run(arguments: list[str], cache: str | os.PathLike[str]) -> tuple[float, str]:
    """Wall seconds from start to end of `python <arguments>`, and what it printed."""
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *arguments],
        env=environment(cache),
        cwd=ROOT,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        text=True,
    )
    seconds = time.perf_counter() - begin
    if done.returncode:
        raise RuntimeError(f"`python {' '.join(arguments)}` failed:\n{done.stderr}")
    return seconds, done.stdout


def ask(module: str, *arguments: str, cache: str | os.PathLike[str]) -> Any:
    """What `python -m <module> <arguments>` prints as JSON on its last line."""
    return json.loads(run(["-m", module, *arguments], cache)[1].splitlines()[-1])
