"""What the examples share: the arguments of their command line, where the time went."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

BEGIN = time.perf_counter()


def options(description: str) -> argparse.Namespace:
    """Say what the script is about, and read its arguments: `out` (a folder, made if need be) and `no_plots`."""
    title = description.splitlines()[0]
    parser = argparse.ArgumentParser(description=title)
    parser.add_argument("--out", type=Path, default=Path(), help="folder for the pictures (the current one)")
    parser.add_argument("--no-plots", action="store_true", help="draw no pictures; no plotting package is needed")
    found = parser.parse_args()
    found.out.mkdir(parents=True, exist_ok=True)
    print(title, flush=True)
    return found


def save(figure: Any, path: Path) -> None:
    """Write a picture, and say where it is."""
    figure.savefig(path, dpi=120)
    print("picture:", path)


def time_spent(result: Any) -> str:
    """Where the seconds since the start of the script went."""
    from consilience.output.display import time_line

    total = time.perf_counter() - BEGIN
    return time_line(result["posterior"].attrs, total, rest="loading libraries and the rest")
