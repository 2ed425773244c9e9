"""How far knowledge of one thing is spread: `python tools/house.py [folder of a checkout]`, before and after a change.

In: the source text. Out: files that name an op, files that a new op has to appear in, and imports between rooms.
"""

from __future__ import annotations

import ast
import re
import statistics
import sys
from pathlib import Path
from typing import Final

TEN: Final = "Cholesky Cumulative Eigh FourierTransform Index Kronecker MatMul Softmax Solve Sort"
ROOT: Final = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent)
SOURCE: Final = ROOT / "src" / "consilience"
TREES: Final = {path: ast.parse(path.read_text("utf-8")) for path in sorted(SOURCE.rglob("*.py"))}


def op_classes() -> dict[str, Path]:
    """Ops by name, with their files: classes of `ops` whose bases lead to `Op`."""
    bases = {
        node.name: ({base.id for base in node.bases if isinstance(base, ast.Name)}, path)
        for path, tree in TREES.items()
        if path.is_relative_to(SOURCE / "ops")
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    }
    known = {"Op"}
    while more := {name for name, (own, _) in bases.items() if own & known} - known:
        known |= more
    return {name: bases[name][1] for name in known - {"Op"} if not name.startswith("_")}


def naming(names: set[str]) -> dict[str, set[Path]]:
    """Files in whose code each name stands; docstrings and comments are no code."""
    found: dict[str, set[Path]] = {name: set() for name in names}
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            name = getattr(node, "id", getattr(node, "attr", getattr(node, "name", None)))
            if isinstance(name, str) and name in found:
                found[name].add(path)
    return found


def imports(path: Path) -> set[str]:
    """Modules of the library that a file imports, at any depth, below `consilience`."""
    modules = re.findall(r"^\s*from consilience\.([\w.]+) import", path.read_text("utf-8"), re.MULTILINE)
    return set(modules)


def main() -> None:
    """Print the counts."""
    ops = op_classes()
    files = naming(set(ops))
    counts = {name: len(paths) for name, paths in files.items()}
    median, total = statistics.median(counts.values()), sum(counts.values())
    print(f"{len(ops)} ops; files that name one: median {median:g}, sum {total}")
    print("  " + ", ".join(f"{name} {counts[name]}" for name in TEN.split() if name in counts))
    rooms = sorted({path.relative_to(SOURCE).parts[0] for path in TREES if path.parent != SOURCE})
    for room in rooms:
        naming_ops = {path for paths in files.values() for path in paths if path.is_relative_to(SOURCE / room)}
        edges = [(p, m) for p in TREES if p.is_relative_to(SOURCE / room) for m in imports(p)]
        inside = sum(m.split(".")[0] == room for _, m in edges)
        print(
            f"{room}: {len(naming_ops)} files name ops; {inside} imports within, {len(edges) - inside} of other rooms"
        )


if __name__ == "__main__":
    main()
