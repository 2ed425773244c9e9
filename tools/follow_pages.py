"""Follows the pages of Learn and Do as a reader does: with a wheel, each page in an empty folder.

In: the checkout, of which a wheel is built. Out: a row for each page with its seconds and, at the end, status 1 if one
fails. Nothing of the checkout is on the path of imports but the pages themselves.

    python tools/follow_pages.py                        # all pages, by this interpreter and its packages
    python tools/follow_pages.py --python python3.12 learn
    python tools/follow_pages.py learn/install do/saving
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("learn", "do")
INSIDE = "import json, runpy, sys; sys.exit(runpy.run_path(sys.argv[1])['follow'](json.load(sys.stdin)))"
"""What the interpreter that follows is told, so that the folder of this file is not on its path of imports."""


def built(folder: Path) -> Path:
    """The library out of a wheel that is built into a folder."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, env=os.environ | {"PIP_DISABLE_PIP_VERSION_CHECK": "1"})
    (wheel,) = folder.glob("*.whl")
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB", flush=True)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "library")
    return folder / "library"


def chosen(wanted: list[str]) -> list[Path]:
    """Pages of the folders, in the order of their names; those that begin with a word, if there are words."""
    pages = [page for folder in FOLDERS for page in sorted((ROOT / "docs" / folder).glob("*.md"))]
    return [p for p in pages if not wanted or any(f"{p.parent.name}/{p.stem}".startswith(w) for w in wanted)]


def follow(pages: list[str]) -> int:
    """Run pages one after the other; how many fail. It runs where the library is that of the wheel."""
    sys.path.insert(0, str(ROOT / "docs"))
    from building import cells

    failed = 0
    with tempfile.TemporaryDirectory() as place:
        at_work = cells.Cells(Path(place), "followed")
        for page in map(Path, pages):
            lacks = cells.missing(page.read_text(encoding="utf-8"))
            begun, said = time.perf_counter(), f"not followed: needs {', '.join(lacks)}" if lacks else "right"
            try:
                at_work.outputs(page)
            except cells.PageFails as fault:
                said, failed = str(fault), failed + 1
            print(f"{page.parent.name}/{page.stem:24}{time.perf_counter() - begun:7.1f} s   {said}", flush=True)
    print(f"{at_work.ran} cells of {at_work.pages} pages; {failed} pages fail")
    return failed


def main() -> int:
    """Build, and follow with the interpreter asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="*", help="folders or pages, such as learn or do/saving")
    parser.add_argument("--python", default=sys.executable, help="the interpreter that follows")
    asked = parser.parse_args()
    python = os.path.abspath(shutil.which(asked.python) or asked.python)
    with tempfile.TemporaryDirectory() as place:
        library = built(Path(place))
        environment = os.environ | {"PYTHONPATH": str(library)}
        where = subprocess.run(
            [python, "-c", "import consilience; print(consilience.__file__)"],
            cwd=place, env=environment, capture_output=True, text=True, check=True,
        ).stdout.strip()  # fmt: skip
        if not Path(where).is_relative_to(library):
            print(f"the library is that of {where}, and not of the wheel")
            return 1
        pages = json.dumps([str(page) for page in chosen(asked.pages)])
        command = [python, "-c", INSIDE, __file__]
        return subprocess.run(command, input=pages, text=True, cwd=place, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
