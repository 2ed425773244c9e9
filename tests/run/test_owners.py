"""What belongs to a run is changed by its owner alone."""

from __future__ import annotations

import ast
from pathlib import Path

import consilience

ROOT = Path(consilience.__file__).parent
PARTS = {"attempt", "course", "engine", "leg", "run", "running", "successor", "tuner"}
"""Names that the parts of a run have in the modules that hold them."""


def written(tree: ast.Module) -> list[str]:
    """Attributes of parts of a run that a module assigns to, but for an owner's own ones."""
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or not isinstance(node.ctx, ast.Store):
            continue
        owner = node.value
        name = owner.attr if isinstance(owner, ast.Attribute) else owner.id if isinstance(owner, ast.Name) else ""
        if name.strip("_") in PARTS:
            found.append(ast.unparse(node))
    return found


def test_nothing_writes_into_a_part_of_a_run() -> None:
    """A check returns a verdict or a restart; a course, an attempt and an engine change by their own methods."""
    files = [file for room in ("run", "sample", "watch") for file in sorted((ROOT / room).rglob("*.py"))]
    assert len(files) > 60
    found = {file.name: names for file in files if (names := written(ast.parse(file.read_text(encoding="utf-8"))))}
    assert found == {}


def test_what_would_be_found() -> None:
    assert written(ast.parse("self.course.verdict = verdict\nrun.leg.course.plan: int = 1\nself.count += 1")) == [
        "self.course.verdict",
        "run.leg.course.plan",
    ]
