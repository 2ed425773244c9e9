"""Lines of code, docstrings and comments by package: `python tools/count_lines.py [folder]`.

In: a folder of Python files, `src/consilience` by default. Out: a row for each package below it and one for all.
A line that has code counts as code, with a comment behind it as well.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

KINDS = ("code", "docstrings", "comments", "blank")
_SPACE = {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING, tokenize.ENDMARKER}


def docstrings(tree: ast.AST) -> Iterator[ast.Expr]:
    """Strings that stand alone: docstrings, and what stands below a constant."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node


def count(text: str) -> Counter[str]:
    """Lines of a file by kind."""
    kinds: dict[int, str] = {}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            kinds.setdefault(token.start[0], "comments")
        elif token.type not in _SPACE:
            kinds |= dict.fromkeys(range(token.start[0], token.end[0] + 1), "code")
    for node in docstrings(ast.parse(text)):
        kinds |= dict.fromkeys(range(node.lineno, (node.end_lineno or node.lineno) + 1), "docstrings")
    found = Counter(kinds.values())
    found["blank"] = len(text.splitlines()) - found.total()
    return found


def table(root: Path) -> dict[str, Counter[str]]:
    """Lines by kind of each package below a folder, its loose files together, and all."""
    rows: dict[str, Counter[str]] = {}
    for path in sorted(root.rglob("*.py")):
        package = path.relative_to(root).parts[0] if path.parent != root else "(loose files)"
        found = count(path.read_text(encoding="utf-8"))
        for row in (package, "all"):
            rows.setdefault(row, Counter()).update(found)
    return rows


def main() -> None:
    """Print the table."""
    root = Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).parent.parent / "src" / "consilience"
    rows = table(root)
    print(f"{'':16}" + "".join(f"{kind:>12}" for kind in KINDS))
    for name in sorted(rows, key=lambda name: (name == "all", -rows[name]["code"])):
        print(f"{name:16}" + "".join(f"{rows[name][kind]:12,}" for kind in KINDS))


if __name__ == "__main__":
    main()
